// Package migrations_test runs tools of migrations beside an application that counts, as
// docs/schema-changes.md says: through countermysql, and by go-sql-driver, as their commands do.
// It is a module of its own, so that its dependencies are not ours.
package migrations_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"ariga.io/atlas/sql/migrate"
	atlas "ariga.io/atlas/sql/mysql"
	"ariga.io/atlas/sql/schema"
	sqldriver "github.com/go-sql-driver/mysql"
	golangmigrate "github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database/mysql"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/twin"
)

// The counter shares is listed before a migration adds it.
const config = `
create_slots: true
tables:
  - table: post
    counters: [likes, views, comments, shares]
`

func TestMain(m *testing.M) { os.Exit(twin.Main(m, config)) }

// history are the migrations, as text of several statements: up and down.
var history = [][2]string{
	{
		"CREATE TABLE post (id INT PRIMARY KEY AUTO_INCREMENT, slug VARCHAR(32) NOT NULL UNIQUE, likes INT NOT NULL DEFAULT 0, views INT UNSIGNED NOT NULL DEFAULT 0, comments INT NOT NULL DEFAULT 0);\n" +
			"CREATE TABLE comment (id INT PRIMARY KEY AUTO_INCREMENT, post_id INT NOT NULL, body VARCHAR(100) NOT NULL, INDEX (post_id));\n" +
			"INSERT INTO post (slug) VALUES ('a'), ('b'), ('c');",
		"DROP TABLE comment;\nDROP TABLE post;",
	},
	{ // another counter
		"ALTER TABLE post ADD COLUMN shares INT NOT NULL DEFAULT 0, ADD COLUMN title VARCHAR(40) NOT NULL DEFAULT '';\nCREATE INDEX by_title ON post (title);",
		"DROP INDEX by_title ON post;\nALTER TABLE post DROP COLUMN title, DROP COLUMN shares;",
	},
	{ // which writes counters
		"UPDATE post SET comments = (SELECT COUNT(*) FROM comment WHERE comment.post_id = post.id) + 100;\nUPDATE post SET views = views * 2, title = CONCAT('post ', slug);",
		"UPDATE post SET comments = comments - 100, views = views DIV 2;",
	},
	{ // another type
		"ALTER TABLE post MODIFY COLUMN likes BIGINT NOT NULL DEFAULT 0;",
		"ALTER TABLE post MODIFY COLUMN likes INT NOT NULL DEFAULT 0;",
	},
}

// writesCounters is the version that does.
const writesCounters = 3

// runner runs migrations of a database up or down to a version.
type runner func(t *testing.T, version int)

// gooseOn is goose with a database.
func gooseOn(t *testing.T, db *sql.DB) (up, down runner) {
	files := fstest.MapFS{}
	for i, m := range history {
		files[fmt.Sprintf("%05d_step.sql", i+1)] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + m[0] + "\n-- +goose Down\n" + m[1] + "\n")}
	}
	provider, err := goose.NewProvider(goose.DialectMySQL, db, files)
	require.NoError(t, err)
	up = func(t *testing.T, version int) {
		_, err := provider.UpTo(t.Context(), int64(version))
		require.NoError(t, err)
	}
	down = func(t *testing.T, version int) {
		_, err := provider.DownTo(t.Context(), int64(version))
		require.NoError(t, err)
	}
	return up, down
}

// golangMigrateOn is golang-migrate with a database.
func golangMigrateOn(t *testing.T, db *sql.DB) (up, down runner) {
	files := fstest.MapFS{}
	for i, m := range history {
		for way, direction := range []string{"up", "down"} {
			files[fmt.Sprintf("%d_step.%s.sql", i+1, direction)] = &fstest.MapFile{Data: []byte(m[way])}
		}
	}
	source, err := iofs.New(files, ".")
	require.NoError(t, err)
	driver, err := mysql.WithInstance(db, &mysql.Config{})
	require.NoError(t, err)
	m, err := golangmigrate.NewWithInstance("iofs", source, "mysql", driver)
	require.NoError(t, err)
	t.Cleanup(func() {
		sourceErr, databaseErr := m.Close()
		require.NoError(t, sourceErr)
		require.NoError(t, databaseErr)
	})
	to := func(t *testing.T, version int) { require.NoError(t, m.Migrate(uint(version))) }
	return to, to
}

// atlasOn is the executor of Atlas's versioned migrations with a database. It knows no way
// down.
func atlasOn(t *testing.T, db *sql.DB) (up, down runner) {
	dir := &migrate.MemDir{}
	for i, m := range history {
		require.NoError(t, dir.WriteFile(fmt.Sprintf("%d_step.sql", i+1), []byte(m[0])))
	}
	sum, err := dir.Checksum()
	require.NoError(t, err)
	require.NoError(t, migrate.WriteSumFile(dir, sum))
	driver, err := atlas.Open(db)
	require.NoError(t, err)
	executor, err := migrate.NewExecutor(driver, dir, &revisions{})
	require.NoError(t, err)
	return func(t *testing.T, version int) {
		require.NoError(t, executor.ExecuteTo(t.Context(), fmt.Sprint(version)))
	}, nil
}

// revisions are Atlas's, which its command keeps in a table.
type revisions struct {
	migrate.NopRevisionReadWriter
	all []*migrate.Revision
}

func (r *revisions) ReadRevisions(context.Context) ([]*migrate.Revision, error) { return r.all, nil }

func (r *revisions) ReadRevision(_ context.Context, version string) (*migrate.Revision, error) {
	for _, revision := range r.all {
		if revision.Version == version {
			return revision, nil
		}
	}
	return nil, migrate.ErrRevisionNotExist
}

func (r *revisions) WriteRevision(ctx context.Context, revision *migrate.Revision) error {
	if _, err := r.ReadRevision(ctx, revision.Version); err != nil {
		r.all = append(r.all, revision)
	}
	return nil
}

func open(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// several is a DSN for texts of several statements, which golang-migrate needs.
func several(dsn string) string {
	if strings.Contains(dsn, "?") {
		return dsn + "&multiStatements=true"
	}
	return dsn + "?multiStatements=true"
}

func exec(t *testing.T, db *sql.DB, text string, args ...any) {
	t.Helper()
	_, err := db.Exec(text, args...)
	require.NoError(t, err, text)
}

// count counts what no migration runs beside, so that some of it is in slots.
func count(t *testing.T, db *sql.DB) {
	t.Helper()
	for id := 1; id <= 3; id++ {
		for range id {
			tx, err := db.Begin()
			require.NoError(t, err)
			for _, text := range []string{"INSERT INTO comment (post_id, body) VALUES (?, 'yes')", "UPDATE post SET comments = comments + 1 WHERE id = ?"} {
				_, err := tx.Exec(text, id)
				require.NoError(t, err)
			}
			require.NoError(t, tx.Commit())
			exec(t, db, "UPDATE post SET views = views + 2 WHERE id = ?", id)
		}
	}
}

// crowd are clients that like posts, outside transactions and within, until they are stopped.
type crowd struct {
	db    *sql.DB
	likes [3]atomic.Int64 // of post 1, 2, 3
	stop  chan struct{}
	wait  sync.WaitGroup
}

func newCrowd(t *testing.T, db *sql.DB) *crowd {
	c := &crowd{db: db, stop: make(chan struct{})}
	for i := range 4 {
		c.wait.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-c.stop:
					return
				case <-time.After(time.Millisecond):
				}
				post := (i + n) % 3
				if err := c.like(i > 1, post+1); err != nil {
					t.Errorf("a like failed: %v", err)
					return
				}
				c.likes[post].Add(1)
			}
		})
	}
	return c
}

const likeOne = "UPDATE post SET likes = likes + 1 WHERE id = ?"

// like likes a post once. A transaction is tried again where it meets a change of a slots
// table, as docs/semantics.md says of both errors.
func (c *crowd) like(inTransaction bool, id int) error {
	if !inTransaction {
		_, err := c.db.Exec(likeOne, id)
		return err
	}
	for {
		err := likeInTransaction(c.db, id)
		var failed *sqldriver.MySQLError
		if !errors.As(err, &failed) || failed.Number != deadlock && failed.Number != tableChanged {
			return err
		}
	}
}

// Errors that say: try the transaction again.
const (
	deadlock     = 1213
	tableChanged = 1412
)

func likeInTransaction(db *sql.DB, id int) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.Exec(likeOne, id); err != nil {
		return err
	}
	var slug string
	if err := tx.QueryRow("SELECT slug FROM post WHERE id = ?", id).Scan(&slug); err != nil {
		return err
	}
	return tx.Commit()
}

// more waits until the clients have counted some more.
func (c *crowd) more(t *testing.T) {
	t.Helper()
	for i := range c.likes {
		last := c.likes[i].Load()
		require.Eventually(t, func() bool { return t.Failed() || c.likes[i].Load() > last+3 }, 20*time.Second, time.Millisecond)
	}
}

// end stops the clients, and likes as often as they lack to a number that the twins share.
func (c *crowd) end(t *testing.T) {
	t.Helper()
	close(c.stop)
	c.wait.Wait()
	for i := range c.likes {
		exec(t, c.db, "UPDATE post SET likes = likes + ? WHERE id = ?", 1_000_000-c.likes[i].Load(), i+1)
	}
}

// noteSchema notes the definitions of all tables but slots tables.
func noteSchema(t *testing.T, run *twin.Run, db *sql.DB) {
	t.Helper()
	rows, err := db.Query("SHOW TABLES")
	require.NoError(t, err)
	defer rows.Close()
	var tables []string
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		if !strings.HasSuffix(name, "_slots") {
			tables = append(tables, name)
		}
	}
	require.NoError(t, rows.Err())
	for _, name := range tables {
		var definition string
		require.NoError(t, db.QueryRow("SHOW CREATE TABLE "+name).Scan(&name, &definition))
		run.Note("definition of "+name, definition)
	}
}

// notePosts notes the counters as the application sees them.
func notePosts(t *testing.T, run *twin.Run, app *sql.DB, columns string) {
	t.Helper()
	rows, err := app.Query("SELECT CONCAT_WS(' ', " + columns + ") FROM post ORDER BY id")
	require.NoError(t, err)
	defer rows.Close()
	var all []string
	for rows.Next() {
		var row string
		require.NoError(t, rows.Scan(&row))
		all = append(all, row)
	}
	require.NoError(t, rows.Err())
	run.Note(columns, all)
}

// TestTools proves that what goose, golang-migrate and Atlas do to the tables of an
// application that goes on counting is the same with countermysql as with go-sql-driver:
// the schemas, all counts, no error but those for which a transaction is tried again; whether
// the tool has countermysql, or go-sql-driver as its command has, and a migration that writes
// counters is run while slots tables are closed.
func TestTools(t *testing.T) {
	tools := []struct {
		name string
		on   func(t *testing.T, db *sql.DB) (up, down runner)
	}{{"goose", gooseOn}, {"golang-migrate", golangMigrateOn}, {"atlas", atlasOn}}
	for _, tool := range tools {
		for _, driver := range []string{"countermysql", "mysql"} {
			t.Run(tool.name+" by "+driver, func(t *testing.T) {
				twin.Compare(t, func(t *testing.T, run *twin.Run) {
					run.Chance = regexp.MustCompile(`20\d\d-\d\d-\d\d \d\d:\d\d:\d\d`) // when goose has run
					app, by := open(t, run.Driver, run.DSN), driver
					if run.Driver == "mysql" {
						by = run.Driver
					}
					up, down := tool.on(t, open(t, by, several(run.DSN)))
					to := func(step runner, version int, writes bool) {
						if by == run.Driver || !writes {
							step(t, version)
							return
						}
						_, err := countermysql.Drop(t.Context(), app, &countermysql.DropOptions{Tables: []string{"post"}, StopOnly: true, Notice: time.Millisecond})
						require.NoError(t, err)
						step(t, version)
						_, err = countermysql.Init(t.Context(), app, nil)
						require.NoError(t, err)
					}
					to(up, 1, false)
					count(t, app)
					notePosts(t, run, app, "id, slug, likes, views, comments")
					clients := newCrowd(t, app)
					for version := 2; version <= len(history); version++ {
						clients.more(t)
						to(up, version, version == writesCounters)
					}
					clients.more(t)
					count(t, app)
					for id := 1; id <= 3; id++ {
						exec(t, app, "UPDATE post SET shares = shares + ? WHERE id = ?", id, id)
					}
					notePosts(t, run, app, "id, slug, views, comments, shares, title")
					if down != nil {
						for version := len(history) - 1; version >= 1; version-- {
							to(down, version, version == writesCounters-1)
							clients.more(t)
						}
						notePosts(t, run, app, "id, slug, views, comments")
						to(up, len(history), true)
					}
					clients.end(t)
					count(t, app)
					exec(t, app, "UPDATE post SET shares = shares + 1")
					notePosts(t, run, app, "id, slug, likes, views, comments, shares, title")
					noteSchema(t, run, app)
				})
			})
		}
	}
}

// TestAtlasCompares proves that Atlas changes a schema to another one as it does on plain
// MySQL where it is told to leave out slots tables, and that otherwise it would drop them.
func TestAtlasCompares(t *testing.T) {
	twin.Compare(t, func(t *testing.T, run *twin.Run) {
		db := open(t, run.Driver, run.DSN)
		for text := range strings.SplitSeq(history[0][0], ";\n") {
			exec(t, db, text)
		}
		count(t, db)
		driver, err := atlas.Open(db)
		require.NoError(t, err)
		inspect := func(exclude ...string) *schema.Schema {
			s, err := driver.InspectSchema(t.Context(), "", &schema.InspectOptions{Exclude: exclude})
			require.NoError(t, err)
			return s
		}
		wanted := inspect("*_slots")
		post, ok := wanted.Table("post")
		require.True(t, ok)
		likes, ok := post.Column("likes")
		require.True(t, ok)
		likes.Type.Type = &schema.IntegerType{T: "bigint"}
		post.AddColumns(schema.NewIntColumn("shares", "int").SetDefault(&schema.Literal{V: "0"}))

		changes, err := driver.SchemaDiff(inspect(), wanted)
		require.NoError(t, err)
		var dropped []string
		for _, change := range changes {
			if drop, ok := change.(*schema.DropTable); ok {
				dropped = append(dropped, drop.T.Name)
			}
		}
		if run.Driver == "countermysql" {
			require.Equal(t, []string{"post_slots"}, dropped)
		} else {
			require.Empty(t, dropped)
		}

		changes, err = driver.SchemaDiff(inspect("*_slots"), wanted)
		require.NoError(t, err)
		plan, err := driver.PlanChanges(t.Context(), "wanted", changes)
		require.NoError(t, err)
		for _, change := range plan.Changes {
			run.Note("change", change.Cmd)
		}
		require.NoError(t, driver.ApplyChanges(t.Context(), changes))
		count(t, db)
		exec(t, db, "UPDATE post SET shares = shares + 1, likes = likes + 3000000000 WHERE id = 1")
		notePosts(t, run, db, "id, slug, likes, views, comments, shares")
		noteSchema(t, run, db)
		changes, err = driver.SchemaDiff(inspect("*_slots"), wanted)
		require.NoError(t, err)
		require.Empty(t, changes)
	})
}

// TestRecipes proves that the calls in docs/schema-changes.md are those that are made here.
func TestRecipes(t *testing.T) {
	guide, err := os.ReadFile("../../docs/schema-changes.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(guide), "## Tools of migrations")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	source, err := os.ReadFile("migrations_test.go")
	require.NoError(t, err)
	calls := regexp.MustCompile("`((?:goose|mysql|atlas)\\.\\w+\\(.*?\\))`").FindAllStringSubmatch(section, -1)
	require.Len(t, calls, 3)
	for _, call := range calls {
		require.Contains(t, string(source), call[1])
	}
}
