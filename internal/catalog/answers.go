package catalog

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// Answers are what the server has told of tables: by query, and by table. A reading asks
// for those that it lacks: all, or of the tables that this process has changed, or of the
// slots tables that it has just made.
type Answers map[string]map[string][][]string

// To are those to a query.
func (a Answers) To(query string) map[string][][]string {
	if a[query] == nil {
		a[query] = map[string][][]string{}
	}
	return a[query]
}

// Forget has the next reading ask for a table again.
func (a Answers) Forget(key string) {
	for _, of := range a {
		delete(of, key)
	}
}

// each asks about the configured tables; see ofTables.
func (l *loader) each(ctx context.Context, names func(Spec) []string, query string, f func(v []string)) {
	all := map[string][]string{}
	for _, t := range l.specs {
		all[t.DB] = append(all[t.DB], names(t)...)
	}
	for _, db := range sqltext.SortedKeys(all) {
		l.ofTables(ctx, db, all[db], query, f)
	}
}

// ofTables calls f for the rows about tables of a database, whose names are in their first
// two columns, and in the query in place of {db} and {tables}. For alternatives in one
// condition the servers would open the tables of all databases.
func (l *loader) ofTables(ctx context.Context, db string, names []string, query string, f func(v []string)) {
	told, asked := l.told.To(query), map[string][][]string{}
	var literals []string
	for _, name := range names {
		key := l.key(db, name)
		if _, known := told[key]; !known && asked[key] == nil {
			asked[key], literals = [][]string{}, append(literals, Text(name))
		}
	}
	if len(literals) > 0 {
		in := strings.NewReplacer("{db}", Text(db), "{tables}", "("+strings.Join(literals, ", ")+")")
		for _, v := range l.ask(ctx, in.Replace(query)) {
			if key := l.key(v[0], v[1]); asked[key] != nil {
				asked[key] = append(asked[key], v)
			}
		}
		l.complete(ctx, asked)
	}
	if l.err != nil {
		return
	}
	for key, rows := range asked {
		told[key] = rows
	}
	seen := map[string]bool{}
	for _, name := range names {
		if key := l.key(db, name); !seen[key] {
			seen[key] = true
			l.see(told[key], f)
		}
	}
}

// complete fails where answers may leave out a table: MariaDB only warns of one that it
// could not open because somebody has locked it exclusively
// (https://mariadb.com/kb/en/information-schema-tables/).
func (l *loader) complete(ctx context.Context, asked map[string][][]string) {
	missing := false
	for _, rows := range asked {
		missing = missing || len(rows) == 0
	}
	if !missing || !l.server.MariaDB {
		return
	}
	for _, v := range l.ask(ctx, "SHOW WARNINGS") {
		if v[1] == strconv.Itoa(mysqlerr.ErrLockWait) {
			l.err = &mysql.MySQLError{Number: mysqlerr.ErrLockWait, SQLState: [5]byte([]byte("HY000")), Message: v[2]}
		}
	}
}

// created is SHOW CREATE TABLE of a base table.
func (l *loader) created(ctx context.Context, t *Table) (create string) {
	told, key := l.told.To(showCreate), l.key(t.Spec.DB, t.Spec.Name)
	rows, known := told[key]
	if !known {
		query := showCreate + t.Base()
		if l.server.MariaDB {
			query = "SET STATEMENT sql_mode='' FOR " + query
		}
		rows = l.ask(ctx, query)
	}
	if l.err != nil {
		return ""
	}
	told[key] = rows
	l.see(rows, func(v []string) { create = v[1] })
	return create
}

const showCreate = "SHOW CREATE TABLE "

// rows calls f for the rows of a query that is asked each time.
func (l *loader) rows(ctx context.Context, query string, f func(v []string)) {
	l.see(l.ask(ctx, query), f)
}

func (l *loader) see(rows [][]string, f func(v []string)) {
	for _, v := range rows {
		for _, cell := range v {
			if !l.others {
				fmt.Fprintf(&l.seen, "%q", nextID.ReplaceAllString(cell, ""))
			}
		}
		f(v)
	}
}

// ask returns the rows of a query; NULL is "".
func (l *loader) ask(ctx context.Context, query string) (all [][]string) {
	if l.err != nil {
		return nil
	}
	rows, err := l.db.QueryContext(ctx, query)
	if err == nil {
		all, err = Texts(rows)
	}
	l.err = err
	return all
}

// Texts reads and closes rows; NULL is "".
func Texts(rows *sql.Rows) (all [][]string, err error) {
	defer rows.Close()
	names, err := rows.Columns()
	values, dest := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		dest[i] = &values[i]
	}
	for err == nil && rows.Next() {
		if err = rows.Scan(dest...); err == nil {
			all = append(all, sqltext.Texts(values))
		}
	}
	return all, cmp.Or(err, rows.Err())
}
