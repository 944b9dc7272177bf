// Package changes lists what clients do to the schema of a counter table while others
// count in it, for the tests that keep account of what these were told.
package changes

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// Change is what a client without the driver does to the schema, and takes back.
type Change struct {
	Name     string
	Key      string // the type of the key that it changes; "": it fits a table with any
	Keys     []any  // of rows that the table has all along
	Twins    []any  // of rows that come with the change and go before it is taken back: the old key has no place for them
	Lax      bool   // sessions are not strict: what has no place is cut
	IsKey    string // how statements name a row by all of the changed key; "": "id = ?"
	To, Back []string
	Ours     bool   // it goes through the driver, in a process that counts nothing
	Uses     string // a counter of the table coming, that is there as long as the change lasts
}

// Of are the changes of a table with the key id, the columns lang, slug and title, and two
// counters.
func Of(table, counter, other string) []Change {
	names := strings.NewReplacer("{table}", table, "{counter}", counter, "{other}", other)
	named := func(texts []string) (all []string) {
		for _, text := range texts {
			all = append(all, names.Replace(text))
		}
		return all
	}
	var all []Change
	for _, c := range list {
		c.To, c.Back = named(c.To), named(c.Back)
		all = append(all, c)
	}
	return all
}

var list = []Change{
	{Name: "collation", Key: "VARCHAR(20) COLLATE utf8mb4_general_ci", Keys: []any{"a", "b", "c"}, Twins: []any{"A", "C"},
		To: []string{"ALTER TABLE {table} MODIFY id VARCHAR(20) COLLATE utf8mb4_bin NOT NULL"}, Back: []string{"ALTER TABLE {table} MODIFY id VARCHAR(20) COLLATE utf8mb4_general_ci NOT NULL"}},
	{Name: "longer integer", Key: "INT", Keys: []any{1, 2, 2147483647}, Twins: []any{5000000000, 5000000001},
		To: []string{"ALTER TABLE {table} MODIFY id BIGINT NOT NULL"}, Back: []string{"ALTER TABLE {table} MODIFY id INT NOT NULL"}},
	{Name: "longer integer, not strict", Key: "INT", Keys: []any{1, 2, 2147483647}, Twins: []any{5000000000, 5000000001}, Lax: true,
		To: []string{"ALTER TABLE {table} MODIFY id BIGINT NOT NULL"}, Back: []string{"ALTER TABLE {table} MODIFY id INT NOT NULL"}},
	{Name: "digits of a time", Key: "DATETIME", Keys: []any{"2026-01-01 10:00:00", "2026-01-01 10:00:01"}, Twins: []any{"2026-01-01 10:00:00.400", "2026-01-01 10:00:00.600"},
		To: []string{"ALTER TABLE {table} MODIFY id DATETIME(3) NOT NULL"}, Back: []string{"ALTER TABLE {table} MODIFY id DATETIME NOT NULL"}},
	{Name: "digits of a number", Key: "DECIMAL(10,1)", Keys: []any{"1.5", "2.5"}, Twins: []any{"1.501", "2.499"},
		To: []string{"ALTER TABLE {table} MODIFY id DECIMAL(10,3) NOT NULL"}, Back: []string{"ALTER TABLE {table} MODIFY id DECIMAL(10,1) NOT NULL"}},
	{Name: "longer text", Key: "VARCHAR(3)", Keys: []any{"abc", "b"}, Twins: []any{"abcd", "abce"},
		To: []string{"ALTER TABLE {table} MODIFY id VARCHAR(10) NOT NULL"}, Back: []string{"ALTER TABLE {table} MODIFY id VARCHAR(3) NOT NULL"}},
	{Name: "longer text, not strict", Key: "VARCHAR(3)", Keys: []any{"abc", "b"}, Twins: []any{"abcd", "abce"}, Lax: true,
		To: []string{"ALTER TABLE {table} MODIFY id VARCHAR(10) NOT NULL"}, Back: []string{"ALTER TABLE {table} MODIFY id VARCHAR(3) NOT NULL"}},
	{Name: "character set, not strict", Key: "VARCHAR(20) CHARACTER SET utf8mb3", Keys: []any{"a?", "b"}, Twins: []any{"a😀", "b😀"}, Lax: true,
		To: []string{"ALTER TABLE {table} MODIFY id VARCHAR(20) CHARACTER SET utf8mb4 NOT NULL"}, Back: []string{"ALTER TABLE {table} MODIFY id VARCHAR(20) CHARACTER SET utf8mb3 NOT NULL"}},
	{Name: "longer ENUM, not strict", Key: "ENUM('a', 'b')", Keys: []any{"a", "b"}, Twins: []any{"c", "d"}, Lax: true,
		To: []string{"ALTER TABLE {table} MODIFY id ENUM('a', 'b', 'c', 'd') NOT NULL"}, Back: []string{"ALTER TABLE {table} MODIFY id ENUM('a', 'b') NOT NULL"}},
	{Name: "longer primary key through the driver", IsKey: "id = ? AND lang = ''", Ours: true,
		To: []string{"ALTER TABLE {table} DROP PRIMARY KEY, ADD PRIMARY KEY (id, lang)"}, Back: []string{"ALTER TABLE {table} DROP PRIMARY KEY, ADD PRIMARY KEY (id)"}},
	{Name: "counter's type",
		To: []string{"ALTER TABLE {table} MODIFY {counter} INT NOT NULL DEFAULT 0"}, Back: []string{"ALTER TABLE {table} MODIFY {counter} BIGINT NOT NULL DEFAULT 0"}},
	{Name: "column", To: []string{"ALTER TABLE {table} ADD COLUMN more INT NOT NULL DEFAULT 7 FIRST"}, Back: []string{"ALTER TABLE {table} DROP COLUMN more"}},
	{Name: "CHECK", To: []string{"ALTER TABLE {table} ADD CONSTRAINT enough CHECK ({other} >= 0 AND {counter} >= 0)"}, Back: []string{"ALTER TABLE {table} DROP CONSTRAINT enough"}},
	{Name: "trigger", To: []string{"CREATE TRIGGER retitle BEFORE UPDATE ON {table} FOR EACH ROW SET NEW.title = UPPER(NEW.title)"}, Back: []string{"DROP TRIGGER retitle"}},
	{Name: "rename", To: []string{"RENAME TABLE {table} TO away"}, Back: []string{"RENAME TABLE away TO {table}"}},
	{Name: "rename behind a view", To: []string{"RENAME TABLE {table} TO away", "CREATE VIEW {table} AS SELECT * FROM away"}, Back: []string{"DROP VIEW {table}", "RENAME TABLE away TO {table}"}},
	{Name: "other tables", To: []string{"CREATE TABLE other (id INT PRIMARY KEY)", "CREATE TABLE another (id INT)"}, Back: []string{"DROP TABLE other, another"}},
	{Name: "listed table", Uses: "n", To: []string{"CREATE TABLE coming (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)", "INSERT INTO coming (id) VALUES (1)"},
		Back: []string{"DROP TABLE coming", "DROP TABLE IF EXISTS coming_slots"}},
	{Name: "listed table through the driver", Ours: true, Uses: "n", To: []string{"CREATE TABLE coming (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)", "INSERT INTO coming (id) VALUES (1)"},
		Back: []string{"DROP TABLE coming"}},
	{Name: "listed column", Ours: true, Uses: "later", To: []string{"CREATE TABLE IF NOT EXISTS coming (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)", "REPLACE INTO coming (id) VALUES (1)",
		"ALTER TABLE coming ADD COLUMN later INT NOT NULL DEFAULT 0"}, Back: []string{"ALTER TABLE coming DROP COLUMN later", "DELETE FROM coming"}},
}

// Strike makes the change, by plain or by ours, runs meanwhile, and takes the change back.
func (c Change) Strike(plain, ours *sql.DB, meanwhile func() error) error {
	by := plain
	if c.Ours {
		by = ours
	}
	if err := alter(by, c.To); err != nil {
		return err
	}
	if err := meanwhile(); err != nil {
		return err
	}
	return alter(by, c.Back)
}

// alter runs DDL, again where those who count were in its way.
func alter(db *sql.DB, texts []string) error {
	for _, text := range texts {
		for try := 0; ; try++ {
			_, err := db.Exec(text)
			var e *mysql.MySQLError
			if err == nil {
				break
			}
			if try == 20 || !errors.As(err, &e) || e.Number != 1205 && e.Number != 1213 && e.Number != 1412 {
				return fmt.Errorf("%s: %w", text, err)
			}
		}
	}
	return nil
}

// Refused reports whether an error says that nothing was done.
func Refused(err error) bool {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number != 1053 && e.Number != 1927 // shutdown, connection killed
	}
	return errors.Is(err, driver.ErrBadConn) || strings.HasPrefix(err.Error(), "countermysql: ")
}
