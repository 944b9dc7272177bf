// Daily counts page views per day, with the database's own date: one statement
// per view, whatever the day, and no job at midnight.
//
// Everybody who opens the front page today increments the same row. The driver
// spreads that over slots: the statement stays, CURRENT_DATE included, which the
// server evaluates in the session's own time zone.
//
//	mysql -e 'CREATE DATABASE daily'
//	go run ./examples/daily   # or with a DSN like that below
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"sync"

	_ "github.com/countermysql/countermysql"
)

const defaultDSN = "root@tcp(127.0.0.1:3306)/daily?counters=page_view.views,page_view.bytes&counterCreateSlots=true&counterRollup=30s"

const schema = `CREATE TABLE IF NOT EXISTS page_view (
	day   DATE,
	page  VARCHAR(100),
	views BIGINT UNSIGNED NOT NULL DEFAULT 0,
	bytes BIGINT UNSIGNED NOT NULL DEFAULT 0,
	PRIMARY KEY (day, page)
)`

func main() {
	dsn := defaultDSN
	if len(os.Args) > 1 {
		dsn = os.Args[1]
	}
	text, err := daily(context.Background(), dsn)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(text)
}

func daily(ctx context.Context, dsn string) (string, error) {
	db, err := sql.Open("countermysql", dsn)
	if err != nil {
		return "", err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return "", err
	}
	errs := make(chan error, 8)
	var readers sync.WaitGroup
	for range cap(errs) {
		readers.Go(func() {
			for range 50 {
				if err := view(ctx, db, "/", 2048); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	readers.Wait()
	close(errs)
	if err := <-errs; err != nil {
		return "", err
	}
	return today(ctx, db)
}

// view is all that a request has to do. The first one of a day inserts the row.
func view(ctx context.Context, db *sql.DB, page string, bytes int) error {
	_, err := db.ExecContext(ctx, `INSERT INTO page_view (day, page, views, bytes) VALUES (CURRENT_DATE, ?, 1, ?)
		ON DUPLICATE KEY UPDATE views = views + 1, bytes = bytes + VALUES(bytes)`, page, bytes)
	return err
}

func today(ctx context.Context, db *sql.DB) (text string, err error) {
	rows, err := db.QueryContext(ctx, "SELECT page, SUM(views), SUM(bytes) FROM page_view WHERE day = CURRENT_DATE GROUP BY page ORDER BY 2 DESC")
	if err != nil {
		return "", err
	}
	defer rows.Close()
	for rows.Next() {
		var page string
		var views, bytes int64
		if err := rows.Scan(&page, &views, &bytes); err != nil {
			return "", err
		}
		text += fmt.Sprintf("%s: %d views, %d bytes\n", page, views, bytes)
	}
	return text, rows.Err()
}
