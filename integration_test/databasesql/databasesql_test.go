// Package databasesql_test uses countermysql through database/sql alone, with
// what it lets an application hand to a driver.
package databasesql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/twin"
)

const config = `
create_slots: true
tables:
  - table: post
    counters: [likes, score]
`

func TestMain(m *testing.M) { os.Exit(twin.Main(m, config)) }

// amount is a driver.Valuer.
type amount struct{ n int64 }

func (a amount) Value() (driver.Value, error) {
	if a.n < 0 {
		return nil, fmt.Errorf("amount %d", a.n)
	}
	return a.n, nil
}

type number int16

// TestArguments proves that every argument is taken, or refused, as by
// go-sql-driver, which knows no named ones.
func TestArguments(t *testing.T) {
	for _, param := range []string{"interpolateParams=false", "interpolateParams=true"} {
		t.Run(param, func(t *testing.T) { twin.Compare(t, arguments, "parseTime=true", param) })
	}
}

// conversion is how MySQL compares an integer key with a text that is no number.
// docs/semantics.md: messages may differ, numbers do not.
var conversion = regexp.MustCompile(`\b(INTEGER|DOUBLE) value`)

func arguments(t *testing.T, run *twin.Run) {
	ctx := t.Context()
	db, err := sql.Open(run.Driver, run.DSN)
	require.NoError(t, err)
	defer db.Close()
	run.Chance = conversion
	exec := func(on interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	}, query string, args ...any) {
		t.Helper()
		res, err := on.ExecContext(ctx, query, args...)
		if err != nil {
			run.Note(query, err)
			return
		}
		rows, err := res.RowsAffected()
		id, idErr := res.LastInsertId()
		run.Note(query, rows, err, id, idErr)
	}
	exec(db, "CREATE TABLE post (id INT PRIMARY KEY AUTO_INCREMENT, likes BIGINT, score DECIMAL(20,2) NOT NULL DEFAULT 0)")
	exec(db, "INSERT INTO post (likes) VALUES (?), (?)", 1, nil)

	two := int64(2)
	var none *int64
	for _, arg := range []any{
		sql.Named("n", 1),
		1, int8(-1), uint16(3), uint64(1) << 63, &two, none, nil, true, "4", "4.5", "x", []byte("5"), 1.5, float32(2),
		json.Number("6"), json.RawMessage("7"), number(8), amount{9}, &amount{10}, amount{-1},
		sql.NullInt64{Int64: 11, Valid: true}, sql.NullInt64{}, sql.Null[int32]{V: 12, Valid: true}, sql.NullString{String: "13", Valid: true},
		time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), struct{}{}, []int{1}, map[string]int{}, make(chan int), sql.Out{Dest: &two}, sql.RawBytes("14"),
	} {
		// A column that can't hold a sum refuses it later: see docs/semantics.md.
		if arg != uint64(1)<<63 {
			exec(db, "UPDATE post SET likes = likes + ? WHERE id = 1", arg)
			exec(db, "UPDATE post SET score = score + ? WHERE id = 1", arg)
		}
		exec(db, "UPDATE post SET likes = likes + 1 WHERE id = ?", arg)
		exec(db, "UPDATE post SET likes = ? WHERE id = 2", arg)
		var id, likes, score any
		err := db.QueryRowContext(ctx, "SELECT id, likes, score FROM post WHERE likes > ? ORDER BY id LIMIT 1", arg).Scan(&id, &likes, &score)
		run.Note(fmt.Sprintf("%T", arg), id, likes, score, err)
	}
	exec(db, "UPDATE post SET likes = ? WHERE id = 1", sql.Named("n", 1))
	run.Note("named", db.QueryRowContext(ctx, "SELECT likes FROM post WHERE id = ?", sql.Named("id", 1)).Scan(&two))
	exec(db, "UPDATE post SET likes = likes + @n WHERE id = @id", sql.Named("n", 1), sql.Named("id", 1))
	exec(db, "UPDATE post SET likes = likes + :n WHERE id = :id", sql.Named("n", 1), sql.Named("id", 1))
	exec(db, "UPDATE post SET likes = likes + ? WHERE id = ?", 1)
	exec(db, "UPDATE post SET likes = likes + ? WHERE id = ?", 1, 1, 1)
	exec(db, "UPDATE post SET likes = likes + 1 WHERE id = 1", 1)

	stmt, err := db.PrepareContext(ctx, "UPDATE post SET likes = likes + ? WHERE id = ?")
	require.NoError(t, err)
	defer stmt.Close()
	calls := [][]any{{sql.Named("n", 1), 1}, {1, 1}, {1}, {amount{2}, "1"}, {struct{}{}, 1}, {1, 1, 1}, {nil, 1}}
	for _, args := range calls {
		_, err := stmt.Exec(args...)
		run.Note("prepared", err)
	}
	exec(db, "UPDATE post SET likes = 1 WHERE id = 1")
	tx, err := db.BeginTx(ctx, nil)
	require.NoError(t, err)
	for _, args := range calls {
		_, err := tx.Stmt(stmt).Exec(args...)
		run.Note("prepared, in a transaction", err)
		exec(tx, "UPDATE post SET score = score + 1 WHERE id = ?", args[len(args)-1])
	}
	run.Note("commit", tx.Commit())
	exec(db, "UPDATE post SET likes = 1 WHERE id = 1")
	exec(db, "UPDATE post SET likes = likes + 1 WHERE id = 1")
}
