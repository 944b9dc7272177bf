// Forum is a program to start from: likes and views of a forum. But for the import, the driver's
// name and the DSN it is what it would be with go-sql-driver/mysql.
//
//	mysql -e 'CREATE DATABASE forum'
//	go run ./examples/forum   # or with a DSN like that below
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"

	_ "github.com/countermysql/countermysql"
)

// The DSN lists the counters, and lets the driver create its tables.
const defaultDSN = "root@tcp(127.0.0.1:3306)/forum?counters=post.likes,post.views,page_view.views&counterCreateSlots=true"

var schema = []string{
	`CREATE TABLE IF NOT EXISTS post (
		id    INT AUTO_INCREMENT PRIMARY KEY,
		title VARCHAR(100) NOT NULL,
		likes INT NOT NULL DEFAULT 0,
		views BIGINT UNSIGNED NOT NULL DEFAULT 0
	)`,
	`CREATE TABLE IF NOT EXISTS like_log (
		post_id INT, user VARCHAR(40), PRIMARY KEY (post_id, user)
	)`,
	`CREATE TABLE IF NOT EXISTS page_view (
		day   DATE,
		page  VARCHAR(100),
		views BIGINT UNSIGNED NOT NULL DEFAULT 0,
		PRIMARY KEY (day, page)
	)`,
}

func main() {
	dsn := defaultDSN
	if len(os.Args) > 1 {
		dsn = os.Args[1]
	}
	text, err := forum(context.Background(), dsn)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(text)
}

func forum(ctx context.Context, dsn string) (string, error) {
	db, err := sql.Open("countermysql", dsn)
	if err != nil {
		return "", err
	}
	defer db.Close()
	for _, statement := range schema {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return "", err
		}
	}
	res, err := db.ExecContext(ctx, "INSERT INTO post (title) VALUES (?)", "Hello, forum")
	if err != nil {
		return "", err
	}
	post, err := res.LastInsertId()
	if err != nil {
		return "", err
	}
	for _, user := range []string{"ann", "bob", "eve"} {
		if err := errors.Join(viewPage(ctx, db, post), like(ctx, db, post, user)); err != nil {
			return "", err
		}
	}
	return report(ctx, db)
}

// like counts the like and logs who it was, both or neither.
func like(ctx context.Context, db *sql.DB, post int64, user string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "INSERT INTO like_log (post_id, user) VALUES (?, ?)", post, user); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE post SET likes = likes + 1 WHERE id = ?", post); err != nil {
		return err
	}
	return tx.Commit()
}

func viewPage(ctx context.Context, db *sql.DB, post int64) error {
	if _, err := db.ExecContext(ctx, "UPDATE post SET views = views + 1 WHERE id = ?", post); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, "INSERT INTO page_view (day, page, views) VALUES (CURRENT_DATE, ?, 1) ON DUPLICATE KEY UPDATE views = views + 1", fmt.Sprintf("/post/%d", post))
	return err
}

func report(ctx context.Context, db *sql.DB) (text string, err error) {
	rows, err := db.QueryContext(ctx, "SELECT id, title, likes, views FROM post ORDER BY likes DESC, id DESC LIMIT 10")
	if err != nil {
		return "", err
	}
	defer rows.Close()
	for rows.Next() {
		var id, likes, views int64
		var title string
		if err := rows.Scan(&id, &title, &likes, &views); err != nil {
			return "", err
		}
		text += fmt.Sprintf("post %d, %q: %d likes, %d views\n", id, title, likes, views)
	}
	return text, rows.Err()
}
