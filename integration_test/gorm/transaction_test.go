package gorm_test

import (
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/countermysql/countermysql/internal/twin"
)

func like(db *gorm.DB, id uint, n int) *gorm.DB {
	return db.Model(&Post{}).Where("id = ?", id).UpdateColumn("likes", gorm.Expr("likes + ?", n))
}

func TestTransactions(t *testing.T) {
	forEachMode(t, func(t *testing.T, s session) {
		anna, _ := seed(t, s)
		id, other := anna.Posts[0].ID, anna.Posts[1].ID
		read := func(tx *gorm.DB) {
			var posts []Post
			s.note("read", tx.Order("id").Find(&posts), posts)
		}
		failure := errors.New("failure")

		s.run.Note("commit", s.Transaction(func(tx *gorm.DB) error {
			s.note("like", like(tx, id, 1))
			s.note("like", like(tx, other, 2))
			s.note("missing", like(tx, 999, 2))
			read(tx)
			s.note("like", like(tx, id, 3))
			return nil
		}))
		s.run.Note("roll back", s.Transaction(func(tx *gorm.DB) error {
			s.note("like", like(tx, id, 1000))
			read(tx)
			return failure
		}))
		s.run.Note("nested", s.Transaction(func(tx *gorm.DB) error {
			s.note("outer", like(tx, id, 10))
			s.run.Note("inner fails", tx.Transaction(func(tx *gorm.DB) error {
				s.note("inner", like(tx, id, 100))
				s.note("inner", like(tx, other, 100))
				read(tx)
				return failure
			}))
			read(tx)
			s.run.Note("inner commits", tx.Transaction(func(tx *gorm.DB) error {
				s.note("inner", like(tx, other, 20))
				return nil
			}))
			return nil
		}))
		s.run.Note("panics", func() (err error) {
			defer func() { err = fmt.Errorf("panic: %v", recover()) }()
			return s.Transaction(func(tx *gorm.DB) error {
				like(tx, id, 1000)
				panic("in the transaction")
			})
		}())

		tx := s.Begin(&sql.TxOptions{Isolation: sql.LevelReadCommitted})
		s.note("begin", tx)
		s.note("like", like(tx, id, 1))
		s.note("SavePoint", tx.SavePoint("one"))
		s.note("like", like(tx, id, 10000))
		s.note("title", tx.Model(&Post{}).Where("id = ?", id).UpdateColumn("title", "lost"))
		s.note("SavePoint", tx.SavePoint("two"))
		s.note("like", like(tx, other, 10000))
		read(tx)
		s.note("RollbackTo", tx.RollbackTo("two"))
		read(tx)
		s.note("RollbackTo", tx.RollbackTo("one"))
		s.note("no such savepoint", tx.RollbackTo("two"))
		s.note("like", like(tx, other, 1))
		s.note("duplicate", tx.Create(&Post{Slug: "a", AuthorID: anna.ID}))
		s.note("commit", tx.Commit())
		s.note("commit again", tx.Commit())
		s.note("after", like(tx, id, 1))

		tx = s.Begin()
		s.note("like", like(tx, id, 1000))
		s.note("rollback", tx.Rollback())
		s.note("rollback again", tx.Rollback())

		tx = s.Begin(&sql.TxOptions{ReadOnly: true})
		s.note("read-only", like(tx, id, 1000))
		read(tx)
		s.note("rollback", tx.Rollback())

		s.run.Note("move money", s.Transaction(func(tx *gorm.DB) error {
			s.note("debit", tx.Model(&Wallet{}).Where("id = ? AND balance >= ?", anna.Wallet.ID, "5").UpdateColumn("balance", gorm.Expr("balance - ?", "5.00")))
			s.note("credit", tx.Model(&Wallet{}).Where("author_id = ?", 2).UpdateColumn("balance", gorm.Expr("balance + ?", "5.00")))
			var wallets []Wallet
			s.note("wallets", tx.Order("id").Find(&wallets), wallets)
			return nil
		}))
		s.run.Note("one connection", s.Connection(func(tx *gorm.DB) error {
			s.note("BEGIN", tx.Exec("BEGIN"))
			s.note("like", like(tx.Session(&gorm.Session{SkipDefaultTransaction: true}), id, 1))
			s.note("COMMIT", tx.Exec("COMMIT"))
			return nil
		}))
		read(s.DB)
	})
}

// TestMigration proves that AutoMigrate finds nothing to alter in tables whose
// counters it sees through the driver, and alters them when the model changes.
func TestMigration(t *testing.T) {
	forEachMode(t, func(t *testing.T, s session) {
		anna, _ := seed(t, s)
		s.note("like", like(s.DB, anna.Posts[0].ID, 1))
		altered := false
		again := s.Session(&gorm.Session{NewDB: true})
		require.NoError(t, again.Callback().Raw().Before("gorm:raw").Register("altered", func(*gorm.DB) { altered = true }))
		s.run.Note("a second time", again.AutoMigrate(models...))
		require.False(t, altered, "AutoMigrate altered tables that it had made itself")
		require.NoError(t, again.Callback().Raw().Remove("altered"))
		s.run.Note("renamed", s.Migrator().RenameColumn(&Comment{}, "body", "text"), s.Migrator().RenameColumn(&Comment{}, "text", "body"))
		type Post struct {
			gorm.Model
			AuthorID uint
			Slug     string `gorm:"size:64;uniqueIndex"`
			Title    string
			Subtitle string
			Likes    int64  `gorm:"not null;default:0"`
			Views    uint64 `gorm:"not null;default:0;comment:how many"`
			Shares   *int64
		}
		s.note("like", like(s.DB, anna.Posts[0].ID, 1))
		s.run.Note("another model", s.AutoMigrate(&Post{}))
		s.note("like", like(s.DB, anna.Posts[0].ID, 1))
		for _, model := range append(models, &Post{}) {
			types, err := s.Migrator().ColumnTypes(model)
			s.run.Note("ColumnTypes", err)
			for _, column := range types {
				kind, _ := column.ColumnType()
				length, ok := column.Length()
				precision, scale, decimal := column.DecimalSize()
				nullable, known := column.Nullable()
				initial, given := column.DefaultValue()
				s.run.Note("column "+column.Name(), kind, column.DatabaseTypeName(), length, ok, precision, scale, decimal, nullable, known, initial, given, column.ScanType().String())
			}
			s.run.Note("indexes", s.Migrator().HasIndex(model, "Slug"), s.Migrator().HasColumn(model, "likes"), s.Migrator().HasTable(model))
		}
		s.run.Note("dropped", s.Migrator().DropTable("post_tags", &Tag{}), s.Migrator().HasTable(&Tag{}))
		s.run.Note("made again", s.AutoMigrate(&Tag{}))
		s.note("create", s.Create(&Tag{Name: "go"}))
		s.note("count", s.Model(&Tag{}).Where("name = ?", "go").UpdateColumn("uses", gorm.Expr("uses + 1")))
		var tags []Tag
		s.note("tags", s.Find(&tags), tags)
	})
}

// TestConcurrency proves that no increment is lost or counted twice.
func TestConcurrency(t *testing.T) {
	const workers, rounds = 6, 25
	twin.Compare(t, func(t *testing.T, run *twin.Run) {
		s := open(t, run, gorm.Config{})
		anna, _ := seed(t, s)
		id := anna.Posts[0].ID
		db := s.quiet()
		var wg sync.WaitGroup
		errs := make([]error, workers)
		for w := range workers {
			wg.Go(func() {
				for range rounds {
					errs[w] = errors.Join(errs[w], like(db, id, 1).Error, db.Transaction(func(tx *gorm.DB) error {
						return errors.Join(
							like(tx, id, 1).Error,
							tx.Create(&Comment{PostID: id, Body: "liked"}).Error,
							tx.Model(&Tag{}).Where("name = ?", "go").UpdateColumn("uses", gorm.Expr("uses + 1")).Error)
					}))
				}
			})
		}
		wg.Wait()
		require.NoError(t, errors.Join(errs...))
		var post Post
		require.NoError(t, db.First(&post, id).Error)
		require.Equal(t, 5+2*workers*rounds, post.Likes)
		require.NoError(t, db.Delete(&Comment{}, "post_id = ?", id).Error) // their ids are in no order
	}, "parseTime=true")
}
