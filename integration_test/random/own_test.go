package random

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// eachServer calls f with a runner for each server.
func eachServer(t *testing.T, f func(t *testing.T, r *Runner)) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		r, err := NewRunner(fmt.Sprintf("own_%d", os.Getpid()), srv.DSN)
		require.NoError(t, err)
		defer func() { require.NoError(t, r.Close()) }()
		r.MariaDB = harness.MariaDB(srv)
		f(t, r)
	})
}

// same requires that a script makes no difference, on either server.
func same(t *testing.T, s *Script) {
	t.Helper()
	eachServer(t, func(t *testing.T, r *Runner) {
		d, err := r.Compare(t.Context(), s)
		require.NoError(t, err)
		require.Nil(t, d, "%v", d)
	})
}

// withIDs is a script on a table that makes ids. The next one is 6.
func withIDs(queries ...string) *Script {
	s := &Script{
		Slots: 4, Counters: []Counter{{Table: "post", Columns: []string{"likes"}}}, Tables: []string{"post"},
		Setup: []string{
			"CREATE TABLE {db}.`post` (id INT AUTO_INCREMENT PRIMARY KEY, slug VARCHAR(9) NULL, likes INT NOT NULL DEFAULT 0, UNIQUE KEY (slug), KEY (likes))",
			"INSERT INTO {db}.post (id, slug) VALUES (1, 'a'), (5, 'b')",
		},
	}
	for _, q := range queries {
		do := "exec"
		if q[:6] == "SELECT" {
			do = "query"
		}
		s.Steps = append(s.Steps, Step{Do: do, SQL: q})
	}
	return s
}

const (
	named   = "INSERT IGNORE INTO post (id, slug) VALUES (6, 'a')" // the next id, but not the slug
	upsert  = "INSERT INTO post (id, slug) VALUES (6, 'a') ON DUPLICATE KEY UPDATE likes = 3"
	first   = "SELECT id, likes FROM post ORDER BY likes DESC, id DESC LIMIT 1" // countermysql opens post twice
	counted = "UPDATE post SET likes = likes + 1 WHERE id = 5"                  // so that there are slots
	made    = "INSERT INTO post (slug) VALUES ('d')"
)

// TestReopening proves that on plain MySQL, and not on MariaDB, the next id
// depends on whether a table has been opened anew.
func TestReopening(t *testing.T) {
	eachServer(t, func(t *testing.T, r *Runner) {
		for _, write := range []string{named, upsert} {
			x, err := r.prepare(t.Context(), withIDs(), plains)
			require.NoError(t, err)
			id := func(between string, want int64) {
				require.Zero(t, x.do(t.Context(), Step{Do: "exec", SQL: "DELETE FROM post WHERE id > 5"}, nil).err)
				require.Zero(t, x.do(t.Context(), Step{Do: "exec", SQL: "ALTER TABLE post AUTO_INCREMENT = 6"}, nil).err)
				require.Zero(t, x.do(t.Context(), Step{Do: "exec", SQL: write}, nil).err)
				require.Zero(t, x.do(t.Context(), Step{Do: "query", SQL: between}, nil).err)
				require.Equal(t, want, x.do(t.Context(), Step{Do: "exec", SQL: made}, nil).id, "%s; %s", write, between)
			}
			more := int64(7)
			if r.MariaDB {
				more = 6
			}
			id("SELECT * FROM post", 6)
			id("SELECT * FROM post JOIN post p", more)
			id("SELECT * FROM post", 6)
			id("FLUSH TABLES post", more)
			x.close()
		}
	})
}

// forgets reports whether it is a MariaDB before version 11.
func forgets(t *testing.T, r *Runner) (is bool) {
	require.NoError(t, r.admin.QueryRowContext(t.Context(), "SELECT VERSION() LIKE '10.%MariaDB%'").Scan(&is))
	return is
}

// TestForgottenPartitions proves that MariaDB 10, and not MySQL, forgets rows that an
// UPDATE gives other keys after one that named a partition, and that this is let pass.
func TestForgottenPartitions(t *testing.T) {
	eachServer(t, func(t *testing.T, r *Runner) {
		for _, open := range []string{"DO 1", "FLUSH TABLES post"} {
			var found []int64
			for _, partition := range []string{"p0", "p1", "p2"} {
				s := &Script{
					Slots: 4, Counters: []Counter{{Table: "post", Columns: []string{"likes"}}}, Tables: []string{"post"},
					Setup: []string{
						"CREATE TABLE {db}.`post` (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0) PARTITION BY HASH (id) PARTITIONS 3",
						"INSERT INTO {db}.post (id) VALUES (1)",
					},
					Steps: []Step{
						{Do: "exec", SQL: "UPDATE post PARTITION (" + partition + ") SET likes = likes + 1 WHERE id = 3"},
						{Do: "exec", SQL: open},
						{Do: "exec", SQL: "UPDATE post SET id = 7, likes = likes - 4 WHERE id IN (1, 2, 3, 4)"},
					},
				}
				x, err := r.prepare(t.Context(), s, plains)
				require.NoError(t, err)
				for _, step := range s.Steps {
					found = append(found, x.do(t.Context(), step, nil).affected)
				}
				x.close()
				d, err := r.Compare(t.Context(), s)
				require.NoError(t, err)
				require.Nil(t, d)
			}
			require.Equal(t, forgets(t, r) && open == "DO 1", slices.Contains([]int64{found[2], found[5], found[8]}, 0), "%v", found)
			require.Equal(t, forgets(t, r) && open == "DO 1", r.Own > 0)
			r.Own = 0
		}
	})
}

// TestForgottenDuplicates proves the same of two rows that get the same key.
func TestForgottenDuplicates(t *testing.T) {
	eachServer(t, func(t *testing.T, r *Runner) {
		for range 3 {
			d, err := r.Compare(t.Context(), &Script{
				Slots: 4, Counters: []Counter{{Table: "post", Columns: []string{"likes"}}}, Tables: []string{"post"},
				Setup: []string{
					"CREATE TABLE {db}.`post` (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0) PARTITION BY HASH (id) PARTITIONS 3",
					"INSERT INTO {db}.post (id) VALUES (5), (2)",
				},
				Steps: []Step{
					{Do: "exec", SQL: "UPDATE post PARTITION (p1) SET likes = likes + 1 WHERE id = 6"},
					{Do: "exec", SQL: "UPDATE post SET id = 5, likes = likes + 1 WHERE id IN (2, 5, 6)"},
				},
			})
			require.NoError(t, err)
			require.Nil(t, d)
		}
		require.Equal(t, forgets(t, r), r.Own == 3, "%d", r.Own)
	})
}

// TestContradictions proves that MariaDB, and not MySQL, answers some queries on a table
// otherwise than on a view of all its rows, and that this is let pass.
func TestContradictions(t *testing.T) {
	eachServer(t, func(t *testing.T, r *Runner) {
		s := &Script{
			Slots: 4, Counters: []Counter{{Table: "post", Columns: []string{"likes"}}}, Tables: []string{"post"},
			Setup: []string{
				"CREATE TABLE {db}.`post` (id INT PRIMARY KEY, likes INT NOT NULL)", "INSERT INTO {db}.post VALUES (2, 3)",
				"CREATE TABLE {db}.note (id INT PRIMARY KEY, likes INT NOT NULL)", "INSERT INTO {db}.note VALUES (2, 3)",
			},
			Steps: []Step{{Do: "exec", SQL: "UPDATE post SET likes = likes + 1 WHERE id = 2"}, {Do: "exec", SQL: "UPDATE post SET likes = likes - 1 WHERE id = 2"}, {Do: "query", SQL: "SELECT (SELECT COUNT(*) FROM note q1 WHERE (SELECT MAX(likes) FROM post q2) <= SOME (SELECT MIN(likes) FROM post q3" +
				" WHERE (q3.likes, q1.likes) IN (SELECT q1.id, q4.likes FROM post q4 WHERE q3.likes <> q3.likes)))"}}, // <= SOME (NULL)
		}
		for _, k := range []kind{viewing, computing} {
			x, err := r.prepare(t.Context(), s, plains)
			require.NoError(t, err)
			defer x.close()
			first := func(q string) []string { return x.do(t.Context(), Step{Do: "query", SQL: q}, nil).values[0] }
			ofTable := first(s.Steps[2].SQL)[0]
			require.Equal(t, r.MariaDB, ofTable == "int64 1", ofTable)
			require.NoError(t, x.view(t.Context(), s, k))
			require.Equal(t, []string{"int64 2", "int64 3"}, first("SELECT * FROM post"))
			if k == viewing {
				require.Equal(t, "int64 0", first(s.Steps[2].SQL)[0])
			}
		}

		d, err := r.Compare(t.Context(), s)
		require.NoError(t, err)
		require.Nil(t, d)
		require.Equal(t, r.MariaDB, r.Own == 1)

		few := *s
		few.Steps = []Step{{Do: "query", SQL: "SELECT 1"}}
		require.False(t, r.owned(t.Context(), &few, &Difference{Kind: "rows", Plain: "int64 1", Ours: "int64 2"}))
		require.False(t, r.owned(t.Context(), s, &Difference{Kind: "rows", Plain: "int64 1", Ours: "int64 2"}), "neither on views")
	})
}

// TestFirstExecution proves that MySQL, and not MariaDB, finds no row of a partitioned table
// by a list of rows the first time that a prepared statement is executed, and that this is
// let pass.
func TestFirstExecution(t *testing.T) {
	eachServer(t, func(t *testing.T, r *Runner) {
		query := "SELECT * FROM post WHERE (day, page) IN ((?, ?), (?, ?)) LOCK IN SHARE MODE"
		find := func(page string) Step {
			return Step{Do: "query", SQL: query, Args: [][]any{{"2026-01-04", "b", "2026-01-04", page}}, Prepared: true}
		}
		s := &Script{
			Slots: 4, Counters: []Counter{{Table: "post", Columns: []string{"likes"}}}, Tables: []string{"post"},
			Setup: []string{
				"CREATE TABLE {db}.`post` (likes INT NOT NULL, day DATE NOT NULL, page VARCHAR(20) NOT NULL, PRIMARY KEY (day, page)) PARTITION BY KEY () PARTITIONS 3",
				"INSERT INTO {db}.post VALUES (4, '2026-01-04', 'b')",
			},
			Steps: []Step{find("b"), {Do: "exec", SQL: "BEGIN"}, find("b")},
		}
		x, err := r.prepare(t.Context(), s, plains)
		require.NoError(t, err)
		defer x.close()
		for i := range 2 {
			found := x.do(t.Context(), s.Steps[0], s.Steps[0].Args[0])
			require.Equal(t, r.MariaDB || i > 0, len(found.values) == 1, "%v", found)
		}
		d, err := r.Compare(t.Context(), s)
		require.NoError(t, err)
		require.Nil(t, d)
		require.Equal(t, !r.MariaDB, r.Own == 1)
	})
}

// TestWrittenContradiction proves that rows are let pass which plain MariaDB writes wrong, and
// with views otherwise, too: it takes 0 for one of (1).
func TestWrittenContradiction(t *testing.T) {
	eachServer(t, func(t *testing.T, r *Runner) {
		s := &Script{
			Slots: 4, Counters: []Counter{{Table: "post", Columns: []string{"likes", "amount"}}}, Tables: []string{"note", "post"},
			Setup: []string{
				"CREATE TABLE {db}.post (likes INT NOT NULL DEFAULT 5, amount INT, id INT PRIMARY KEY)", "INSERT INTO {db}.post VALUES (7, 0, 1)",
				"CREATE TABLE {db}.hits (id INT PRIMARY KEY)", "CREATE TABLE {db}.votes (id INT PRIMARY KEY)",
				"CREATE TABLE {db}.note (id INT PRIMARY KEY, n INT, likes INT)", "INSERT INTO {db}.note VALUES (3, 1, 5)",
			},
			Steps: []Step{
				{Do: "exec", SQL: "UPDATE post SET likes = likes + 1 WHERE id = 1"},
				{Do: "exec", SQL: "UPDATE note SET likes = (SELECT COUNT(DISTINCT q1.n) FROM {db}.note q1 WHERE (SELECT MAX(amount) FROM {db}.post q2) NOT IN (SELECT COUNT(*) FROM {db}.post AS q3 LEFT JOIN {db}.hits AS q4 ON q1.id > q1.n WHERE q3.likes NOT IN (SELECT q3.likes FROM {db}.votes AS q5 WHERE q5.id = q1.n))) WHERE id = 3"},
				{Do: "exec", SQL: "UPDATE post SET likes = likes + 1 WHERE id = 1"},
			},
		}
		d, err := r.Compare(t.Context(), s)
		require.NoError(t, err)
		require.Nil(t, d)
		require.Equal(t, r.MariaDB, r.Own == 1)
	})
}

// TestFractions proves that rows are let pass which MySQL finds in a copy by a time with more digits.
func TestFractions(t *testing.T) {
	eachServer(t, func(t *testing.T, r *Runner) {
		d, err := r.Compare(t.Context(), &Script{
			Slots: 4, Counters: []Counter{{Table: "post", Columns: []string{"likes"}}}, Tables: []string{"post"},
			Setup: []string{"CREATE TABLE {db}.post (at DATETIME PRIMARY KEY, likes INT NOT NULL DEFAULT 5)", "INSERT INTO {db}.post (at) VALUES ('2026-01-01'), ('2026-01-02')"},
			Steps: []Step{
				{Do: "exec", SQL: "UPDATE post SET likes = likes + 1 WHERE at = '2026-01-02'"},
				{Do: "query", SQL: "SELECT likes, COUNT(*) FROM post WHERE at = ? GROUP BY likes WITH ROLLUP", Args: [][]any{{time.Date(2026, 1, 1, 0, 0, 0, 250_000_000, time.UTC)}}},
			},
		})
		require.NoError(t, err)
		require.Nil(t, d)
		require.Equal(t, !r.MariaDB, r.Own == 1)
	})
}

// TestDigitsOfFloats proves that numbers are let pass which lose digits on plain MySQL, as a
// parameter was a floating-point one in an earlier call; read behind it, or at the end.
func TestDigitsOfFloats(t *testing.T) {
	eachServer(t, func(t *testing.T, r *Runner) {
		s := &Script{
			Slots: 4, Counters: []Counter{{Table: "post", Columns: []string{"likes"}}}, Tables: []string{"post"},
			Setup: []string{"CREATE TABLE {db}.post (likes BIGINT UNSIGNED NOT NULL, id INT PRIMARY KEY)", "INSERT INTO {db}.post VALUES (18000000000000000001, 1)"},
			Steps: []Step{
				{Do: "exec", SQL: "UPDATE post SET likes = likes + (?) WHERE id = ?", Args: [][]any{{float32(6), int64(3)}, {int64(2), int64(1)}}, Prepared: true},
				{Do: "exec", SQL: "CREATE TEMPORARY TABLE copied SELECT * FROM post"},
				{Do: "query", SQL: "SELECT * FROM copied"},
			},
		}
		for range 2 {
			own := r.Own
			d, err := r.Compare(t.Context(), s)
			require.NoError(t, err)
			require.Nil(t, d)
			require.Equal(t, !r.MariaDB, r.Own == own+1)
			s.Steps = s.Steps[:1]
		}
	})
}

// TestOwnDifference proves that a difference is let pass only if it is the
// server's own.
func TestOwnDifference(t *testing.T) {
	eachServer(t, func(t *testing.T, r *Runner) {
		most := 10
		if r.MariaDB {
			most = 1
		}
		for _, write := range []string{named, upsert} {
			for before, tries := r.Own, 0; r.Own == before && tries < most; tries++ { // a look-up connection may use the same part of the cache
				d, err := r.Compare(t.Context(), withIDs(write, counted, first, made, made))
				require.NoError(t, err)
				require.Nil(t, d)
			}
		}
		if r.MariaDB {
			require.Zero(t, r.Own)
		} else {
			require.Equal(t, 2, r.Own)
		}

		// After the setup, what a new connection finds open depends on its id.
		s, own := withIDs(made), r.Own
		s.Setup = append(s.Setup, "INSERT IGNORE INTO {db}.post (id, slug) VALUES (6, 'a')")
		for range 12 {
			d, err := r.Compare(t.Context(), s)
			require.NoError(t, err)
			require.Nil(t, d)
		}

		d, err := r.Compare(t.Context(), withIDs(named, first, "UPDATE post SET likes = likes + 9 WHERE id = 1", "SELECT likes FROM post LIMIT 1", made))
		require.NoError(t, err)
		require.NotNil(t, d, "rows without an order") // TestAcceptedOrder
		require.Equal(t, 3, d.Step)
		require.Equal(t, own, r.Own)
	})
}

// TestReplanned proves that rows are let pass of which plain MySQL has others by another plan:
// with semi-joins the LEFT JOIN of this query has a row's likes, and without them it has none,
// as on MariaDB.
func TestReplanned(t *testing.T) {
	eachServer(t, func(t *testing.T, r *Runner) {
		s := &Script{
			Options: []string{"sql_mode=%27ANSI_QUOTES,NO_BACKSLASH_ESCAPES,STRICT_TRANS_TABLES%27"},
			Slots:   4, Counters: []Counter{{Table: "post", Columns: []string{"likes", "views"}}}, Tables: []string{},
			Setup: []string{
				"CREATE TABLE {db}.`post` (`name` CHAR(6) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL, `likes` INT NOT NULL DEFAULT 0, `views` DECIMAL(65,30) NOT NULL, `n` INT NULL, `title` VARCHAR(30) NULL DEFAULT 't', `slug` VARCHAR(20) NULL, PRIMARY KEY (`name`), UNIQUE KEY u0 (`slug`))",
				"INSERT INTO {db}.`post` VALUES ('B', 3, 1.5, 1, '-- d', 'a'), ('A', 5, -0.3, 4, 'B', 'c')",
				"CREATE TABLE {db}.`note` (`id` INT NOT NULL, `n` INT NULL, `likes` INT NULL, `title` VARCHAR(30) NULL DEFAULT 't', PRIMARY KEY (`id`))",
				"INSERT INTO {db}.`note` VALUES (4, 1, 2, 'A')",
			},
			Steps: []Step{
				{Do: "exec", SQL: "BEGIN"},
				{Do: "exec", SQL: "UPDATE IGNORE post SET `likes`=IFNULL({db}.post.likes,0)+?, `n` = ? ;", Args: [][]any{{int64(4), int64(2)}}},
				{Do: "query", SQL: "WITH\nnote AS (SELECT q4.c1 AS c0, COALESCE(MAX(q10.\"likes\"), 0) + ? AS c1 FROM (SELECT DISTINCT IF(`id` <= q5.c0, ?, q8.likes) + (SELECT SUM(q9.LIKES) FROM {db}.`note` AS q9 WHERE q5.`c0` > q9.id) AS c0, q5.`c0` AS c1 FROM (SELECT COALESCE(MAX(likes), 0) + ? AS c0 FROM {db}.post AS q6) AS q5 CROSS JOIN {db}.post q7 CROSS JOIN note q8) q4 LEFT JOIN {db}.`post` q10 ON EXISTS (SELECT DISTINCT NULLIF(q12.likes, q10.`likes`) FROM `post` AS q11 CROSS JOIN {db}.post q12 WHERE q11.n NOT IN (SELECT COUNT(DISTINCT likes) FROM `post` AS q13)) WHERE ((q4.c1 <= \"c1\") IS NOT TRUE) IS NOT TRUE GROUP BY q4.c1) SELECT COALESCE(MAX(q14.c0), 0) + ? FROM (SELECT c1 AS c0, COUNT(DISTINCT q15.c0) AS c1 FROM note AS q15 WHERE EXISTS (SELECT COALESCE(MAX(c0), 0) + ? FROM (SELECT COUNT(DISTINCT q18.\"c0\") AS c0 FROM {db}.post AS q17 CROSS JOIN note q18 WHERE (? IN (?, ?)) IS NOT TRUE) q16) GROUP BY 1) AS q14 WHERE (IF((q14.`c0` IS NOT NULL) AND (c1 <=> `c1`), ABS(q14.c0), q14.c1) + ABS(c1)) > c0", Args: [][]any{{int64(1), uint64(5), 5, int64(4), uint64(2), uint64(2), int64(2), int64(2)}}},
			},
		}
		d, err := r.Compare(t.Context(), s)
		require.NoError(t, err)
		require.Nil(t, d)
		require.Equal(t, !r.MariaDB, r.Own == 1)
	})
}
