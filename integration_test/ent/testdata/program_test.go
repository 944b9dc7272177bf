package ent_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"regexp"
	"sync"
	"testing"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/stretchr/testify/require"

	ent "github.com/countermysql/countermysql/integration_test/ent/generated"
	"github.com/countermysql/countermysql/integration_test/ent/generated/comment"
	"github.com/countermysql/countermysql/integration_test/ent/generated/post"
	"github.com/countermysql/countermysql/integration_test/ent/schema"
	"github.com/countermysql/countermysql/internal/twin"
)

// ent reads back what it has incremented, in the same transaction; comments are
// read as of the snapshot, which locks nothing.
const config = `
create_slots: true
tables:
  - table: posts
    counters: [likes, views, shares]
    touch: [updated_at]
  - table: hits
    counters: [hits]
  - table: comments
    counters: [votes]
    read_own: snapshot
`

func TestMain(m *testing.M) { os.Exit(twin.Main(m, config)) }

// transactionName is a transaction's in ent's log, by chance.
var transactionName = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)

// open makes a client whose statements are noted, and one whose are not.
func open(t *testing.T, run *twin.Run) (noted, quiet *ent.Client) {
	db, err := sql.Open(run.Driver, run.DSN)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	run.Chance, schema.Clock = transactionName, run.Now
	driver := ent.Driver(entsql.OpenDB(dialect.MySQL, db))
	quiet = ent.NewClient(driver)
	require.NoError(t, quiet.Schema.Create(t.Context()))
	return ent.NewClient(driver, ent.Debug(), ent.Log(func(text ...any) {
		run.Note(fmt.Sprint(text...))
	})), quiet
}

func TestCounters(t *testing.T) {
	for _, params := range [][]string{nil, {"interpolateParams=true"}, {"clientFoundRows=true"}} {
		t.Run(fmt.Sprint(params), func(t *testing.T) { twin.Compare(t, program, append(params, "parseTime=true")...) })
	}
}

func program(t *testing.T, run *twin.Run) {
	ctx := t.Context()
	client, _ := open(t, run)
	note := func(what string, answer any, err error) { run.Note(what, fmt.Sprint(answer), err) }

	a, err := client.Post.Create().SetSlug("a").SetTitle("A").SetLikes(5).SetShares(7).Save(ctx)
	note("create", a, err)
	b, err := client.Post.Create().SetSlug("b").SetViews(2).Save(ctx)
	note("create", b, err)
	first, err := client.Comment.Create().SetBody("first").SetPost(a).Save(ctx)
	note("create", first, err)
	_, err = client.Post.Create().SetSlug("a").Save(ctx)
	run.Note("duplicate", err, ent.IsConstraintError(err))
	many, err := client.Comment.CreateBulk(
		client.Comment.Create().SetBody("second").SetPost(a).SetVotes(3),
		client.Comment.Create().SetBody("third").SetPost(b)).Save(ctx)
	note("create many", many, err)

	got, err := a.Update().AddLikes(1).Save(ctx)
	note("AddLikes", got, err)
	got, err = client.Post.UpdateOneID(a.ID).AddLikes(-2).AddViews(1).AddShares(1).Save(ctx)
	note("several", got, err)
	got, err = b.Update().AddShares(4).SetTitle("B").Save(ctx)
	note("NULL, and an ordinary column", got, err)
	got, err = b.Update().AddViews(-2).Save(ctx)
	note("down to zero", got, err)
	got, err = b.Update().AddViews(-1).Save(ctx)
	note("below zero", got, err)
	got, err = client.Post.UpdateOneID(999).AddLikes(1).Save(ctx)
	note("missing", got, err)
	got, err = b.Update().ClearShares().AddLikes(3).Save(ctx)
	note("clear", got, err)
	got, err = b.Update().SetLikes(0).Save(ctx)
	note("absolute", got, err)
	got, err = client.Post.UpdateOneID(a.ID).Where(post.LikesGT(1)).AddLikes(-1).Save(ctx)
	note("guarded", got, err)
	got, err = client.Post.UpdateOneID(a.ID).Where(post.LikesGT(1000)).AddLikes(-1).Save(ctx)
	note("guarded, refused", got, err)
	n, err := client.Post.Update().Where(post.Slug("a")).AddLikes(10).Save(ctx)
	note("unique key", n, err)
	n, err = client.Post.Update().Where(post.IDIn(a.ID, b.ID, 999)).AddViews(5).Save(ctx)
	note("IN", n, err)
	n, err = client.Post.Update().AddLikes(1).Save(ctx)
	note("all", n, err)
	n, err = client.Comment.Update().Where(comment.HasPostWith(post.Slug("a"))).AddVotes(1).Save(ctx)
	note("by an edge", n, err)
	voted, err := first.Update().AddVotes(4).Save(ctx)
	note("snapshot", voted, err)
	got, err = a.Update().Modify(func(u *entsql.UpdateBuilder) { u.Set("likes", entsql.Expr("GREATEST(likes - ?, 0)", 3)) }).Save(ctx)
	note("modifier", got, err)

	for range 3 {
		run.Note("upsert", client.Hit.Create().SetID("home").OnConflict().Update(func(u *ent.HitUpsert) { u.AddHits(1).UpdateUpdatedAt() }).Exec(ctx))
	}
	run.Note("upsert many", client.Hit.CreateBulk(client.Hit.Create().SetID("home"), client.Hit.Create().SetID("about").SetHits(3)).OnConflict().Update(func(u *ent.HitUpsert) { u.AddHits(2) }).Exec(ctx))
	hit, err := client.Hit.UpdateOneID("about").AddHits(1).Save(ctx)
	note("count", hit, err)
	run.Note("upsert, ignored", client.Hit.Create().SetID("home").SetHits(50).OnConflict().Ignore().Exec(ctx))
	run.Note("upsert, new values", client.Hit.Create().SetID("about").SetHits(40).OnConflict().UpdateNewValues().Exec(ctx))
	hit, err = client.Hit.UpdateOneID("about").AddHits(1).Save(ctx)
	note("count on", hit, err)

	transactions(t, run, client, a.ID, b.ID)
	reads(run, client)

	run.Note("delete", client.Comment.DeleteOne(first).Exec(ctx))
	n, err = client.Comment.Delete().Where(comment.VotesLT(2)).Exec(ctx)
	note("delete where", n, err)
	run.Note("migrate again", client.Schema.Create(ctx))
	got, err = client.Post.UpdateOneID(a.ID).AddLikes(1).Save(ctx)
	note("count on", got, err)
	n, err = client.Post.Update().Where(post.ID(a.ID)).AddLikes(1).Save(ctx)
	note("count on, not read back", n, err)
	voted, err = many[0].Update().AddVotes(2).Save(ctx)
	note("count on, read back from the snapshot", voted, err)
}

func transactions(t *testing.T, run *twin.Run, client *ent.Client, a, b int) {
	ctx := t.Context()
	for _, level := range []sql.IsolationLevel{sql.LevelDefault, sql.LevelReadCommitted, sql.LevelSerializable} {
		tx, err := client.BeginTx(ctx, &sql.TxOptions{Isolation: level})
		require.NoError(t, err)
		p, err := tx.Post.UpdateOneID(a).AddLikes(2).Save(ctx)
		run.Note("like", fmt.Sprint(p), err)
		n, err := tx.Post.Update().Where(post.ID(b)).AddLikes(3).Save(ctx)
		run.Note("like", n, err)
		n, err = tx.Post.Update().Where(post.ID(b)).AddLikes(3).Save(ctx)
		run.Note("like again", n, err)
		posts, err := tx.Post.Query().Order(ent.Desc(post.FieldLikes), ent.Asc(post.FieldID)).All(ctx)
		run.Note("read", fmt.Sprint(posts), err)
		c, err := tx.Comment.Create().SetBody("in a transaction").SetPostID(b).Save(ctx)
		run.Note("comment", fmt.Sprint(c), err)
		n, err = tx.Comment.Update().Where(comment.ID(c.ID)).AddVotes(1).Save(ctx)
		run.Note("vote", n, err)
		run.Note("commit", tx.Commit())

		tx, err = client.BeginTx(ctx, &sql.TxOptions{Isolation: level})
		require.NoError(t, err)
		p, err = tx.Post.UpdateOneID(a).AddLikes(1000).Save(ctx)
		run.Note("like", fmt.Sprint(p), err)
		p, err = tx.Post.Query().Where(post.ID(b)).ForUpdate().Only(ctx)
		run.Note("for update", fmt.Sprint(p), err)
		run.Note("rollback", tx.Rollback())
	}
}

func reads(run *twin.Run, client *ent.Client) {
	ctx := context.Background()
	note := func(what string, answer any, err error) { run.Note(what, fmt.Sprint(answer), err) }
	posts, err := client.Post.Query().WithComments(func(q *ent.CommentQuery) { q.Order(ent.Desc(comment.FieldVotes), ent.Asc(comment.FieldID)) }).Order(ent.Asc(post.FieldID)).All(ctx)
	note("eager", posts, err)
	for _, p := range posts {
		note("comments", p.Edges.Comments, nil)
	}
	one, err := client.Post.Query().Where(post.LikesGTE(5), post.HasComments()).Order(ent.Asc(post.FieldID)).First(ctx)
	note("first", one, err)
	ints, err := client.Post.Query().Order(ent.Asc(post.FieldID)).Select(post.FieldViews).Ints(ctx)
	note("select", ints, err)
	var groups []struct {
		Likes int64
		Count int
		Sum   int
		Max   int
		Mean  float64
	}
	err = client.Post.Query().GroupBy(post.FieldLikes).Aggregate(ent.Count(), ent.Sum(post.FieldViews), ent.Max(post.FieldViews), ent.Mean(post.FieldViews)).Scan(ctx, &groups)
	note("groups", len(groups), err)
	n, err := client.Post.Query().Where(post.LikesNEQ(0)).Count(ctx)
	note("count", n, err)
	exist, err := client.Post.Query().Where(post.Likes(1 << 40)).Exist(ctx)
	note("exist", exist, err)
	ids, err := client.Post.Query().Order(post.ByCommentsCount(entsql.OrderDesc()), post.ByLikes(), post.ByID()).IDs(ctx)
	note("order by edges", ids, err)
	sum, err := client.Comment.Query().Aggregate(ent.Sum(comment.FieldVotes)).Int(ctx)
	note("sum", sum, err)
	above, err := client.Comment.Query().Where(comment.HasPostWith(post.LikesGT(1))).QueryPost().Order(ent.Asc(post.FieldID)).All(ctx)
	note("edges", above, err)
}

// TestConcurrency proves that no increment is lost or counted twice.
func TestConcurrency(t *testing.T) {
	const workers, rounds = 6, 20
	twin.Compare(t, func(t *testing.T, run *twin.Run) {
		_, client := open(t, run)
		ctx := t.Context()
		p := client.Post.Create().SetSlug("a").SaveX(ctx)
		c := client.Comment.Create().SetBody("b").SetPost(p).SaveX(ctx)
		var wg sync.WaitGroup
		errs := make([]error, workers)
		for w := range workers {
			wg.Go(func() {
				for range rounds {
					tx, err := client.Tx(ctx)
					if err == nil {
						err = errors.Join(
							tx.Post.Update().Where(post.ID(p.ID)).SetUpdatedAt(p.UpdatedAt).AddLikes(1).Exec(ctx),
							tx.Commit())
					}
					errs[w] = errors.Join(errs[w], err, client.Comment.UpdateOneID(c.ID).AddVotes(1).Exec(ctx))
				}
			})
		}
		wg.Wait()
		require.NoError(t, errors.Join(errs...))
		require.EqualValues(t, workers*rounds, client.Post.GetX(ctx, p.ID).Likes)
		require.EqualValues(t, workers*rounds, client.Comment.GetX(ctx, c.ID).Votes)
	}, "parseTime=true")
}
