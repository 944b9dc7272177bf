// Gorm is a blog on GORM, with GORM's own idioms for counters. What makes it fast
// is one field of its configuration, DriverName, and the counters in the DSN.
//
//	mysql -e 'CREATE DATABASE blog'
//	cd examples/gorm && go run .   # or with a DSN like that below
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"sync"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	_ "github.com/countermysql/countermysql"
)

const defaultDSN = "root@tcp(127.0.0.1:3306)/blog?parseTime=true&counters=posts.likes,posts.views,tags.uses&counterCreateSlots=true"

// Post has two counters beside its text, and gorm.Model's times.
type Post struct {
	gorm.Model
	Title string `gorm:"size:100"`
	Likes int64
	Views uint64
}

// Tag counts how often it was used.
type Tag struct {
	Name string `gorm:"primaryKey;size:40"`
	Uses int64
}

func main() {
	dsn := defaultDSN
	if len(os.Args) > 1 {
		dsn = os.Args[1]
	}
	text, err := blog(context.Background(), dsn)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(text)
}

func blog(ctx context.Context, dsn string) (string, error) {
	db, err := gorm.Open(mysql.New(mysql.Config{DriverName: "countermysql", DSN: dsn}), &gorm.Config{})
	if err != nil {
		return "", err
	}
	pool, err := db.DB()
	if err != nil {
		return "", err
	}
	defer pool.Close()
	db = db.WithContext(ctx)
	if err := db.AutoMigrate(&Post{}, &Tag{}); err != nil {
		return "", err
	}
	post := Post{Title: "Hello, GORM"}
	if err := db.Create(&post).Error; err != nil {
		return "", err
	}
	errs := make(chan error, 8)
	var readers sync.WaitGroup
	for range cap(errs) {
		readers.Go(func() {
			for range 10 {
				if err := read(db, post.ID); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	readers.Wait()
	close(errs)
	if err := <-errs; err != nil {
		return "", err
	}
	if err := db.First(&post, post.ID).Error; err != nil {
		return "", err
	}
	var tag Tag
	if err := db.First(&tag, "name = ?", "go").Error; err != nil {
		return "", err
	}
	return fmt.Sprintf("%q: %d likes, %d views; tag %s: %d uses\n", post.Title, post.Likes, post.Views, tag.Name, tag.Uses), nil
}

// read counts a view by itself, and then a like and a tag in one transaction.
func read(db *gorm.DB, id uint) error {
	if err := db.Model(&Post{}).Where("id = ?", id).UpdateColumn("views", gorm.Expr("views + ?", 1)).Error; err != nil {
		return err
	}
	return db.Transaction(func(tx *gorm.DB) error {
		if err := tx.Model(&Post{}).Where("id = ?", id).Update("likes", gorm.Expr("likes + ?", 1)).Error; err != nil {
			return err
		}
		return tx.Clauses(clause.OnConflict{DoUpdates: clause.Assignments(map[string]any{"uses": gorm.Expr("uses + 1")})}).
			Create(&Tag{Name: "go", Uses: 1}).Error
	})
}
