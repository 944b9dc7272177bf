// Package sqlx_test uses countermysql through sqlx, as applications do. It is a
// module of its own, so that its dependencies are not ours.
package sqlx_test

import (
	"database/sql"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/twin"
)

const config = `
create_slots: true
tables:
  - table: post
    counters: [likes, views, shares]
    touch: [updated_at]
  - table: page
    counters: [hits]
`

func TestMain(m *testing.M) { os.Exit(twin.Main(m, config)) }

type post struct {
	ID      int64
	Slug    string
	Likes   int64
	Views   uint32
	Shares  sql.NullInt64
	Updated time.Time `db:"updated_at"`
}

type page struct {
	Host string
	Day  int
	Hits int64
}

func open(t *testing.T, run *twin.Run) *sqlx.DB {
	t.Helper()
	// sqlx knows by a driver's name how it marks its parameters.
	sqlx.BindDriver("countermysql", sqlx.QUESTION)
	db, err := sqlx.Connect(run.Driver, run.DSN)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	db.MustExec("CREATE TABLE post (id BIGINT PRIMARY KEY AUTO_INCREMENT, slug VARCHAR(64) NOT NULL UNIQUE, likes BIGINT NOT NULL DEFAULT 0, views INT UNSIGNED NOT NULL DEFAULT 0, shares INT, updated_at DATETIME(3) NOT NULL)")
	db.MustExec("CREATE TABLE page (host VARCHAR(32), day INT, hits BIGINT NOT NULL, PRIMARY KEY (host, day))")
	return db
}

func TestCounters(t *testing.T) {
	for _, param := range []string{"interpolateParams=false", "interpolateParams=true", "clientFoundRows=true"} {
		t.Run(param, func(t *testing.T) { twin.Compare(t, program, "parseTime=true", param) })
	}
}

func program(t *testing.T, run *twin.Run) {
	db := open(t, run)
	note := func(what string, res sql.Result, err error) {
		if err != nil {
			run.Note(what, err)
			return
		}
		rows, err := res.RowsAffected()
		id, idErr := res.LastInsertId()
		run.Note(what, rows, err, id, idErr)
	}
	named := func(what, text string, arg any) {
		res, err := db.NamedExec(text, arg)
		note(what, res, err)
	}
	const insert = "INSERT INTO post (slug, likes, views, shares, updated_at) VALUES (:slug, :likes, :views, :shares, :updated_at)"
	named("insert", insert, []post{{Slug: "a", Likes: 5, Updated: run.Now()}, {Slug: "b", Shares: sql.NullInt64{Int64: 7, Valid: true}, Updated: run.Now()}})
	named("insert a map", insert, map[string]any{"slug": "c", "likes": 1, "views": uint8(3), "shares": nil, "updated_at": run.Now()})
	named("duplicate", insert, post{Slug: "a"})
	named("increment", "UPDATE post SET likes = likes + :n WHERE id = :id", map[string]any{"n": 2, "id": 1})
	named("touch", "UPDATE post SET likes = likes + :likes, updated_at = :updated_at WHERE slug = :slug", post{Slug: "b", Likes: 3, Updated: run.Now()})
	named("decrement", "UPDATE post SET likes = likes - :likes, views = views - :views WHERE id = :id", post{ID: 3, Likes: 4, Views: 3})
	named("below zero", "UPDATE post SET views = views - :views WHERE id = :id", post{ID: 3, Views: 1})
	named("NULL", "UPDATE post SET shares = shares + :n WHERE id = :id", map[string]any{"n": 1, "id": 1})
	named("COALESCE", "UPDATE post SET shares = COALESCE(shares, 0) + :n WHERE id = :id", map[string]any{"n": 1, "id": 1})
	named("missing", "UPDATE post SET likes = likes + 1 WHERE id = :id", post{ID: 99})
	named("guarded", "UPDATE post SET likes = likes - :n WHERE id = :id AND likes >= :n", map[string]any{"n": 3, "id": 1})
	named("refused", "UPDATE post SET likes = likes - :n WHERE id = :id AND likes >= :n", map[string]any{"n": 3000, "id": 1})
	for range 2 {
		named("upsert", "INSERT INTO page (host, day, hits) VALUES (:host, :day, :hits) ON DUPLICATE KEY UPDATE hits = hits + VALUES(hits)",
			[]page{{"x", 1, 1}, {"x", 2, 5}})
	}
	named("upsert one", "INSERT INTO page (host, day, hits) VALUES (:host, :day, :hits) ON DUPLICATE KEY UPDATE hits = hits + :hits", page{"x", 1, 4})

	text, args, err := sqlx.In("UPDATE post SET views = views + ? WHERE id IN (?)", 5, []int{1, 2, 99})
	require.NoError(t, err)
	res, err := db.Exec(db.Rebind(text), args...)
	note("IN", res, err)

	stmt, err := db.PrepareNamed("UPDATE post SET likes = likes + :n WHERE slug = :slug")
	require.NoError(t, err)
	for n := range 3 {
		res, err = stmt.Exec(map[string]any{"n": n, "slug": "c"})
		note("prepared", res, err)
	}
	transactions(run, db, stmt)
	require.NoError(t, stmt.Close())
	reads(t, run, db)
	named("delete", "DELETE FROM post WHERE id = :id", post{ID: 3})
	res, err = db.Exec("UPDATE post SET likes = likes + 1 WHERE id IN (1, 3)")
	note("count on", res, err)
	reads(t, run, db)
}

func transactions(run *twin.Run, db *sqlx.DB, stmt *sqlx.NamedStmt) {
	for _, commit := range []bool{true, false} {
		tx := db.MustBegin()
		_, err := tx.NamedExec("UPDATE post SET likes = likes + :n WHERE id = :id", map[string]any{"n": 10, "id": 1})
		run.Note("increment", err)
		_, err = tx.NamedStmt(stmt).Exec(map[string]any{"n": 100, "slug": "c"})
		run.Note("prepared", err)
		var p post
		run.Note("read", tx.Get(&p, "SELECT * FROM post WHERE id = ?", 1), p)
		var posts []post
		run.Note("read all", tx.Select(&posts, "SELECT * FROM post ORDER BY likes, id"), posts)
		_, err = tx.Exec("UPDATE post SET likes = likes + 1 WHERE id = 1")
		run.Note("increment", err)
		if commit {
			run.Note("commit", tx.Commit(), tx.Rollback())
		} else {
			run.Note("rollback", tx.Rollback(), tx.Commit())
		}
	}
}

func reads(t *testing.T, run *twin.Run, db *sqlx.DB) {
	var posts []post
	run.Note("Select", db.Select(&posts, "SELECT * FROM post ORDER BY likes DESC, id"), posts)
	var p post
	run.Note("Get", db.Get(&p, "SELECT * FROM post WHERE likes > ? ORDER BY id LIMIT 1", 3), p)
	run.Note("no row", db.Get(&p, "SELECT * FROM post WHERE likes > ?", 1000))
	var likes []int64
	run.Note("column", db.Select(&likes, "SELECT likes FROM post ORDER BY id"), likes)
	var n int
	run.Note("count", db.Get(&n, "SELECT COUNT(*) FROM post WHERE likes <> 0"), n)
	rows, err := db.NamedQuery("SELECT slug, likes + views AS sum, shares FROM post WHERE likes >= :likes ORDER BY id", post{Likes: 1})
	require.NoError(t, err)
	for rows.Next() {
		row := map[string]any{}
		run.Note("MapScan", rows.MapScan(row), row)
	}
	run.Note("end", rows.Err(), rows.Close())
	more, err := db.Queryx("SELECT g.*, p.likes FROM page g LEFT JOIN post p ON p.likes > g.hits AND p.id = g.day ORDER BY g.host, g.day")
	require.NoError(t, err)
	for more.Next() {
		row, err := more.SliceScan()
		run.Note("SliceScan", row, err)
	}
	run.Note("end", more.Err(), more.Close())
}

// TestConcurrency proves that no increment is lost or counted twice.
func TestConcurrency(t *testing.T) {
	const workers, rounds = 6, 40
	twin.Compare(t, func(t *testing.T, run *twin.Run) {
		db := open(t, run)
		db.MustExec("INSERT INTO page VALUES ('x', 1, 0), ('x', 2, 0)")
		const hit = "UPDATE page SET hits = hits + 1 WHERE host = :host AND day = :day"
		var wg sync.WaitGroup
		errs := make([]error, workers)
		for w := range workers {
			wg.Go(func() {
				for range rounds {
					_, alone := db.NamedExec(hit, page{Host: "x", Day: 1})
					tx, err := db.Beginx()
					if err == nil {
						_, one := tx.NamedExec(hit, page{Host: "x", Day: 1})
						_, two := tx.NamedExec(hit, page{Host: "x", Day: 2})
						err = errors.Join(one, two, tx.Commit())
					}
					errs[w] = errors.Join(errs[w], alone, err)
				}
			})
		}
		wg.Wait()
		require.NoError(t, errors.Join(errs...))
		var hits []int
		require.NoError(t, db.Select(&hits, "SELECT hits FROM page ORDER BY day"))
		require.Equal(t, []int{2 * workers * rounds, workers * rounds}, hits)
	})
}
