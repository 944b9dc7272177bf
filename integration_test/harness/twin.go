package harness

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
)

// SameInTransaction is same in a transaction that has counted nothing.
func (tw *Twin) SameInTransaction(t *testing.T, query string, args ...any) {
	t.Helper()
	var got []string
	for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		stmt, err := tx.PrepareContext(t.Context(), query)
		require.NoError(t, err, query)
		got = append(got, Queried(context.Background(), StmtQuerier{stmt}, query, args...))
		require.NoError(t, tx.Rollback())
	}
	require.Equal(t, got[0], got[1], query)
}

// Described is all that database/sql says of an answer's columns.
func Described(t *testing.T, rows *sql.Rows) (all []string) {
	t.Helper()
	defer rows.Close()
	types, err := rows.ColumnTypes()
	require.NoError(t, err)
	for _, c := range types {
		length, hasLength := c.Length()
		precision, scale, hasSize := c.DecimalSize()
		null, hasNull := c.Nullable()
		all = append(all, fmt.Sprint(c.Name(), " ", c.DatabaseTypeName(), " ", c.ScanType(), " ", length, hasLength, " ", precision, scale, hasSize, " ", null, hasNull))
	}
	return all
}

// SameTypes requires that columns are the same in all that ColumnTypes tells before the
// first row, as on plain where strictly; else in names and types alone.
func (tw *Twin) SameTypes(t *testing.T, strictly bool, query string, args ...any) {
	t.Helper()
	var all [2][]string
	for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
		rows, err := db.QueryContext(t.Context(), query, args...)
		require.NoError(t, err)
		all[i] = Described(t, rows)
	}
	if strictly {
		require.Equal(t, all[0], all[1], query)
	}
}

// SamePrepared requires that a statement prepared once has the same answers, outside a
// transaction and within.
func (tw *Twin) SamePrepared(t *testing.T, begin, query string, args ...any) {
	t.Helper()
	var all [2][]string
	for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
		c := Session(t, db)
		stmt, err := c.PrepareContext(t.Context(), query)
		require.NoError(t, err)
		for range 2 {
			all[i] = append(all[i], Queried(t.Context(), StmtQuerier{stmt}, query, args...))
		}
		tx, err := c.BeginTx(t.Context(), &sql.TxOptions{Isolation: levels[strings.TrimPrefix(begin, "begin ")]})
		require.NoError(t, err)
		for range 2 {
			all[i] = append(all[i], Queried(t.Context(), StmtQuerier{tx.StmtContext(t.Context(), stmt)}, query, args...), Queried(t.Context(), tx, query, args...))
		}
		require.NoError(t, tx.Commit())
		require.NoError(t, stmt.Close())
		require.NoError(t, c.Close())
	}
	require.Equal(t, all[0], all[1], query)
}

// DSNOf is the DSN of one of the twin's databases, with one more parameter.
func (tw *Twin) DSNOf(t *testing.T, db *sql.DB, param string) string {
	t.Helper()
	var name string
	require.NoError(t, db.QueryRow("SELECT DATABASE()").Scan(&name))
	return tw.srv.DSN(name, "innodb_lock_wait_timeout=5", "sql_mode=''", param)
}

// ToldInTransaction tells what becomes of a statement inside a transaction.
func ToldInTransaction(t *testing.T, db *sql.DB, text string, args ...any) string {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	answer := Told2(tx.Exec(text, args...))
	require.NoError(t, tx.Commit())
	return answer
}

var WritesSlots = regexp.MustCompile("(?is)^(SET STATEMENT .* FOR )?(INSERT (/[*].*?[*]/ )?INTO|UPDATE|DELETE FROM) .*_slots`")

// DirectTo is a plain connection to the same database.
func (tw *Twin) DirectTo(db *sql.DB) *sql.DB {
	if db == tw.Plain {
		return db
	}
	return tw.Direct
}

func (tw *Twin) RolledUp(t *testing.T, tables ...string) {
	t.Helper()
	_, err := countermysql.Rollup(t.Context(), tw.Ours, nil)
	require.NoError(t, err)
	for _, table := range tables {
		query := "SELECT * FROM " + table + " ORDER BY id"
		require.Equal(t, Queried(t.Context(), tw.Plain, query), Queried(t.Context(), tw.Direct, query), strings.ToUpper(table))
		require.Zero(t, Number(t, tw.Direct, "SELECT COUNT(*) FROM "+table+"_slots"))
	}
}

const Hammered = "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0);\nINSERT INTO post (id) VALUES (1), (2), (3), (4), (5), (6), (7), (8)"

func QueriedValue(t *testing.T, db Querier, query string) (value string) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), query).Scan(&value))
	return value
}

// Bare opens our driver on the twin's database without an interceptor, whose
// wrapper has fewer methods than go-sql-driver's types.
func (tw *Twin) Bare(t *testing.T, params string) *sql.DB {
	t.Helper()
	config := *tw.Config
	config.Interceptor = nil
	db, _ := OpenOurs(t, tw.OursDSN+params, &config)
	return db
}

// LearnAnew makes the driver read the schema, which otherwise it does every ten seconds.
func (tw *Twin) LearnAnew(t *testing.T) []countermysql.Finding {
	t.Helper()
	found, err := countermysql.Check(t.Context(), tw.Ours)
	require.NoError(t, err)
	return found
}

// Waits reports whether somebody on our side waits for a lock.
func (tw *Twin) Waits(t *testing.T) bool {
	t.Helper()
	return Waits(t, tw.Direct)
}

func Numbered(format string, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf(format, i)
	}
	return ids
}

// Learned waits until a slots table has a column.
func (tw *Twin) Learned(t *testing.T, slots, column string) {
	t.Helper()
	require.Eventually(t, func() bool { return tw.InSlots(t, slots, column) }, 20*time.Second, 10*time.Millisecond)
}

func (tw *Twin) InSlots(t *testing.T, slots, column string) bool {
	return Number(t, tw.Direct, "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? AND COLUMN_NAME = ?", slots, column) == 1
}

// Settle ends the time in which a new column is not written.
func (tw *Twin) Settle(t *testing.T, definition string, dbs ...*sql.DB) {
	t.Helper()
	Affected(t, tw.Direct, "ALTER TABLE post_slots MODIFY "+definition+" COMMENT 'countermysql from 2020-01-01 00:00:00'")
	for _, db := range dbs {
		_, err := countermysql.Check(t.Context(), db) // reads the schema
		require.NoError(t, err)
	}
}

func Told2(res sql.Result, err error) string {
	if err != nil {
		return Told(err)
	}
	n, _ := res.RowsAffected()
	return fmt.Sprint("affected ", n)
}

// NewUser creates a user with privileges on our database and returns his account and DSN.
func NewUser(t *testing.T, tw *Twin, name string, grants ...string) (account, dsn string) {
	t.Helper()
	cfg, err := mysql.ParseDSN(tw.OursDSN)
	require.NoError(t, err)
	cfg.User, cfg.Passwd = fmt.Sprintf("itg_%s_%d", name, os.Getpid()), "secret"
	account = "'" + cfg.User + "'@'127.0.0.1'"
	Affected(t, tw.Direct, "DROP USER IF EXISTS "+account)
	Affected(t, tw.Direct, "CREATE USER "+account+" IDENTIFIED BY 'secret'")
	Dropped(t, tw, "USER "+account)
	for _, grant := range grants {
		Affected(t, tw.Direct, "GRANT "+grant+" TO "+account)
	}
	return account, cfg.FormatDSN()
}

// Dropped drops a user or role at the end of the test.
func Dropped(t *testing.T, tw *Twin, what string) {
	t.Helper()
	t.Cleanup(func() {
		_, err := tw.Direct.ExecContext(context.WithoutCancel(t.Context()), "DROP "+what)
		require.NoError(t, err)
	})
}

var Everything = []string{"Z: SELECT * FROM post ORDER BY id", "Z: SELECT * FROM page ORDER BY day, name", "Z: SELECT * FROM note ORDER BY id"}

// Xid is a name for XA transactions that nobody else uses on the server.
var Xid = fmt.Sprintf("'itg%d'", os.Getpid())

// Orphans counts slots without a base row.
func (tw *Twin) Orphans(t *testing.T) int64 {
	t.Helper()
	return Number(t, tw.Direct, "SELECT COUNT(*) FROM post_slots s LEFT JOIN post p ON p.id = s.id WHERE p.id IS NULL")
}
