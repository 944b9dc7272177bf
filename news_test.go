package countermysql

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestChangedBy pins which DDL through the driver has the schema read again: the counter
// tables are post and page, keyless page, and post has a parent that cascades.
func TestChangedBy(t *testing.T) {
	post := &table{spec: tableSpec{db: "blog", name: "post", slotsTable: "post_slots"}, key: []*column{{name: "id"}}}
	page := &table{spec: tableSpec{db: "blog", name: "page", slotsTable: "page_slots"}}
	s := &schema{specs: []tableSpec{post.spec, page.spec, {db: "blog", name: "later", slotsTable: "later_slots"}},
		dependents: []dependent{{db: "forum", name: "author", foreignKey: true, tables: []*table{post}}, {db: "blog", name: "best", kind: "view", tables: []*table{post}}}}
	s.tables = map[string]*table{s.key("blog", "post"): post, s.key("blog", "page"): page}
	s.index()
	for text, want := range map[string]bool{
		"CREATE TABLE post_like (id INT, post INT, FOREIGN KEY (post) REFERENCES post (id))": false,
		"CREATE TABLE IF NOT EXISTS `blog`.`postal` (id INT)":                                false,
		"CREATE TABLE copy LIKE post":                                                        false,
		"CREATE TABLE copy AS SELECT * FROM post":                                            false,
		"CREATE OR REPLACE TABLE `post` (id INT)":                                            true,
		"CREATE TABLE IF NOT EXISTS blog.POST_SLOTS (id INT)":                                true,
		"CREATE TABLE later (id INT)":                                                        true,
		"CREATE TABLE author (id INT)":                                                       true,
		`CREATE TABLE "post" (id INT)`:                                                       true,
		"DROP TABLE post_like, post_tag":                                                     false,
		"DROP TABLES IF EXISTS post_like, blog.post":                                         true,
		"ALTER TABLE post_like ADD FOREIGN KEY (post) REFERENCES post (id)":                  false,
		"ALTER TABLE post_like RENAME TO later":                                              true,
		"ALTER TABLE part EXCHANGE PARTITION p WITH TABLE post":                              true,
		"ALTER ONLINE TABLE post ADD COLUMN x INT":                                           true,
		"ALTER TABLE author ADD COLUMN x INT":                                                true,
		"RENAME TABLE post_like TO post_likes":                                               false,
		"RENAME TABLE post_like TO post_likes, new TO post":                                  true,
		"CREATE UNIQUE INDEX post_id ON post_like (post_id)":                                 false,
		"CREATE INDEX i ON post (id)":                                                        true,
		"DROP INDEX i ON post":                                                               true,
		"CREATE VIEW v AS SELECT * FROM post":                                                true,
		"CREATE VIEW v AS SELECT * FROM best":                                                true,
		"CREATE VIEW v AS SELECT * FROM other":                                               false,
		"DROP VIEW best":                                                                     true,
		"CREATE FUNCTION f() RETURNS INT RETURN (SELECT COUNT(*) FROM post)":                 true,
		"CREATE TRIGGER g AFTER INSERT ON other FOR EACH ROW DELETE FROM post":               true,
		"DROP TRIGGER g":                 true,
		"CREATE DATABASE blog":           false,
		"DROP DATABASE IF EXISTS `blog`": true,
		"DROP SCHEMA forum":              true,
		"DROP DATABASE test":             false,
		"TRUNCATE TABLE post":            false,
		"TRUNCATE page":                  true,
		"CREATE TABLE x (id INT) /*!50100 ENGINE=InnoDB */":                                     false,
		"CREATE TABLE /*!32312 IF NOT EXISTS */ post (id INT)":                                  true,
		"DROP /*!50030 TRIGGER */ g":                                                            true,
		"CREATE /*!50017 DEFINER=a@b */ TRIGGER g AFTER INSERT ON post FOR EACH ROW SET @x = 1": true,
	} {
		require.Equal(t, want, s.changedBy(tokenize(text, lexMode{}), text), text)
	}
	require.True(t, (*schema)(nil).changedBy(tokenize("DROP TABLE x", lexMode{}), "DROP TABLE x"))
}
