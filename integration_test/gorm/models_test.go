package gorm_test

import (
	"time"

	"gorm.io/gorm"
)

// The counters of the models below.
const config = `
create_slots: true
tables:
  - table: authors
    counters: [articles]
  - table: posts
    counters: [likes, views, shares, comment_count]
    touch: [updated_at]
  - table: comments
    counters: [votes]
  - table: tags
    counters: [uses]
  - table: daily_hits
    counters: [hits, bytes]
  - table: wallets
    counters: [balance]
    read_own: snapshot
`

type Author struct {
	ID       uint
	Name     string `gorm:"size:64;uniqueIndex"`
	Articles int64  `gorm:"not null;default:0"`
	Posts    []Post
	Wallet   Wallet
}

type Post struct {
	gorm.Model
	AuthorID uint
	Author   *Author
	Slug     string `gorm:"size:64;uniqueIndex"`
	Title    string
	Likes    int
	Views    uint32 `gorm:"not null;default:0"`
	Shares   *int64
	Comments []Comment
	Tags     []Tag `gorm:"many2many:post_tags"`

	CommentCount int `gorm:"not null;default:0"`
}

type Comment struct {
	ID        uint
	PostID    uint
	Body      string
	Votes     int16     `gorm:"not null"`
	UpdatedAt time.Time // increments set it, and it becomes a touch column by that
}

// AfterCreate keeps the count as applications do, in the comment's transaction.
func (c *Comment) AfterCreate(tx *gorm.DB) error { return c.count(tx, 1) }

func (c *Comment) AfterDelete(tx *gorm.DB) error { return c.count(tx, -1) }

func (c *Comment) count(tx *gorm.DB, n int) error {
	return tx.Model(&Post{}).Where("id = ?", c.PostID).UpdateColumn("comment_count", gorm.Expr("comment_count + ?", n)).Error
}

type Tag struct {
	Name string `gorm:"primaryKey;size:32"`
	Uses int64  `gorm:"not null;default:0"`
}

// DailyHit is a counter of the kind that is upserted, by a composite key.
type DailyHit struct {
	Page  string `gorm:"primaryKey;size:32"`
	Day   int    `gorm:"primaryKey;autoIncrement:false"`
	Hits  int64  `gorm:"not null"`
	Bytes uint64 `gorm:"not null"`
	Title string
}

type Wallet struct {
	ID       uint
	AuthorID uint   `gorm:"uniqueIndex"`
	Balance  string `gorm:"type:decimal(20,2);not null;default:0.00"`
}

var models = []any{&Author{}, &Post{}, &Comment{}, &Tag{}, &DailyHit{}, &Wallet{}}
