package gorm_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

func TestUpserts(t *testing.T) {
	forEachMode(t, func(t *testing.T, s session) {
		count := clause.OnConflict{DoUpdates: clause.Assignments(map[string]any{
			"hits":  gorm.Expr("hits + ?", 1),
			"bytes": gorm.Expr("bytes + VALUES(bytes)"),
		})}
		for i := range 4 {
			hit := DailyHit{Page: "home", Day: 20, Hits: 1, Bytes: uint64(100 + i)}
			s.note("count", s.Clauses(count).Create(&hit), hit)
		}
		hits := []DailyHit{{Page: "home", Day: 20, Hits: 1, Bytes: 9}, {Page: "home", Day: 21, Hits: 1, Bytes: 8}, {Page: "about", Day: 20, Hits: 1, Bytes: 7}}
		s.note("count many", s.Clauses(count).Create(&hits), hits)
		s.note("count many in batches", s.Clauses(count).CreateInBatches(&hits, 2), hits)
		title := DailyHit{Page: "home", Day: 20, Hits: 50, Title: "Home"}
		s.note("only the title", s.Clauses(clause.OnConflict{DoUpdates: clause.AssignmentColumns([]string{"title"})}).Create(&title), title)
		reset := DailyHit{Page: "home", Day: 21, Hits: 3}
		s.note("absolute", s.Clauses(clause.OnConflict{DoUpdates: clause.AssignmentColumns([]string{"hits"})}).Create(&reset), reset)
		nothing := DailyHit{Page: "home", Day: 21, Hits: 400}
		s.note("nothing", s.Clauses(clause.OnConflict{DoNothing: true}).Create(&nothing), nothing)
		all := DailyHit{Page: "about", Day: 20, Hits: 60, Title: "About"}
		s.note("all columns", s.Clauses(clause.OnConflict{UpdateAll: true}).Create(&all), all)
		again := DailyHit{Page: "about", Day: 20}
		s.note("duplicate", s.Create(&again))
		s.note("count after", s.Clauses(count).Create(&hits), hits)
		var read []DailyHit
		s.note("read", s.Order("hits DESC, page, day").Find(&read), read)
		var page DailyHit
		s.note("read one", s.First(&page, "page = ? AND day = ?", "home", 20), page)

		var tag Tag
		s.note("FirstOrCreate", s.Where(Tag{Name: "new"}).Attrs(Tag{Uses: 4}).FirstOrCreate(&tag), tag)
		s.note("count it", s.Model(&tag).UpdateColumn("uses", gorm.Expr("uses + 1")), tag)
		var found Tag
		s.note("FirstOrCreate of what is there", s.Where(Tag{Name: "new"}).Attrs(Tag{Uses: 9}).FirstOrCreate(&found), found)
		var assigned Tag
		s.note("FirstOrCreate with Assign", s.Where(Tag{Name: "new"}).Assign(map[string]any{"uses": 30}).FirstOrCreate(&assigned), assigned)
		s.note("count it again", s.Model(&tag).UpdateColumn("uses", gorm.Expr("uses + 1")), tag)
		saved := Tag{Name: "saved", Uses: 2}
		s.note("Save of a new one", s.Save(&saved), saved)
		s.note("count", s.Model(&saved).UpdateColumn("uses", gorm.Expr("uses + 1")))
		saved.Uses = 10
		s.note("Save of an old one", s.Save(&saved), saved)
		saved.Uses = 20
		s.note("Save of many", s.Save([]Tag{saved, {Name: "other"}}))
		s.note("count at last", s.Model(&Tag{}).Where("name IN ?", []string{"saved", "other", "none"}).UpdateColumn("uses", gorm.Expr("uses + 1")))

		// A unique key that is not the primary one, on a table with ids.
		post := Post{Slug: "x", AuthorID: author(t, s, "x"), Likes: 1}
		s.note("insert", s.Create(&post), post.ID)
		post2 := Post{Slug: "x", AuthorID: post.AuthorID, Likes: 1}
		s.note("upsert", s.Clauses(clause.OnConflict{DoUpdates: clause.Assignments(map[string]any{"likes": gorm.Expr("likes + 1")})}).Create(&post2))
		var p Post
		s.note("likes", s.First(&p, "slug = ?", "x"), p.Likes)
	})
}

func author(t *testing.T, s session, name string) uint {
	a := Author{Name: name}
	require.NoError(t, s.Create(&a).Error)
	return a.ID
}

func TestAssociations(t *testing.T) {
	forEachMode(t, func(t *testing.T, s session) {
		anna, ben := seed(t, s)
		post := &anna.Posts[0]
		s.note("like", s.Model(post).UpdateColumn("likes", gorm.Expr("likes + 1")))
		s.note("use", s.Model(&Tag{}).Where("name = ?", "go").UpdateColumn("uses", gorm.Expr("uses + 1")))

		s.run.Note("append", s.Model(post).Association("Tags").Append(&Tag{Name: "go"}, &Tag{Name: "new", Uses: 1}))
		s.run.Note("count", s.Model(post).Association("Tags").Count())
		var tags []Tag
		s.run.Note("find", s.Model(post).Order("tags.uses DESC, tags.name").Association("Tags").Find(&tags), tags)
		s.run.Note("replace", s.Model(post).Association("Tags").Replace(&Tag{Name: "sql"}))
		s.run.Note("delete", s.Model(&ben.Posts[0]).Association("Tags").Delete(&Tag{Name: "go"}))
		s.run.Note("clear", s.Model(post).Association("Tags").Clear())
		s.run.Note("append comments", s.Model(post).Association("Comments").Append(&Comment{Body: "third", Votes: 1}))
		s.note("vote", s.Model(&Comment{}).Where("post_id = ?", post.ID).UpdateColumn("votes", gorm.Expr("votes + 1")))
		s.note("vote by key", s.Model(&post.Comments[1]).UpdateColumn("votes", gorm.Expr("votes + 5")))
		s.note("own posts", s.Model(&Author{}).Where("id = ?", anna.ID).UpdateColumn("articles", gorm.Expr("articles + ?", 1)))

		anna.Posts[1].Title = "full"
		s.note("full save", s.Session(&gorm.Session{FullSaveAssociations: true}).Save(&anna), anna)
		s.note("like", s.Model(post).UpdateColumn("likes", gorm.Expr("likes + 1")))
		s.note("move", s.Model(post).Updates(map[string]any{"author_id": ben.ID, "likes": gorm.Expr("likes + 1")}))
		s.note("nested create", s.Create(&Author{Name: "carl", Posts: []Post{{Slug: "z", Likes: 3, Tags: []Tag{{Name: "go", Uses: 100}}}}}))
		s.note("delete with", s.Unscoped().Select("Tags").Delete(&ben.Posts[0]))
		reads(s)
	})
}
