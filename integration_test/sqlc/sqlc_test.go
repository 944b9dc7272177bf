// Package sqlc_test uses countermysql through code that sqlc has generated, as
// applications do. It is a module of its own, so that its dependencies are not
// ours.
package sqlc_test

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/sqlc/queries"
	"github.com/countermysql/countermysql/internal/twin"
)

//go:generate go run github.com/sqlc-dev/sqlc/cmd/sqlc@v1.31.1 generate

//go:embed schema.sql
var schema string

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

func open(t *testing.T, run *twin.Run) *sql.DB {
	t.Helper()
	db, err := sql.Open(run.Driver, run.DSN)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for statement := range strings.SplitSeq(schema, ";") {
		if strings.TrimSpace(statement) != "" {
			_, err := db.Exec(statement)
			require.NoError(t, err)
		}
	}
	return db
}

func TestCounters(t *testing.T) {
	for _, param := range []string{"interpolateParams=false", "interpolateParams=true", "clientFoundRows=true"} {
		t.Run(param, func(t *testing.T) {
			twin.Compare(t, func(t *testing.T, run *twin.Run) {
				db := open(t, run)
				t.Run("text", func(t *testing.T) { program(t, run, db, queries.New(db), "") })
				prepared, err := queries.Prepare(t.Context(), db)
				require.NoError(t, err)
				t.Run("prepared", func(t *testing.T) { program(t, run, db, prepared, "p-") })
				require.NoError(t, prepared.Close())
			}, "parseTime=true", param)
		})
	}
}

// program names its posts with a prefix of their own.
func program(t *testing.T, run *twin.Run, db *sql.DB, q *queries.Queries, prefix string) {
	ctx := t.Context()
	a, err := q.CreatePost(ctx, queries.CreatePostParams{Slug: prefix + "a", Likes: 5, UpdatedAt: run.Now()})
	run.Note("CreatePost", a, err)
	b, err := q.CreatePost(ctx, queries.CreatePostParams{Slug: prefix + "b", Views: 3, Shares: sql.NullInt32{Int32: 7, Valid: true}, UpdatedAt: run.Now()})
	run.Note("CreatePost", b, err)
	_, err = q.CreatePost(ctx, queries.CreatePostParams{Slug: prefix + "a", UpdatedAt: run.Now()})
	run.Note("duplicate", err)

	write := func(q *queries.Queries) {
		n, err := q.Like(ctx, a)
		run.Note("Like", n, err)
		n, err = q.Like(ctx, 999)
		run.Note("Like nothing", n, err)
		res, err := q.LikeBy(ctx, queries.LikeByParams{N: 10, UpdatedAt: run.Now(), Slug: prefix + "b"})
		run.Note("LikeBy", err)
		if err == nil {
			n, err = res.RowsAffected()
			run.Note("LikeBy rows", n, err)
		}
		run.Note("View", q.View(ctx, queries.ViewParams{Views: 4, Ids: []int64{b, a, 999}}))
		n, err = q.Share(ctx, a)
		run.Note("Share", n, err)
		n, err = q.Share(ctx, b)
		run.Note("Share", n, err)
		n, err = q.TakeLikes(ctx, queries.TakeLikesParams{N: 3, ID: a})
		run.Note("TakeLikes", n, err)
		n, err = q.TakeLikes(ctx, queries.TakeLikesParams{N: 3000, ID: a})
		run.Note("TakeLikes refused", n, err)
		for day := range int32(3) {
			run.Note("Hit", q.Hit(ctx, queries.HitParams{Host: prefix + "x", Day: day % 2}))
		}
	}
	write(q)
	reads(ctx, run, q, a)
	for _, commit := range []bool{true, false} {
		tx, err := db.BeginTx(ctx, nil)
		require.NoError(t, err)
		in := q.WithTx(tx)
		write(in)
		reads(ctx, run, in, b)
		n, err := in.Like(ctx, a)
		run.Note("Like", n, err)
		if commit {
			run.Note("commit", tx.Commit())
		} else {
			run.Note("rollback", tx.Rollback())
		}
	}
	n, err := q.ResetViews(ctx, 8)
	run.Note("ResetViews", n, err)
	n, err = q.DeletePost(ctx, b)
	run.Note("DeletePost", n, err)
	write(q)
	reads(ctx, run, q, b)
}

func reads(ctx context.Context, run *twin.Run, q *queries.Queries, id int64) {
	post, err := q.GetPost(ctx, id)
	run.Note("GetPost", post, err)
	post, err = q.LockPost(ctx, post.Slug)
	run.Note("LockPost", post, err)
	top, err := q.TopPosts(ctx, 3)
	run.Note("TopPosts", top, err)
	likes, err := q.LikesOf(ctx, 2)
	run.Note("LikesOf", likes, err)
	hits, err := q.HitsByHost(ctx)
	run.Note("HitsByHost", hits, err)
	n, err := q.CountLiked(ctx)
	run.Note("CountLiked", n, err)
}

// TestConcurrency proves that no increment is lost or counted twice.
func TestConcurrency(t *testing.T) {
	const workers, rounds = 6, 40
	twin.Compare(t, func(t *testing.T, run *twin.Run) {
		ctx := t.Context()
		db := open(t, run)
		q := queries.New(db)
		id, err := q.CreatePost(ctx, queries.CreatePostParams{Slug: "a", UpdatedAt: run.Now()})
		require.NoError(t, err)
		require.NoError(t, q.Hit(ctx, queries.HitParams{Host: "x"}))
		var wg sync.WaitGroup
		errs := make([]error, workers)
		for w := range workers {
			wg.Go(func() {
				for range rounds {
					_, alone := q.Like(ctx, id)
					tx, err := db.BeginTx(ctx, nil)
					if err == nil {
						_, one := q.WithTx(tx).Like(ctx, id)
						err = errors.Join(one, q.WithTx(tx).View(ctx, queries.ViewParams{Views: 2, Ids: []int64{id}}), tx.Commit())
					}
					errs[w] = errors.Join(errs[w], alone, err, q.Hit(ctx, queries.HitParams{Host: "x"}))
				}
			})
		}
		wg.Wait()
		require.NoError(t, errors.Join(errs...))
		post, err := q.GetPost(ctx, id)
		require.NoError(t, err)
		require.EqualValues(t, 2*workers*rounds, post.Likes)
		require.EqualValues(t, 2*workers*rounds, post.Views)
	}, "parseTime=true")
}
