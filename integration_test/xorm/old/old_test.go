// Package old_test uses countermysql through go-xorm, which xorm was before it moved.
package old_test

import (
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/go-xorm/xorm"
	"github.com/stretchr/testify/require"
	"xorm.io/core"

	"github.com/countermysql/countermysql/internal/twin"
)

const config = `
create_slots: true
tables:
  - table: post
    counters: [likes, views]
`

func TestMain(m *testing.M) {
	// go-xorm knows its drivers by name, as xorm does.
	core.RegisterDriver("countermysql", core.QueryDriver("mysql"))
	os.Exit(twin.Main(m, config))
}

type Post struct {
	Id    int64
	Slug  string `xorm:"varchar(64) unique"`
	Likes int64  `xorm:"notnull default 0"`
	Views uint32 `xorm:"notnull default 0"`
}

func open(t *testing.T, run *twin.Run) *xorm.Engine {
	t.Helper()
	engine, err := xorm.NewEngine(run.Driver, run.DSN)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close()) })
	engine.ShowSQL(false)
	require.NoError(t, engine.Sync2(new(Post)))
	return engine
}

// TestCounters proves that go-xorm gets the same answers as with go-sql-driver.
func TestCounters(t *testing.T) {
	for _, param := range []string{"interpolateParams=false", "interpolateParams=true"} {
		t.Run(param, func(t *testing.T) {
			twin.Compare(t, func(t *testing.T, run *twin.Run) {
				engine := open(t, run)
				n, err := engine.Insert([]Post{{Slug: "a", Likes: 5}, {Slug: "b", Views: 2}})
				run.Note("insert", n, err)
				update := func(what string, session *xorm.Session, post *Post) {
					n, err := session.Update(post)
					run.Note(what, n, err)
				}
				update("Incr", engine.ID(1).Incr("likes"), new(Post))
				update("Incr by, and Decr", engine.ID(1).Incr("likes", 10).Decr("views", 0), new(Post))
				update("below zero", engine.ID(1).Decr("views"), new(Post))
				update("missing", engine.ID(9).Incr("likes"), new(Post))
				update("unique key", engine.Where("slug = ?", "b").Incr("likes", 4), new(Post))
				update("guarded", engine.ID(1).And("likes >= ?", 3).Decr("likes", 3), new(Post))
				update("absolute", engine.ID(2).Cols("likes"), &Post{Likes: 7})
				for _, end := range []error{nil, errors.New("failure")} {
					_, err := engine.Transaction(func(s *xorm.Session) (any, error) {
						n, err := s.ID(1).Incr("likes", 2).Update(new(Post))
						run.Note("in a transaction", n, err)
						var p Post
						has, err := s.ID(1).Get(&p)
						run.Note("read there", has, err, p)
						return nil, end
					})
					run.Note("end", err)
				}
				var posts []Post
				run.Note("Find", engine.Desc("likes").Find(&posts), posts)
				n, err = engine.Where("likes > ?", 7).Count(new(Post))
				run.Note("Count", n, err)
				sum, err := engine.SumInt(new(Post), "likes")
				run.Note("SumInt", sum, err)
				n, err = engine.ID(1).Delete(new(Post))
				run.Note("delete", n, err)
				run.Note("sync again", engine.Sync2(new(Post)))
				update("count on", engine.ID(2).Incr("likes"), new(Post))
			}, param)
		})
	}
}

// TestConcurrency proves that no increment is lost or counted twice.
func TestConcurrency(t *testing.T) {
	const workers, rounds = 6, 30
	twin.Compare(t, func(t *testing.T, run *twin.Run) {
		engine := open(t, run)
		_, err := engine.Insert(&Post{Slug: "a"})
		require.NoError(t, err)
		var work sync.WaitGroup
		errs := make([]error, workers)
		for w := range workers {
			work.Go(func() {
				for range rounds {
					_, err := engine.ID(1).Incr("likes").Update(new(Post))
					errs[w] = errors.Join(errs[w], err)
				}
			})
		}
		work.Wait()
		require.NoError(t, errors.Join(errs...))
		var p Post
		_, err = engine.ID(1).Get(&p)
		require.NoError(t, err)
		require.EqualValues(t, workers*rounds, p.Likes)
	})
}
