package harness

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
)

const Blog = `
CREATE TABLE author (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL);
CREATE TABLE post (id INT PRIMARY KEY, slug VARCHAR(20) NOT NULL UNIQUE, title VARCHAR(30) NOT NULL DEFAULT '', author INT,
  likes INT NOT NULL DEFAULT 0, views BIGINT UNSIGNED NOT NULL DEFAULT 0,
  FOREIGN KEY (author) REFERENCES author (id) ON DELETE SET NULL ON UPDATE CASCADE);
CREATE TABLE page (day DATE NOT NULL, name VARCHAR(20) NOT NULL, hits INT NULL DEFAULT 0, PRIMARY KEY (day, name));
CREATE TABLE note (id INT PRIMARY KEY, body VARCHAR(20) NOT NULL);
`

const blogRows = `
DELETE FROM post;
DELETE FROM author;
DELETE FROM page;
DELETE FROM note;
INSERT INTO page VALUES ('2026-01-01', 'home', 0), ('2026-01-01', 'about', NULL), ('2026-01-02', 'home', 3);
INSERT INTO author VALUES (1, 'ann'), (2, 'bob');
INSERT INTO post VALUES (1, 'a', '', 1, 5, 0), (2, 'b', 'second', 2, 7, 0), (3, 'c', 'third', 2, 0, 0);
`

func NewBlog(t *testing.T, srv *testserver.Server, config *countermysql.Config, params ...string) *Twin {
	t.Helper()
	tw := NewTwin(t, srv, Blog, config, params...)
	tw.Reset(t)
	return tw
}

func BlogCounters() *countermysql.Config {
	return &countermysql.Config{Tables: []countermysql.TableConfig{
		{Table: "post", Counters: []string{"likes", "views"}},
		{Table: "page", Counters: []string{"hits"}},
	}}
}

// Reset fills the blog: post 1 has 10 likes, post 2 has 9. In our database some
// of them are in slots.
func (tw *Twin) Reset(t *testing.T) {
	t.Helper()
	fill := func(db *sql.DB, more string) {
		tx, err := db.Begin()
		require.NoError(t, err)
		defer tx.Rollback()
		for _, stmt := range strings.Split(strings.TrimSpace(blogRows+more), ";\n") {
			Affected(t, tx, stmt)
		}
		require.NoError(t, tx.Commit())
	}
	fill(tw.Plain, "UPDATE post SET likes = likes + 5 WHERE id = 1;\nUPDATE post SET likes = likes + 2 WHERE id = 2")
	fill(tw.Direct, "DELETE FROM post_slots;\nDELETE FROM page_slots;\nINSERT INTO post_slots (id, slot, likes) VALUES (1, 3, 4), (1, 9, 1), (2, 0, 2)")
}

const Articles = `
CREATE TABLE blog (id INT PRIMARY KEY, posts INT NOT NULL DEFAULT 0, words BIGINT NULL DEFAULT 0, changed TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP);
INSERT INTO blog (id, changed) VALUES (1, '2020-02-02'), (2, '2020-02-02'), (3, '2020-02-02'), (4, '2020-02-02'), (5, '2020-02-02');
CREATE TABLE article (id BIGINT PRIMARY KEY AUTO_INCREMENT, blog INT NOT NULL, words INT NOT NULL, INDEX (blog))`

var ArticleCounters = &countermysql.Config{Slots: 4, Tables: []countermysql.TableConfig{{
	Table: "blog", Counters: []string{"posts", "words"},
	Recount: map[string]string{"posts": "SELECT blog, COUNT(*) FROM article GROUP BY blog", "words": "SELECT blog, SUM(words) FROM article GROUP BY blog;"},
}}}

// Write adds an article and counts it in one transaction.
func Write(ctx context.Context, db *sql.DB, blog, words int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "INSERT INTO article (blog, words) VALUES (?, ?)", blog, words); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE blog SET posts = posts + 1, words = words + ? WHERE id = ?", words, blog); err != nil {
		return err
	}
	return tx.Commit()
}

const Shop = `
CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL DEFAULT '', owner INT NULL, stock INT NOT NULL DEFAULT 0, sold DECIMAL(20,2) NULL);
INSERT INTO item (id) VALUES (1), (2), (3)`

// OnTables leaves out what is said of the server, which is not ours to choose.
func OnTables(findings []countermysql.Finding) (some []countermysql.Finding) {
	for _, f := range findings {
		if f.Table != "" {
			some = append(some, f)
		}
	}
	return some
}

const Crowded = `
CREATE TABLE item (id INT PRIMARY KEY, slug VARCHAR(20) COLLATE utf8mb4_general_ci NULL UNIQUE, state CHAR(4) NOT NULL DEFAULT 'open', deleted_at DATETIME NULL,
 n INT NOT NULL DEFAULT 100000, m BIGINT NULL DEFAULT 0, d DECIMAL(12,2) NOT NULL DEFAULT 0, u INT UNSIGNED NOT NULL DEFAULT 0);
INSERT INTO item (id, slug) VALUES (1, 'a'), (2, 'b'), (3, 'ccc'), (4, _utf8mb4 X'C384726765'), (5, 'it''s'), (6, CONCAT('x', CHAR(92), 'y')), (7, NULL), (-8, 'neg'), (2147483647, 'max');
INSERT INTO item (id, slug, state, deleted_at, m) VALUES (10, 'gone', 'shut', '2020-01-01', 0), (11, 'null', 'open', NULL, NULL);
CREATE TABLE page (day DATE NOT NULL, name VARCHAR(20) COLLATE utf8mb4_general_ci NOT NULL, hits INT NOT NULL DEFAULT 0, PRIMARY KEY (day, name));
INSERT INTO page (day, name) VALUES (CURRENT_DATE, 'home'), ('2026-01-02', 'home'), ('2026-01-02', 'about');
CREATE TABLE word (w VARBINARY(20) PRIMARY KEY, n INT NOT NULL DEFAULT 0);
INSERT INTO word (w) VALUES ('a'), ('A'), ('a '), (X'00FF'), (X'C3A9');
CREATE TABLE big (id BIGINT UNSIGNED PRIMARY KEY, n INT NOT NULL DEFAULT 0);
INSERT INTO big (id) VALUES (1), (9007199254740993), (9223372036854775807), (9223372036854775808), (18446744073709551615);
CREATE TABLE seen (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0, title VARCHAR(20) NOT NULL DEFAULT '', at DATETIME(3) NULL, ts TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP);
INSERT INTO seen (id) VALUES (1), (2), (3);
`

func CrowdedCounters() *countermysql.Config {
	return &countermysql.Config{Tables: []countermysql.TableConfig{
		{Table: "item", Counters: []string{"n", "m", "d", "u"}},
		{Table: "page", Counters: []string{"hits"}},
		{Table: "word", Counters: []string{"n"}},
		{Table: "big", Counters: []string{"n"}},
		{Table: "seen", Counters: []string{"n"}, Touch: []string{"at"}},
	}}
}

// The zone Berlin, as far as one autumn goes: at 1:00 UTC on 25 October 2026 its
// clocks go from 3:00 back to 2:00.
const Berlin = `
INSERT INTO mysql.time_zone (Time_zone_id, Use_leap_seconds) VALUES (1, 'N');
INSERT INTO mysql.time_zone_name (Name, Time_zone_id) VALUES ('Berlin', 1);
INSERT INTO mysql.time_zone_transition_type VALUES (1, 0, 7200, 1, 'CEST'), (1, 1, 3600, 0, 'CET');
INSERT INTO mysql.time_zone_transition (Time_zone_id, Transition_time, Transition_type_id) VALUES (1, 1774746000, 0), (1, 1792890000, 1)`

// WithoutWriting opens a database as a user who may write to every table but one.
func (tw *Twin) WithoutWriting(t *testing.T, user string, db *sql.DB, but string) *sql.DB {
	t.Helper()
	direct := tw.DirectTo(db)
	var name string
	require.NoError(t, direct.QueryRow("SELECT DATABASE()").Scan(&name))
	host := "'" + user + "'@'127.0.0.1'"
	Affected(t, direct, "CREATE USER IF NOT EXISTS "+host+" IDENTIFIED BY 'secret'")
	t.Cleanup(func() {
		_, err := direct.Exec("DROP USER IF EXISTS " + host)
		require.NoError(t, err)
	})
	Affected(t, direct, "GRANT SELECT ON "+name+".* TO "+host)
	for _, table := range QueriedList(t, direct, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()") {
		if table != but {
			Affected(t, direct, "GRANT INSERT, UPDATE, DELETE ON "+name+"."+table+" TO "+host)
		}
	}
	cfg, err := mysql.ParseDSN(tw.srv.DSN(name))
	require.NoError(t, err)
	cfg.User, cfg.Passwd = user, "secret"
	if db == tw.Plain {
		return Open(t, cfg.FormatDSN())
	}
	as, _ := OpenOurs(t, cfg.FormatDSN(), tw.Config)
	return as
}

const Board = `
CREATE TABLE author (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL DEFAULT '');
INSERT INTO author (id) VALUES (1), (2);
CREATE TABLE post (id INT PRIMARY KEY, author INT NOT NULL, likes INT NOT NULL DEFAULT 0, KEY (likes), KEY (author));
INSERT INTO post (id, author, likes) VALUES (1, 1, 0), (2, 2, 5), (3, 1, 10), (4, 2, 15), (5, 1, 20);
`

// Restored is a copy of some tables of our database and of its triggers under another name, as a dump
// makes it: by the statements that the server shows.
func (tw *Twin) Restored(t *testing.T, tables ...string) (copied *sql.DB, dsn string, triggers int) {
	t.Helper()
	database := QueriedValue(t, tw.Direct, "SELECT DATABASE()")
	dsn = tw.srv.DSN(NewDatabase(t, tw.srv))
	copied = Open(t, dsn)
	for _, table := range tables {
		Affected(t, copied, "CREATE TABLE "+table+" LIKE "+database+"."+table)
		Affected(t, copied, "INSERT INTO "+table+" SELECT * FROM "+database+"."+table)
	}
	for _, name := range QueriedList(t, tw.Direct, "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE() ORDER BY TRIGGER_NAME") {
		rows, err := tw.Direct.QueryContext(t.Context(), "SHOW CREATE TRIGGER `"+name+"`")
		require.NoError(t, err)
		columns, err := rows.Columns()
		require.NoError(t, err)
		require.True(t, rows.Next())
		shown := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range shown {
			into[i] = &shown[i]
		}
		require.NoError(t, rows.Scan(into...))
		require.NoError(t, rows.Close())
		Affected(t, copied, shown[2].String)
		triggers++
	}
	return copied, dsn, triggers
}
