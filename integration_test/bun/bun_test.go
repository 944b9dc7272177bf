// Package bun_test uses countermysql through bun, as applications do. It is a
// module of its own, so that its dependencies are not ours. bun writes all
// values into the text, so that every text is a new one.
package bun_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/mysqldialect"

	"github.com/countermysql/countermysql/internal/twin"
)

const config = `
create_slots: true
tables:
  - table: posts
    counters: [likes, views, shares]
    touch: [updated_at]
  - table: pages
    counters: [hits]
  - table: tags
    counters: [uses]
    read_own: snapshot
`

func TestMain(m *testing.M) { os.Exit(twin.Main(m, config)) }

type Post struct {
	ID        int64     `bun:",pk,autoincrement"`
	Slug      string    `bun:"type:varchar(64),notnull,unique"`
	Title     string    `bun:"type:varchar(64)"`
	Likes     int64     `bun:",notnull"`
	Views     uint32    `bun:",notnull"`
	Shares    *int64    `bun:"shares"`
	UpdatedAt time.Time `bun:",nullzero,type:datetime(3)"`
	DeletedAt time.Time `bun:",soft_delete,nullzero,type:datetime(3)"`
	Comments  []Comment `bun:"rel:has-many,join:id=post_id"`
}

type Comment struct {
	ID     int64 `bun:",pk,autoincrement"`
	PostID int64
	Post   *Post `bun:"rel:belongs-to,join:post_id=id"`
	Body   string
}

type Page struct {
	Host string `bun:",pk,type:varchar(32)"`
	Day  int    `bun:",pk"`
	Hits int64  `bun:",notnull"`
}

type Tag struct {
	Name string `bun:",pk,type:varchar(32)"`
	Uses int64  `bun:",notnull"`
}

// savepoint is a name that bun makes for a nested transaction, by chance.
var savepoint = regexp.MustCompile(`\bSP_[0-9a-f]+`)

// noting is a hook that notes what bun sends.
type noting struct{ run *twin.Run }

func (noting) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (n noting) AfterQuery(ctx context.Context, e *bun.QueryEvent) {
	if ctx.Value(unordered{}) != nil {
		return
	}
	answer := []any{e.Err}
	if e.Result != nil && e.Err == nil {
		rows, err := e.Result.RowsAffected()
		answer = append(answer, rows, err)
	}
	n.run.Note(e.Query, answer...)
}

// unordered marks the context of statements that bun sends at the same time.
type unordered struct{}

func open(t *testing.T, run *twin.Run) *bun.DB {
	t.Helper()
	pool, err := sql.Open(run.Driver, run.DSN)
	require.NoError(t, err)
	run.Chance = savepoint
	db := bun.NewDB(pool, mysqldialect.New())
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for _, model := range []any{new(Post), new(Comment), new(Page), new(Tag)} {
		_, err := db.NewCreateTable().Model(model).IfNotExists().Exec(t.Context())
		require.NoError(t, err)
	}
	return db
}

func TestCounters(t *testing.T) {
	for _, param := range []string{"clientFoundRows=false", "clientFoundRows=true"} {
		t.Run(param, func(t *testing.T) { twin.Compare(t, program, "parseTime=true", param) })
	}
}

func program(t *testing.T, run *twin.Run) {
	ctx := t.Context()
	db := open(t, run)
	db = db.WithQueryHook(noting{run})
	shares := int64(7)
	posts := []Post{{Slug: "a", Title: "A", Likes: 5, Shares: &shares, UpdatedAt: run.Now()}, {Slug: "b", Views: 2}, {Slug: "c"}}
	_, err := db.NewInsert().Model(&posts).Exec(ctx)
	run.Note("insert", err, posts)
	one := Post{Slug: "d", Title: "it's \\ 'd'"}
	_, err = db.NewInsert().Model(&one).Exec(ctx)
	run.Note("insert", err, one)
	_, err = db.NewInsert().Model(&Post{Slug: "a"}).Exec(ctx)
	run.Note("duplicate", err)
	comments := []Comment{{PostID: 1, Body: "first"}, {PostID: 1, Body: "likes = likes + 1"}, {PostID: 2, Body: "?"}}
	_, err = db.NewInsert().Model(&comments).Exec(ctx)
	run.Note("comments", err, comments)

	update := func(q *bun.UpdateQuery) { // the hook notes the answer
		res, err := q.Exec(ctx)
		run.Note("update", res != nil, err)
	}
	post := func() *bun.UpdateQuery { return db.NewUpdate().Model((*Post)(nil)) }
	update(post().Set("likes = likes + 1").Where("id = 1"))
	update(post().Set("likes = likes + ?", 10).Set("views = views + ?", 1).Where("?TableAlias.id = ?", 1))
	update(post().Set("likes = post.likes - 2").Set("updated_at = ?", run.Now()).Where("slug = ?", "a"))
	update(post().Set("?0 = ?0 + 1", bun.Ident("shares")).Where("id = ?", 1))
	update(post().Set("shares = COALESCE(shares, 0) + 3").Where("id = ?", 2))
	update(post().Set("likes = likes + 1").Set("title = ?", "B").Where("id = ?", 2))
	update(post().Set("likes = likes + 1").Where("id = ?", 999))
	update(post().Set("views = views + 5").Where("id IN (?)", bun.List([]int64{1, 2, 999})))
	update(post().Set("likes = likes - 3").Where("id = ?", 1).Where("likes >= ?", 3))
	update(post().Set("likes = likes - 3").Where("id = ?", 1).Where("likes >= ?", 3000))
	update(post().Set("views = views - 1").Where("id = ?", 3))
	update(post().Set("likes = likes + 1").Where("id = ?", 1).WhereAllWithDeleted())
	update(post().Set("likes = likes + 1").Where("1 = 1"))
	update(post().Set("likes = likes * 2").Where("id = ?", 2))
	update(db.NewUpdate().Model(&Post{ID: 3, Likes: 40}).Column("likes").WherePK())
	update(db.NewUpdate().Model(&posts[2]).Set("likes = likes + 1").WherePK())
	update(db.NewUpdate().Model(&[]Post{{ID: 1, Likes: 3}, {ID: 2, Likes: 4}}).Column("likes").Bulk())
	update(db.NewUpdate().Table("posts").Set("likes = likes + 1").Where("id = ?", 1))

	for range 3 {
		_, err = db.NewInsert().Model(&Page{"x", 1, 1}).On("DUPLICATE KEY UPDATE").Set("hits = hits + VALUES(hits)").Exec(ctx)
		run.Note("upsert", err)
	}
	_, err = db.NewInsert().Model(&[]Page{{"x", 1, 1}, {"y", 1, 5}}).On("DUPLICATE KEY UPDATE").Set("hits = hits + 2").Exec(ctx)
	run.Note("upsert many", err)
	_, err = db.NewInsert().Model(&Page{"y", 1, 60}).Ignore().Exec(ctx)
	run.Note("ignored", err)
	_, err = db.NewInsert().Model(&Tag{"go", 1}).Exec(ctx)
	run.Note("tag", err)
	update(db.NewUpdate().Model(&Tag{Name: "go"}).Set("uses = uses + 1").WherePK())

	transactions(run, db)
	reads(run, db)
	_, err = db.NewDelete().Model(&Post{ID: 2, DeletedAt: run.Now()}).WherePK().ForceDelete().Exec(ctx)
	run.Note("delete", err)
	update(post().Set("deleted_at = ?", run.Now()).Where("id = 3"))
	update(post().Set("likes = likes + 1").Where("id = 3"))
	_, err = db.NewInsert().Model(&Post{ID: 2, Slug: "again", Likes: 1}).Exec(ctx)
	run.Note("again", err)
	update(post().Set("likes = likes + 1").Where("id = 2"))
	reads(run, db)
}

func transactions(run *twin.Run, db *bun.DB) {
	ctx := context.Background()
	like := func(db bun.IDB, id, n int) {
		res, err := db.NewUpdate().Model((*Post)(nil)).Set("likes = likes + ?", n).Where("id = ?", id).Exec(ctx)
		run.Note("like", res != nil, err)
	}
	failure := errors.New("failure")
	for _, level := range []sql.IsolationLevel{sql.LevelDefault, sql.LevelReadCommitted, sql.LevelSerializable} {
		for _, end := range []error{nil, failure} {
			run.Note("end", db.RunInTx(ctx, &sql.TxOptions{Isolation: level}, func(ctx context.Context, tx bun.Tx) error {
				like(tx, 1, 2)
				like(tx, 2, 3)
				like(tx, 999, 3)
				res, err := tx.NewUpdate().Model(&Tag{Name: "go"}).Set("uses = uses + 1").WherePK().Exec(ctx)
				run.Note("use", res != nil, err)
				run.Note("nested", tx.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
					like(tx, 1, 100)
					like(tx, 3, 100)
					return failure
				}))
				var posts []Post
				run.Note("read", tx.NewSelect().Model(&posts).Order("id").Scan(ctx), posts)
				var tags []Tag
				run.Note("tags", tx.NewSelect().Model(&tags).Scan(ctx), tags)
				run.Note("nested", tx.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
					like(tx, 3, 1)
					return nil
				}))
				return end
			}))
		}
	}
}

func reads(run *twin.Run, db *bun.DB) {
	ctx := context.Background()
	var posts []Post
	run.Note("all", db.NewSelect().Model(&posts).Relation("Comments", func(q *bun.SelectQuery) *bun.SelectQuery { return q.Order("id") }).Order("post.id").Scan(ctx), posts)
	var p Post
	run.Note("one", db.NewSelect().Model(&p).Where("?TableAlias.likes > 3").OrderExpr("likes DESC, id").Limit(1).Scan(ctx), p)
	n, err := db.NewSelect().Model((*Post)(nil)).Where("likes <> 0").Count(ctx)
	run.Note("count", n, err)
	posts = nil
	n, err = db.NewSelect().Model(&posts).Order("likes DESC", "id ASC").Limit(2).ScanAndCount(context.WithValue(ctx, unordered{}, true))
	run.Note("scan and count", n, err, posts)
	exists, err := db.NewSelect().Model((*Post)(nil)).Where("likes = ?", p.Likes).Exists(ctx)
	run.Note("exists", exists, err)
	var comments []Comment
	run.Note("join", db.NewSelect().Model(&comments).Relation("Post").Order("comment.id").Scan(ctx), comments)
	var rows []map[string]any
	run.Note("maps", db.NewSelect().Table("posts").ColumnExpr("slug, likes + views AS sum, shares").Order("id").Scan(ctx, &rows), rows)
	var hosts []string
	var hits []int64
	run.Note("columns", db.NewSelect().Model((*Page)(nil)).ColumnExpr("host").ColumnExpr("SUM(hits)").Group("host").Having("SUM(hits) > 0").Order("host").Scan(ctx, &hosts, &hits), hosts, hits)
	top := db.NewSelect().Model((*Post)(nil)).Column("id", "likes").Where("likes > 1")
	var ids []int64
	run.Note("CTE", db.NewSelect().With("top", top).Table("top").Column("top.id").OrderExpr("top.likes, top.id").Scan(ctx, &ids), ids)
	run.Note("subquery", db.NewSelect().Model((*Comment)(nil)).Column("id").Where("post_id IN (?)", db.NewSelect().Model((*Post)(nil)).Column("id").Where("likes > 1")).Order("id").Scan(ctx, &ids), ids)
	run.Note("union", db.NewSelect().Model((*Post)(nil)).Column("likes").Where("id = 1").UnionAll(db.NewSelect().Model((*Page)(nil)).Column("hits").Where("host = 'x'")).Scan(ctx, &ids), ids)
	run.Note("raw", db.NewRaw("SELECT likes FROM posts WHERE id = ? FOR UPDATE", 1).Scan(ctx, &n), n)
}

// TestConcurrency proves that no increment is lost or counted twice.
func TestConcurrency(t *testing.T) {
	const workers, rounds = 6, 30
	twin.Compare(t, func(t *testing.T, run *twin.Run) {
		ctx := t.Context()
		db := open(t, run)
		_, err := db.NewInsert().Model(&[]Page{{"x", 1, 0}, {"x", 2, 0}}).Exec(ctx)
		require.NoError(t, err)
		hit := func(db bun.IDB, day int) error {
			_, err := db.NewUpdate().Model((*Page)(nil)).Set("hits = hits + 1").Where("host = 'x' AND day = ?", day).Exec(ctx)
			return err
		}
		var wg sync.WaitGroup
		errs := make([]error, workers)
		for w := range workers {
			wg.Go(func() {
				for range rounds {
					errs[w] = errors.Join(errs[w], hit(db, 1), db.RunInTx(ctx, nil, func(_ context.Context, tx bun.Tx) error {
						return errors.Join(hit(tx, 1), hit(tx, 2))
					}))
				}
			})
		}
		wg.Wait()
		require.NoError(t, errors.Join(errs...))
		var hits []int64
		require.NoError(t, db.NewSelect().Model((*Page)(nil)).Column("hits").Order("day").Scan(ctx, &hits))
		require.Equal(t, []int64{2 * workers * rounds, workers * rounds}, hits)
	}, "parseTime=true")
}
