// Existing-app is a shop that was written for go-sql-driver/mysql, and knows
// nothing of counters: only the import and the driver's name have changed. The
// DSN comes from the deployment as before, and an environment variable names the
// file that lists the counters:
//
//	mysql -e 'CREATE DATABASE shop'
//	cd examples/existing-app
//	COUNTERMYSQL_CONFIG=counters.yaml go run . 'root@tcp(127.0.0.1:3306)/shop'
//
// Without the variable the driver is go-sql-driver/mysql. What to do before it is
// taken away again from a live system is in docs/operations.md.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"

	_ "github.com/countermysql/countermysql" // was: _ "github.com/go-sql-driver/mysql"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: existing-app DSN")
	}
	text, err := shop(context.Background(), os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(text)
}

// errSoldOut is the answer to a customer who came too late.
var errSoldOut = errors.New("sold out")

func shop(ctx context.Context, dsn string) (string, error) {
	db, err := sql.Open("countermysql", dsn) // was: sql.Open("mysql", dsn)
	if err != nil {
		return "", err
	}
	defer db.Close()
	for _, stmt := range []string{
		`CREATE TABLE IF NOT EXISTS item (
			id         INT AUTO_INCREMENT PRIMARY KEY,
			name       VARCHAR(40) NOT NULL,
			stock      INT UNSIGNED NOT NULL,
			sold       INT NOT NULL DEFAULT 0,
			updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP
		)`,
		`CREATE TABLE IF NOT EXISTS sale (id BIGINT AUTO_INCREMENT PRIMARY KEY, item_id INT NOT NULL, customer VARCHAR(40) NOT NULL)`,
	} {
		if _, err := db.ExecContext(ctx, stmt); err != nil {
			return "", err
		}
	}
	res, err := db.ExecContext(ctx, "INSERT INTO item (name, stock) VALUES (?, ?)", "teapot", 2)
	if err != nil {
		return "", err
	}
	item, err := res.LastInsertId()
	if err != nil {
		return "", err
	}
	text := ""
	for _, customer := range []string{"ann", "bob", "eve"} {
		switch err := buy(ctx, db, item, customer); {
		case errors.Is(err, errSoldOut):
			text += customer + ": sold out\n"
		case err != nil:
			return "", err
		default:
			text += customer + ": bought\n"
		}
	}
	var stock, sold int
	if err := db.QueryRowContext(ctx, "SELECT stock, sold FROM item WHERE id = ?", item).Scan(&stock, &sold); err != nil {
		return "", err
	}
	return text + fmt.Sprintf("%d left, %d sold\n", stock, sold), nil
}

// buy relies on the condition that decides who gets the last one: such a
// statement runs exactly as it is.
func buy(ctx context.Context, db *sql.DB, item int64, customer string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	res, err := tx.ExecContext(ctx, "UPDATE item SET stock = stock - 1 WHERE id = ? AND stock > 0", item)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, errSoldOut)
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO sale (item_id, customer) VALUES (?, ?)", item, customer); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE item SET sold = sold + 1, updated_at = NOW() WHERE id = ?", item); err != nil {
		return err
	}
	return tx.Commit()
}
