package gorm_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// seed makes two authors with three posts.
func seed(t *testing.T, s session) (anna, ben Author) {
	shares := int64(7)
	anna = Author{Name: "anna", Articles: 2, Wallet: Wallet{Balance: "10.50"}, Posts: []Post{
		{Slug: "a", Title: "A", Likes: 5, Shares: &shares, Comments: []Comment{{Body: "first"}, {Body: "second", Votes: 3}}},
		{Slug: "b", Title: "B", Views: 100},
	}}
	ben = Author{Name: "ben", Posts: []Post{{Slug: "c", Title: "C", Tags: []Tag{{Name: "go"}, {Name: "sql", Uses: 4}}}}}
	res := s.Create(&anna)
	s.note("create anna", res, anna)
	require.NoError(t, res.Error)
	res = s.Create(&ben)
	s.note("create ben", res, ben)
	require.NoError(t, res.Error)
	return anna, ben
}

func TestIncrements(t *testing.T) {
	forEachMode(t, func(t *testing.T, s session) {
		anna, ben := seed(t, s)
		post, other := anna.Posts[0], anna.Posts[1]

		s.note("UpdateColumn", s.Model(&post).UpdateColumn("likes", gorm.Expr("likes + ?", 1)), post)
		s.note("UpdateColumn, other table", s.Model(&Tag{Name: "go"}).UpdateColumn("uses", gorm.Expr("uses + 1")))
		s.note("UpdateColumns", s.Model(&post).UpdateColumns(map[string]any{"likes": gorm.Expr("likes + ?", 2), "views": gorm.Expr("views + 1")}), post)
		s.note("Update with updated_at", s.Model(&post).Update("likes", gorm.Expr("likes - ?", 1)), post)
		s.note("Updates with updated_at", s.Model(&post).Updates(map[string]any{"likes": gorm.Expr("likes + ?", 10), "shares": gorm.Expr("shares + ?", 1)}), post)
		s.note("Updates with ordinary column", s.Model(&other).Updates(map[string]any{"likes": gorm.Expr("likes + 1"), "title": "B2"}), other)
		s.note("NULL", s.Model(&other).UpdateColumn("shares", gorm.Expr("shares + 1")), other)
		s.note("COALESCE", s.Model(&other).UpdateColumn("shares", gorm.Expr("COALESCE(shares, 0) + ?", 3)), other)
		s.note("IFNULL", s.Model(&other).UpdateColumn("shares", gorm.Expr("IFNULL(shares, 0) + ?", 4)), other)
		s.note("zero", s.Model(&post).UpdateColumn("likes", gorm.Expr("likes + ?", 0)))
		s.note("missing", s.Model(&Post{}).Where("id = ?", 999).UpdateColumn("likes", gorm.Expr("likes + 1")))
		s.note("unique key", s.Model(&Post{}).Where("slug = ?", "c").UpdateColumn("likes", gorm.Expr("likes + 1")))
		s.note("IN", s.Model(&Post{}).Where([]uint{post.ID, other.ID, 999}).UpdateColumn("views", gorm.Expr("views + ?", 5)))
		s.note("struct condition", s.Model(&Post{}).Where(&Post{AuthorID: anna.ID}).UpdateColumn("likes", gorm.Expr("likes + 1")))
		s.note("guarded decrement", s.Model(&post).Where("likes >= ?", 3).UpdateColumn("likes", gorm.Expr("likes - ?", 3)))
		s.note("guarded decrement refused", s.Model(&post).Where("likes >= ?", 3000).UpdateColumn("likes", gorm.Expr("likes - ?", 3000)))
		s.note("below zero", s.Model(&ben.Posts[0]).UpdateColumn("views", gorm.Expr("views - 1")))
		s.note("raw", s.Exec("UPDATE posts SET likes = likes + @n WHERE id = @id", map[string]any{"n": 2, "id": post.ID}))
		s.note("no WHERE", s.Model(&Post{}).UpdateColumn("likes", gorm.Expr("likes + 1")))
		s.note("global", s.Session(&gorm.Session{AllowGlobalUpdate: true}).Model(&Post{}).UpdateColumn("likes", gorm.Expr("likes + 1")))
		s.note("no touch column", s.Model(&post.Comments[0]).Update("votes", gorm.Expr("votes + ?", 1)), post.Comments[0])
		s.note("decimal", s.Model(&anna.Wallet).UpdateColumn("balance", gorm.Expr("balance + ?", "0.75")), anna.Wallet)
		s.note("dry", s.Session(&gorm.Session{DryRun: true}).Model(&post).UpdateColumn("likes", gorm.Expr("likes + ?", 1)))
		s.note("two of one", s.Model(&post).Where("title = ?", "A").UpdateColumn("likes", gorm.Expr("likes + votes")))

		s.note("slice", s.Model([]Post{post, other}).UpdateColumn("likes", gorm.Expr("likes + 1")))
		s.note("subquery", s.Model(&Post{}).Where("id = ?", post.ID).UpdateColumn("comment_count", s.Model(&Comment{}).Select("COUNT(*)").Where("comments.post_id = ?", post.ID)))
		s.note("another's value", s.Model(&other).UpdateColumn("likes", gorm.Expr("likes + views")))
		s.note("scope", s.Scopes(func(db *gorm.DB) *gorm.DB { return db.Where("author_id = ?", ben.ID) }).Model(&Post{}).Limit(1).UpdateColumn("likes", gorm.Expr("likes + 1")))
		n, err := gorm.G[Post](s.DB).Where("id = ?", post.ID).Update(t.Context(), "likes", gorm.Expr("likes + ?", 1))
		s.run.Note("generics", n, err)
		n, err = gorm.G[Post](s.DB).Where("slug = ?", "c").Set(clause.Assignment{Column: clause.Column{Name: "likes"}, Value: gorm.Expr("likes + 2")}).Update(t.Context())
		s.run.Note("generics with Set", n, err)
		found, err := gorm.G[Post](s.DB).Where("likes > ?", 0).Order("likes DESC, id").Find(t.Context())
		s.run.Note("generics find", found, err)
		s.note("returning", s.Model(&found).Clauses(clause.Returning{}).Where("id = ?", post.ID).UpdateColumn("likes", gorm.Expr("likes + 1")), found)
		comment := Comment{PostID: post.ID, Body: "third"}
		s.note("counted by a hook", s.Create(&comment), comment)
		s.note("counted back by a hook", s.Delete(&comment))
		s.note("read what a hook counted", s.First(&post, post.ID), post)

		post.Likes = 77
		s.note("Save", s.Save(&post), post)
		s.note("Updates of a struct", s.Model(&other).Select("Likes", "Title").Updates(Post{Likes: 0, Title: "B3"}), other)
		s.note("again", s.Model(&post).Update("likes", gorm.Expr("likes + 1")), post)
		s.note("soft delete", s.Delete(&other), other)
		s.note("soft deleted", s.Model(&Post{}).Where("id = ?", other.ID).UpdateColumn("likes", gorm.Expr("likes + 1")))
		s.note("soft deleted, unscoped", s.Unscoped().Model(&Post{}).Where("id = ?", other.ID).UpdateColumn("likes", gorm.Expr("likes + 1")))
		s.note("delete", s.Unscoped().Select("Comments").Delete(&post))
		s.note("deleted", s.Model(&post).UpdateColumn("likes", gorm.Expr("likes + 1")))
		post.DeletedAt = gorm.DeletedAt{}
		s.note("back with the same key", s.Omit(clause.Associations).Create(&post), post)
		s.note("counts again", s.Model(&post).UpdateColumn("likes", gorm.Expr("likes + 1")))
		reads(s)
	})
}

// reads reads counters in the ways of GORM.
func reads(s session) {
	var posts []Post
	s.note("Find", s.Order("id").Find(&posts), posts)
	var post Post
	s.note("First", s.First(&post, "slug = ?", "c"), post)
	var last Post
	s.note("Last", s.Last(&last), last)
	var taken Post
	s.note("Take", s.Where(map[string]any{"slug": "nobody"}).Take(&taken), taken)
	var likes []int
	s.note("Pluck", s.Model(&Post{}).Order("id").Pluck("likes", &likes), likes)
	var more []int64
	s.note("Pluck an expression", s.Model(&Post{}).Order("id").Pluck("likes + views", &more), more)
	var n int64
	s.note("Count", s.Model(&Post{}).Where("likes > ?", 2).Count(&n), n)
	s.note("Count of a group", s.Model(&Post{}).Group("author_id").Count(&n), n)
	s.note("Count distinct", s.Model(&Post{}).Distinct("likes").Count(&n), n)
	var total struct {
		Likes   int64
		Highest *int
		Mean    float64
	}
	s.note("Scan", s.Model(&Post{}).Select("SUM(likes) AS likes, MAX(views) AS highest, AVG(likes) AS mean").Scan(&total), total)
	var groups []map[string]any
	s.note("Group and Having", s.Model(&Post{}).Select("author_id, SUM(likes) AS total").Group("author_id").Having("SUM(likes) > ?", 0).Order("total DESC, author_id").Find(&groups), groups)
	var rows []map[string]any
	s.note("maps", s.Table("posts").Order("likes DESC, id").Find(&rows), rows)
	var joined []Post
	s.note("Joins", s.Joins("Author").Order("posts.likes, posts.id").Find(&joined), joined)
	var names []string
	s.note("Joins by text", s.Model(&Post{}).Joins("JOIN authors ON authors.id = posts.author_id AND authors.articles >= ?", 0).Order("posts.id").Pluck("authors.name", &names), names)
	var loaded []Author
	s.note("Preload", s.Preload("Posts", func(db *gorm.DB) *gorm.DB { return db.Order("posts.likes DESC, posts.id") }).Preload("Posts.Comments").Preload("Posts.Tags").Preload("Wallet").Order("id").Find(&loaded), loaded)
	var nested []Post
	s.note("subquery", s.Where("likes >= (?)", s.Model(&Post{}).Select("AVG(likes)")).Order("id").Find(&nested), nested)
	s.note("derived table", s.Table("(?) AS p", s.Model(&Post{}).Select("likes, slug")).Where("p.likes > ?", 0).Order("p.slug").Select("p.likes").Scan(&likes), likes)
	var batch []Post
	s.note("FindInBatches", s.FindInBatches(&batch, 2, func(tx *gorm.DB, i int) error {
		s.note("batch", tx, i, append([]Post(nil), batch...))
		return nil
	}))
	for _, strength := range []string{"UPDATE", "SHARE"} {
		var locked Post
		s.note("Locking", s.Clauses(clause.Locking{Strength: strength}).First(&locked, "slug = ?", "c"), locked)
	}
	it, err := s.Model(&Post{}).Order("id").Rows()
	s.run.Note("Rows", err)
	if err == nil {
		types, err := it.ColumnTypes()
		s.run.Note("ColumnTypes", err)
		for _, column := range types {
			nullable, ok := column.Nullable()
			s.run.Note("column "+column.Name(), column.DatabaseTypeName(), column.ScanType().String(), nullable, ok)
		}
		for it.Next() {
			var p Post
			s.run.Note("ScanRows", s.ScanRows(it, &p), p)
		}
		s.run.Note("end of rows", it.Err(), it.Close())
	}
}
