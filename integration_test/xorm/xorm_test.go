// Package xorm_test uses countermysql through xorm, as applications do. It is a
// module of its own, so that its dependencies are not ours.
package xorm_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"xorm.io/xorm"
	"xorm.io/xorm/contexts"
	"xorm.io/xorm/dialects"

	"github.com/countermysql/countermysql/internal/twin"
)

const config = `
create_slots: true
tables:
  - table: post
    counters: [likes, views, shares]
    touch: [updated]
  - table: page
    counters: [hits]
  - table: account
    counters: [balance]
`

func TestMain(m *testing.M) {
	// xorm knows its drivers by name.
	dialects.RegisterDriver("countermysql", dialects.QueryDriver("mysql"))
	os.Exit(twin.Main(m, config))
}

type Post struct {
	Id      int64
	Slug    string    `xorm:"varchar(64) unique"`
	Title   string    `xorm:"varchar(64)"`
	Likes   int64     `xorm:"notnull default 0"`
	Views   uint32    `xorm:"notnull default 0"`
	Shares  *int      `xorm:"null"`
	Updated time.Time `xorm:"updated"`
	Deleted time.Time `xorm:"deleted"`
}

type Page struct {
	Host string `xorm:"varchar(32) pk"`
	Day  int    `xorm:"pk"`
	Hits int64  `xorm:"notnull default 0"`
}

type Account struct {
	Id      int64
	Balance string `xorm:"decimal(20,2) notnull"`
	Version int    `xorm:"version"`
}

// moment is xorm's clock, which can't be set.
var moment = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)

// noting is a hook that notes what xorm sends.
type noting struct{ run *twin.Run }

func (n noting) BeforeProcess(c *contexts.ContextHook) (context.Context, error) { return c.Ctx, nil }

func (n noting) AfterProcess(c *contexts.ContextHook) error {
	answer := append([]any{c.Err}, c.Args...)
	if c.Result != nil && c.Err == nil {
		rows, err := c.Result.RowsAffected()
		id, idErr := c.Result.LastInsertId()
		answer = append(answer, rows, err, id, idErr)
	}
	n.run.Note(c.SQL, answer...)
	return c.Err
}

func open(t *testing.T, run *twin.Run) *xorm.Engine {
	t.Helper()
	run.Chance = moment
	engine, err := xorm.NewEngine(run.Driver, run.DSN)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close()) })
	engine.SetTZDatabase(time.UTC)
	engine.SetTZLocation(time.UTC)
	engine.ShowSQL(false)
	require.NoError(t, engine.Sync(new(Post), new(Page), new(Account)))
	return engine
}

// timeless leaves out the times of xorm's clock.
func timeless(posts []Post) []Post {
	for i := range posts {
		posts[i].Updated = time.Time{}
		if !posts[i].Deleted.IsZero() {
			posts[i].Deleted = time.Unix(0, 0)
		}
	}
	return posts
}

func TestCounters(t *testing.T) {
	for _, param := range []string{"interpolateParams=false", "interpolateParams=true", "clientFoundRows=true"} {
		t.Run(param, func(t *testing.T) { twin.Compare(t, program, "parseTime=true", param) })
	}
}

func program(t *testing.T, run *twin.Run) {
	engine := open(t, run)
	engine.AddHook(noting{run})
	note := run.Note

	seven := 7
	posts := []*Post{{Slug: "a", Title: "A", Likes: 5, Shares: &seven}, {Slug: "b", Views: 2}, {Slug: "c"}}
	for _, p := range posts {
		n, err := engine.Insert(p)
		note("insert", n, err, p.Id)
	}
	n, err := engine.Insert([]Page{{"x", 1, 5}, {"x", 2, 6}, {"y", 1, 7}})
	note("insert many", n, err)
	n, err = engine.Insert(&Account{Balance: "10.50"}, &Account{Balance: "0"})
	note("accounts", n, err)
	n, err = engine.Insert(&Post{Slug: "a"})
	note("duplicate", n, err)

	update := func(what string, session *xorm.Session, bean any) {
		n, err := session.Update(bean)
		note(what, n, err)
	}
	update("Incr", engine.ID(1).Incr("likes"), new(Post))
	update("Incr by", engine.ID(1).Incr("likes", 10).Decr("views", 0).Incr("shares"), new(Post))
	update("Decr", engine.ID(1).Decr("likes", 2), new(Post))
	update("below zero", engine.ID(3).Decr("views"), new(Post))
	update("NULL", engine.ID(2).NoAutoTime().Incr("shares", 3), new(Post)) // or it depends on whether a second has passed
	update("with an ordinary column", engine.ID(2).Incr("likes").Cols("title"), &Post{Title: "B"})
	update("missing", engine.ID(999).Incr("likes"), new(Post))
	update("unique key", engine.Where("slug = ?", "b").Incr("likes", 4), new(Post))
	update("IN", engine.In("id", 1, 2, 999).Incr("views", 5), new(Post))
	update("condition on a counter", engine.Where("likes > ?", 3).Incr("likes"), new(Post))
	update("guarded", engine.ID(1).And("likes >= ?", 3).Decr("likes", 3), new(Post))
	update("NoAutoTime", engine.ID(1).NoAutoTime().Incr("likes"), new(Post))
	update("SetExpr", engine.ID(1).SetExpr("likes", "likes + 1"), new(Post))
	update("SetExpr of another", engine.ID(2).SetExpr("likes", "views * 2"), new(Post))
	update("absolute", engine.ID(2).Cols("likes"), &Post{Likes: 0})
	update("composite key", engine.ID([]any{"x", 1}).Incr("hits"), new(Page))
	update("part of the key", engine.Where("host = ?", "x").Incr("hits"), new(Page))
	update("table", engine.Table("page").Where("host = ? AND day = ?", "y", 1).Incr("hits", 3), map[string]any{"day": 1})
	update("version", engine.ID(1).Incr("balance", "0.75"), &Account{Version: 1})
	update("old version", engine.ID(1).Incr("balance", "100"), &Account{Version: 1})

	exec := func(text string, args ...any) {
		res, err := engine.Exec(append([]any{text}, args...)...)
		note(text, err)
		if err == nil {
			rows, err := res.RowsAffected()
			note("rows", rows, err)
		}
	}
	for range 2 {
		exec("INSERT INTO page (host, day, hits) VALUES (?, ?, 1) ON DUPLICATE KEY UPDATE hits = hits + VALUES(hits)", "y", 2)
	}
	exec("UPDATE page SET hits = hits + ? WHERE host = ? AND day = ?", 1, "Y", 2)

	transactions(run, engine)
	reads(run, engine)

	n, err = engine.ID(2).Delete(new(Post))
	note("soft delete", n, err)
	update("soft deleted", engine.ID(2).Incr("likes"), new(Post))
	update("soft deleted, unscoped", engine.ID(2).Unscoped().Incr("likes"), new(Post))
	n, err = engine.ID(3).Unscoped().Delete(new(Post))
	note("delete", n, err)
	note("sync again", engine.Sync(new(Post), new(Page), new(Account)))
	update("count on", engine.ID(1).Incr("likes"), new(Post))
	update("count on", engine.ID([]any{"x", 1}).Incr("hits"), new(Page))
	reads(run, engine)
}

func transactions(run *twin.Run, engine *xorm.Engine) {
	note := run.Note
	like := func(s *xorm.Session, id, n int) {
		rows, err := s.ID(id).Incr("likes", n).Update(new(Post))
		note("like", rows, err)
	}
	failure := errors.New("failure")
	for _, end := range []error{nil, failure} {
		_, err := engine.Transaction(func(s *xorm.Session) (any, error) {
			like(s, 1, 2)
			like(s, 2, 3)
			like(s, 999, 3)
			var p Post
			has, err := s.ID(1).Get(&p)
			note("read", has, err, timeless([]Post{p}))
			like(s, 1, 2)
			n, err := s.Insert(&Page{"t", 1, 1})
			note("insert", n, err)
			return nil, end
		})
		note("end", err)
	}
	s := engine.NewSession()
	note("begin", s.Begin())
	like(s, 1, 1000)
	var locked Post
	has, err := s.ID(2).ForUpdate().Get(&locked)
	note("for update", has, err, timeless([]Post{locked}))
	note("rollback", s.Rollback(), s.Close())
}

func reads(run *twin.Run, engine *xorm.Engine) {
	note := run.Note
	var posts []Post
	note("Find", engine.Asc("id").Find(&posts), timeless(posts))
	byID := map[int64]Post{}
	err := engine.Cols("id", "likes").Find(&byID)
	note("Find a map", err, len(byID), byID[1].Likes)
	var p Post
	has, err := engine.Where("likes > ?", 3).Desc("likes").Asc("id").Get(&p)
	note("Get", has, err, timeless([]Post{p}))
	var likes int64
	has, err = engine.Table("post").ID(1).Cols("likes").Get(&likes)
	note("Get a column", has, err, likes)
	n, err := engine.Where("likes >= ?", 1).Count(new(Post))
	note("Count", n, err)
	sum, err := engine.SumInt(new(Post), "likes")
	note("SumInt", sum, err)
	sums, err := engine.Sums(new(Post), "likes", "views")
	note("Sums", sums, err)
	has, err = engine.Exist(&Post{Likes: likes})
	note("Exist", has, err)
	posts = nil
	n, err = engine.Desc("likes", "id").Limit(2).FindAndCount(&posts)
	note("FindAndCount", n, err, timeless(posts))
	texts, err := engine.QueryString("SELECT slug, likes, views, shares FROM post ORDER BY likes, id")
	note("QueryString", texts, err)
	rows, err := engine.QueryInterface("SELECT p.slug, p.likes + p.views AS sum, p.shares FROM post p LEFT JOIN page g ON g.hits = p.likes WHERE p.likes IN (SELECT likes FROM post) ORDER BY p.id")
	note("QueryInterface", rows, err)
	var groups []struct {
		Host string
		Hits int64
	}
	note("GroupBy", engine.Table("page").Select("host, SUM(hits) AS hits").GroupBy("host").Having("SUM(hits) > 0").Asc("host").Find(&groups), groups)
	note("Iterate", engine.Asc("id").Iterate(new(Account), func(i int, bean any) error {
		note("account", i, *bean.(*Account))
		return nil
	}))
}

// TestConcurrency proves that no increment is lost or counted twice.
func TestConcurrency(t *testing.T) {
	const workers, rounds = 6, 30
	twin.Compare(t, func(t *testing.T, run *twin.Run) {
		engine := open(t, run)
		_, err := engine.Insert(&Post{Slug: "a"})
		require.NoError(t, err)
		var wg sync.WaitGroup
		errs := make([]error, workers)
		for w := range workers {
			wg.Go(func() {
				for range rounds {
					_, one := engine.ID(1).Incr("likes").Update(new(Post))
					_, two := engine.Transaction(func(s *xorm.Session) (any, error) {
						return s.ID(1).Incr("likes", 2).Incr("views").Update(new(Post))
					})
					errs[w] = errors.Join(errs[w], one, two)
				}
			})
		}
		wg.Wait()
		require.NoError(t, errors.Join(errs...))
		var p Post
		_, err = engine.ID(1).Get(&p)
		require.NoError(t, err)
		require.EqualValues(t, 3*workers*rounds, p.Likes)
		require.EqualValues(t, workers*rounds, p.Views)
	}, "parseTime=true")
}
