package catalog

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// TestChangedBy pins which DDL through the driver has the schema read again, all or some
// tables of it: the counter tables are post and page, keyless page, and post has a parent
// that cascades.
func TestChangedBy(t *testing.T) {
	post := &Table{Spec: Spec{DB: "blog", Name: "post", SlotsTable: "post_slots"}, Key: []*Column{{Name: "id"}}}
	page := &Table{Spec: Spec{DB: "blog", Name: "page", SlotsTable: "page_slots"}}
	s := &Schema{Specs: []Spec{post.Spec, page.Spec, {DB: "blog", Name: "later", SlotsTable: "later_slots"}},
		Dependents: []Dependent{{DB: "forum", Name: "author", ForeignKey: true, Tables: []*Table{post}}, {DB: "blog", Name: "best", Kind: "view", Tables: []*Table{post}}}}
	s.Tables = map[string]*Table{s.Key("blog", "post"): post, s.Key("blog", "page"): page}
	s.Index()
	changed := func(s *Schema, text string) string {
		switch tables, changed := s.ChangedBy(sqltext.Tokenize(text, sqltext.Mode{}), text); {
		case !changed:
			return "no"
		case tables == nil:
			return "all"
		default:
			return strings.Join(tables, " ")
		}
	}
	for text, want := range map[string]string{
		"CREATE TABLE post_like (id INT, post INT, FOREIGN KEY (post) REFERENCES post (id))": "no",
		"CREATE TABLE IF NOT EXISTS `blog`.`postal` (id INT)":                                "no",
		"CREATE TABLE copy LIKE post":                                                        "no",
		"CREATE TABLE copy AS SELECT * FROM post":                                            "no",
		"CREATE OR REPLACE TABLE `post` (id INT)":                                            "post",
		"CREATE TABLE IF NOT EXISTS blog.POST_SLOTS (id INT)":                                "post_slots",
		"CREATE TABLE later (id INT)":                                                        "later",
		"CREATE TABLE author (id INT)":                                                       "all",
		`CREATE TABLE "post" (id INT)`:                                                       "post",
		"DROP TABLE post_like, post_tag":                                                     "no",
		"DROP TABLES IF EXISTS post_like, blog.post":                                         "post",
		"ALTER TABLE post_like ADD FOREIGN KEY (post) REFERENCES post (id)":                  "no",
		"ALTER TABLE post_like RENAME TO later":                                              "later",
		"ALTER TABLE part EXCHANGE PARTITION p WITH TABLE post":                              "post",
		"ALTER ONLINE TABLE post ADD COLUMN x INT":                                           "post",
		"ALTER TABLE author ADD COLUMN x INT":                                                "all",
		"ALTER TABLE post AUTO_INCREMENT = 1000":                                             "no",
		"ALTER TABLE IF EXISTS `blog`.`post` AUTO_INCREMENT 1000":                            "no",
		"ALTER TABLE post AUTO_INCREMENT = 1000, ADD COLUMN x INT":                           "post",
		"RENAME TABLE post_like TO post_likes":                                               "no",
		"RENAME TABLE post_like TO post_likes, new TO post":                                  "post",
		"CREATE UNIQUE INDEX post_id ON post_like (post_id)":                                 "no",
		"CREATE INDEX i ON post (id)":                                                        "post",
		"DROP INDEX i ON post":                                                               "post",
		"CREATE VIEW v AS SELECT * FROM post":                                                "all",
		"CREATE VIEW v AS SELECT * FROM best":                                                "all",
		"CREATE VIEW v AS SELECT * FROM other":                                               "no",
		"DROP VIEW best":                                                                     "all",
		"CREATE FUNCTION f() RETURNS INT RETURN (SELECT COUNT(*) FROM post)":                 "all",
		"CREATE TRIGGER g AFTER INSERT ON other FOR EACH ROW DELETE FROM post":               "all",
		"DROP TRIGGER g":                 "all",
		"CREATE DATABASE blog":           "no",
		"DROP DATABASE IF EXISTS `blog`": "all",
		"DROP SCHEMA forum":              "all",
		"DROP DATABASE test":             "no",
		"TRUNCATE TABLE post":            "no",
		"TRUNCATE page":                  "all",
		"CREATE TABLE x (id INT) /*!50100 ENGINE=InnoDB */":                                     "no",
		"CREATE TABLE /*!32312 IF NOT EXISTS */ post (id INT)":                                  "all",
		"ALTER TABLE /*!50000 post ADD COLUMN x INT, */ AUTO_INCREMENT = 5":                     "all",
		"DROP /*!50030 TRIGGER */ g":                                                            "all",
		"CREATE /*!50017 DEFINER=a@b */ TRIGGER g AFTER INSERT ON post FOR EACH ROW SET @x = 1": "all",
	} {
		require.Equal(t, want, changed(s, text), text)
	}
	require.Equal(t, "all", changed(nil, "DROP TABLE x"))
	page.Parents = []ForeignKey{{ParentDB: "blog", Parent: "author"}} // what that refers to may get another name
	require.Equal(t, "all", changed(s, "ALTER TABLE post RENAME COLUMN id TO x"))
	require.Equal(t, "post", changed(s, "CREATE TABLE post (id INT)"))
	require.Equal(t, "no", changed(s, "ALTER TABLE post_like ADD COLUMN x INT"))
}
