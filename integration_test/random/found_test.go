package random

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"
)

// What random scripts have found, as they were printed.

func TestSeed5000110(t *testing.T) {
	same(t, &Script{
		Slots:    16,
		Counters: []Counter{{Table: "post", Columns: []string{"likes", "views", "amount"}, Touch: []string(nil)}},
		Setup: []string{
			"CREATE TABLE {db}.`post` (`likes` SMALLINT, `views` TINYINT UNSIGNED NOT NULL DEFAULT 0, `amount` INT(11) NOT NULL DEFAULT 0, `kind` ENUM('b', 'a', 'd', 'c') NOT NULL, `group` SMALLINT NOT NULL, `n` INT NULL, `title` VARCHAR(30) NULL DEFAULT 't', `x` INT NOT NULL DEFAULT 0, `y` INT NULL, PRIMARY KEY (`kind`, `group`), UNIQUE KEY u0 (`x`, `y`), KEY by_counter (`amount`)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
			"INSERT IGNORE INTO {db}.`post` (`likes`, `views`, `amount`, `kind`, `group`, `n`, `title`, `x`, `y`) VALUES (-7, 9, 0, 'a', 3, 4, 'A', 1, 3)",
		},
		Steps: []Step{
			{Do: "query", SQL: "SELECT q1.amount, COUNT(*) FROM {db}.post AS q1 LEFT JOIN {db}.post AS q2 ON q2.amount + q2.`likes` BETWEEN ? AND (q2.likes) % 7 WHERE (EXISTS (SELECT ABS(q1.`likes`) FROM (SELECT DISTINCT `likes` AS c0, q4.likes AS c1 FROM {db}.post AS q4) AS q3 WHERE q1.x IN (SELECT `amount` FROM {db}.post q5))) OR (COALESCE(q2.likes, q2.`views`) NOT IN (SELECT (?) % 7 FROM {db}.post q6 LEFT JOIN {db}.post q7 ON q7.`likes` IS NOT NULL)) GROUP BY q1.amount", Args: [][]any{{int64(1), int64(0)}}, Prepared: true},
			{Do: "exec", SQL: "UPDATE `{db}` . post SET post.LIKES = post.likes + ?, `post`.VIEWS=post.`views` + ? WHERE (post.kind = ?) AND `post`.`group` IN (?)", Args: [][]any{{int64(8), int64(1), "a", int64(3)}}},
			{Do: "query", SQL: "SELECT q1.amount, COUNT(*) FROM {db}.post AS q1 LEFT JOIN {db}.post AS q2 ON q2.amount + q2.`likes` BETWEEN ? AND (q2.likes) % 7 WHERE (EXISTS (SELECT ABS(q1.`likes`) FROM (SELECT DISTINCT `likes` AS c0, q4.likes AS c1 FROM {db}.post AS q4) AS q3 WHERE q1.x IN (SELECT `amount` FROM {db}.post q5))) OR (COALESCE(q2.likes, q2.`views`) NOT IN (SELECT (?) % 7 FROM {db}.post q6 LEFT JOIN {db}.post q7 ON q7.`likes` IS NOT NULL)) GROUP BY q1.amount", Args: [][]any{{int64(1), 0}}, Prepared: true},
		},
		Tables: []string{},
	})
}

func TestSeed15300001472(t *testing.T) {
	same(t, &Script{
		Slots:    1,
		Counters: []Counter{{Table: "order", Columns: []string{"likes", "views"}, Touch: []string(nil)}},
		Setup: []string{
			"CREATE TABLE {db}.`order` (`id` INT NOT NULL, `likes` INT NOT NULL DEFAULT 0, `views` DECIMAL(12,0) NOT NULL DEFAULT 0, `n` INT NULL, `title` VARCHAR(30) NULL DEFAULT 't', PRIMARY KEY (`id`), KEY by_counter (`views`), KEY by_n (n)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 PARTITION BY HASH (`id`) PARTITIONS 3",
		},
		Steps: []Step{
			{Do: "exec", SQL: `SET @@autocommit = 0`},
			{Do: "exec", SQL: "UPDATE `order` PARTITION (p0, p2) SET `order`.likes = IFNULL(`order`.`likes`,0)+8, views = `order`.views + 8 WHERE {db}.`order`.id = 4 # likes"},
			{Do: "exec", SQL: `SET TRANSACTION ISOLATION LEVEL READ COMMITTED`},
		},
		Tables: []string{},
	})
}

func TestSeed1795464113(t *testing.T) {
	same(t, &Script{
		Slots:    4,
		Late:     true,
		Counters: []Counter{{Table: "post", Columns: []string{"likes"}, Touch: []string{"seen"}}},
		Setup: []string{
			"CREATE TABLE {db}.`post` (`uid` VARCHAR(36) CHARACTER SET ascii NOT NULL, `likes` DECIMAL(12,0) NULL DEFAULT 0, `n` INT NULL, `title` VARCHAR(30) NULL DEFAULT 't', `slug` VARCHAR(20) NULL, `seen` DATETIME(6) NOT NULL DEFAULT '2020-01-01 00:00:00', PRIMARY KEY (`uid`), UNIQUE KEY u0 (`slug`), KEY by_counter (`likes`)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
		},
		Steps: []Step{
			{Do: "exec", SQL: `START TRANSACTION READ WRITE`},
			{Do: "query", SQL: "REPLACE INTO `post` (`uid`, `likes`, `n`, title, `slug`) VALUES (?, ?, ?, 'A', DEFAULT) RETURNING (SELECT MAX(q.`likes`) FROM `post` q) AS m", Args: [][]any{{sql.NullString{String: "00000000-0000-0000-0000-000000000001", Valid: true}, int64(6), uint64(2)}}},
			{Do: "exec", SQL: "INSERT post (uid, likes, `title`) VALUES (?, ?, ?), (?, ?, ?) ON DUPLICATE KEY UPDATE post.likes=`likes` + ?", Args: [][]any{{sql.NullString{String: "00000000-0000-0000-0000-000000000001", Valid: true}, int64(-9), "x?y", "6ccd780c-baba-1026-9564-5b8c656024dc", int64(8), "a ", int64(6)}}},
			{Do: "query", SQL: "SELECT DISTINCT T.`title` AS 'quoted' FROM post T WHERE likes >= ?", Args: [][]any{{int64(1)}}},
		},
		Tables: []string{},
	})
}

func TestSeed1795656584(t *testing.T) {
	same(t, &Script{
		Slots:    1,
		Counters: []Counter{{Table: "page_hits", Columns: []string{"likes"}, Touch: []string{"Last_At"}}},
		Setup: []string{
			"CREATE TABLE {db}.`page_hits` (`a` INT NOT NULL, `b` INT NOT NULL, `likes` BIGINT NOT NULL DEFAULT 0, `n` INT NULL, `title` VARCHAR(30) NULL DEFAULT 't', `Last_At` DATETIME(6) NULL, PRIMARY KEY (`a`, `b`)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
			"INSERT IGNORE INTO {db}.`page_hits` (`a`, `b`, `likes`, `n`, `title`) VALUES (3, 3, 9000000000000000001, 1, 'é')",
		},
		Steps: []Step{
			{Do: "exec", SQL: "UPDATE page_hits p SET `likes`=`likes` + (?), title = ? # likes", Args: [][]any{{float32(5), "a "}}, Prepared: true},
			{Do: "exec", SQL: "UPDATE page_hits p SET `likes`=`likes` + (?), title = ? # likes", Args: [][]any{{int64(4), "é"}}, Prepared: true},
		},
		Tables: []string{"page_hits"},
	})
}

func TestSeed1795655290(t *testing.T) {
	same(t, &Script{
		Slots:    2,
		Counters: []Counter{{Table: "hits", Columns: []string{"likes", "views"}, Touch: []string(nil)}},
		Setup: []string{
			"CREATE TABLE {db}.`hits` (`likes` TINYINT(1) NOT NULL, `views` TINYINT UNSIGNED NULL, `id` SMALLINT NOT NULL, `n` INT NULL, PRIMARY KEY (`id`)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
			"INSERT IGNORE INTO {db}.`hits` (`likes`, `views`, `id`, `n`) VALUES (4, 8, 5, 2)",
		},
		Steps: []Step{
			{Do: "exec", SQL: "UPDATE hits SET `likes` = likes - 1 WHERE id = 5"},
			{Do: "begin", ReadOnly: true},
			{Do: "query", SQL: "SELECT `views` FROM ({db}.hits AS p JOIN {db}.hits o ON p.n = o.n AND p.views IS NOT NULL) WHERE p.id = 99"},
		},
		Tables: []string{"hits"},
	})
}

// TestLeftPrepared proves that a part of a script which leaves a transaction prepared keeps no
// other from its databases: MySQL's DROP DATABASE waited for it for ever.
func TestLeftPrepared(t *testing.T) {
	s := &Script{
		Slots:    1,
		Counters: []Counter{{Table: "post", Columns: []string{"likes"}}},
		Setup:    []string{"CREATE TABLE {db}.post (id INT PRIMARY KEY, likes INT NOT NULL)", "INSERT INTO {db}.post VALUES (1, 0)"},
		Steps:    []Step{{Do: "exec", SQL: "XA START '{db}1'"}, {Do: "exec", SQL: "UPDATE post SET likes = 3"}, {Do: "exec", SQL: "XA END '{db}1'"}, {Do: "exec", SQL: "XA PREPARE '{db}1'"}},
	}
	eachServer(t, func(t *testing.T, r *Runner) {
		for range 2 {
			d, err := r.Compare(t.Context(), s)
			require.NoError(t, err)
			require.Nil(t, d, "%v", d)
		}
	})
}
