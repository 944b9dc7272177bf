package twin

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

const slotsSuffix = "_slots"

// noteTables notes the rows of all tables, as the run's driver reads them.
func (r *Run) noteTables(t *testing.T) {
	t.Helper()
	db, err := sql.Open(r.Driver, r.DSN)
	require.NoError(t, err)
	defer db.Close()
	for _, table := range tables(t, db, r.database) {
		if !strings.HasSuffix(table, slotsSuffix) {
			rows := contents(t, db, "SELECT * FROM `"+table+"`")
			for i := range rows {
				rows[i] = r.neutral(rows[i])
			}
			r.Note("table "+table, rows)
		}
	}
}

// left is the number of rows in slots tables.
func left(t *testing.T, srv *testserver.Server, database string) (n int) {
	t.Helper()
	db, err := sql.Open("mysql", srv.DSN(database))
	require.NoError(t, err)
	defer db.Close()
	for _, table := range tables(t, db, database) {
		if strings.HasSuffix(table, slotsSuffix) {
			n += len(contents(t, db, "SELECT * FROM `"+table+"`"))
		}
	}
	return n
}

func tables(t *testing.T, db *sql.DB, database string) (names []string) {
	t.Helper()
	rows, err := db.Query("SELECT table_name FROM information_schema.tables WHERE table_schema = ? ORDER BY 1", database)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		names = append(names, name)
	}
	require.NoError(t, rows.Err())
	return names
}

// contents are the rows of a query in an order of their own.
func contents(t *testing.T, db *sql.DB, query string) (all []string) {
	t.Helper()
	rows, err := db.Query(query)
	require.NoError(t, err, query)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(t, err)
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		require.NoError(t, rows.Scan(into...))
		var row strings.Builder
		for i, v := range values {
			if b, ok := v.([]byte); ok {
				v = string(b)
			}
			fmt.Fprintf(&row, "%s %T %[2]v; ", columns[i], v)
		}
		all = append(all, row.String())
	}
	require.NoError(t, rows.Err(), query)
	slices.Sort(all)
	return all
}
