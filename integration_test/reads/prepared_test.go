package reads

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// typedForum has columns of all types beside counters.
const typedForum = `
CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, views BIGINT UNSIGNED NOT NULL DEFAULT 0, score DECIMAL(9,2) NULL,
  tiny TINYINT NULL, small SMALLINT UNSIGNED NULL, medium MEDIUMINT NULL, big BIGINT NULL, most BIGINT UNSIGNED NULL, filled INT(8) ZEROFILL NULL,
  d DATE NULL, dt DATETIME NULL, dt3 DATETIME(3) NULL, ts TIMESTAMP(6) NULL, t TIME NULL, t2 TIME(2) NULL, y YEAR NULL,
  ch CHAR(5) NULL, vc VARCHAR(20) NULL, ascii VARCHAR(20) CHARACTER SET ascii NULL, vb VARBINARY(20) NULL, txt TEXT NULL, bl BLOB NULL,
  en ENUM('a','b') NULL, se SET('a','b') NULL, bi BIT(10) NULL, js JSON NULL, de DECIMAL(30,10) NULL, KEY (likes), KEY (vc)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE floating (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, views INT NOT NULL DEFAULT 0, f FLOAT NULL, g DOUBLE NULL, h DOUBLE(9,2) NULL);
CREATE TABLE tag (post_id INT NOT NULL, name VARCHAR(9) NOT NULL);
INSERT INTO tag VALUES (1, 'a'), (2, 'b');
INSERT INTO post VALUES (1, 10, 18446744073709551600, 1.50, -128, 65535, -8388608, -9223372036854775808, 18446744073709551615, 42,
  '2026-11-27', '2026-11-27 01:02:03', '2026-11-27 01:02:03.040', '2026-11-27 01:02:03.000456', '-838:59:59', '10:00:00.5', 2026,
  'é', 'one', 'one', x'00ff', 'text', x'00', 'b', 'a,b', b'1010101010', '{"a": [1, 2.50]}', 12345678901234567890.0123456789);
INSERT INTO post (id, likes) VALUES (2, 20), (3, 30), (4, 40);
UPDATE post SET vc = 'ONE', most = 9223372036854775807, t = '00:00:00', dt3 = '2026-01-01', de = 0, ch = 'a' WHERE id = 2;
INSERT INTO floating VALUES (1, 10, 20, 16777217, 0.1, 1.10), (2, 20, 30, 1.1, 1e300, 3.14)`

// oddTimes are those that MySQL reads from an answer otherwise than it compares them, and
// those that mean nothing.
const oddTimes = "UPDATE post SET d = '2026-00-00', dt = '0000-00-00 00:00:00' WHERE id = 3"

// typedReads are queries, whether a connection prepares them, and the arguments that they get in
// turn.
var typedReads = []struct {
	query string
	apart bool
	args  [][]any
}{
	{"SELECT * FROM post ORDER BY id", true, [][]any{{}}},
	{"SELECT * FROM post WHERE id = ?", true, [][]any{{1}, {2}, {uint(3)}, {int8(4)}, {5}}},
	{"SELECT likes FROM post WHERE id = ?", true, [][]any{{1}, {2}, {-1}}},
	{"SELECT id, likes, views, score FROM post WHERE vc = ?", true, [][]any{{"one"}, {"ONE "}, {"é"}, {"two"}, {""}}},
	{"SELECT id, likes, views FROM post WHERE id IN (?, ?) AND likes < ? ORDER BY likes LIMIT ?", true, [][]any{{1, 2, 100, 1}, {2, 3, 25, 9}, {1, 2, 25, uint(1)}}},
	{"SELECT id, likes, views FROM post ORDER BY likes DESC LIMIT 3", true, [][]any{{}}},
	{"SELECT COUNT(*), SUM(likes), MAX(views), AVG(score) FROM post WHERE likes >= ?", true, [][]any{{15}, {1}, {1000}}},
	{"SELECT a.likes, b.views, b.vc FROM post a JOIN post b ON b.id = a.id + 1 WHERE a.id = ?", true, [][]any{{1}, {2}, {4}}},
	{"SELECT p.likes, p.views, g.name FROM post p JOIN tag g ON g.post_id = p.id WHERE p.id = ?", true, [][]any{{1}, {2}}},
	{"SELECT id, likes, views FROM post WHERE id = ? AND vc = 'one' AND likes > 5", true, [][]any{{1}, {2}}},
	{"SELECT p.likes, p.views FROM post p JOIN tag g ON g.post_id = p.id WHERE g.name = ?", false, [][]any{{"a"}, {"b"}}},
	{"SELECT id, likes, views FROM post WHERE d = ?", false, [][]any{{"2026-11-27"}, {20261127}, {"no date"}}},
	{"SELECT id, likes, views FROM post WHERE y > ?", false, [][]any{{2025}, {"2025"}, {26}}},
	{"SELECT id, likes, views FROM post WHERE ascii = ?", false, [][]any{{"one"}, {"é"}}},
	{"SELECT id, likes + ?, views FROM post WHERE id = 1", false, [][]any{{1}, {2.5}, {"3"}, {nil}}},
	{"SELECT likes, views, ? FROM post WHERE id = 1", false, [][]any{{1}, {"x"}}},
	{"SELECT likes, views FROM post WHERE id = ?", false, [][]any{{1}, {"1"}, {1.0}, {nil}, {true}, {[]byte("1")}, {"1abc"}}},
	{"SELECT likes, views, f, g, h FROM floating WHERE id = ?", false, [][]any{{1}, {2}}},
	{"SELECT id, likes, views FROM floating WHERE f > ?", false, [][]any{{1}, {2}}},
	{"SELECT id, likes, (SELECT MAX(views) FROM floating) FROM post WHERE id = ?", false, [][]any{{1}, {2}}},
	{"SELECT id, likes, views FROM post WHERE id > ? ORDER BY id LIMIT ?, ?", false, [][]any{{0, 1, 2}, {0, 0, -1}, {0, -1, 1}}},
	{"SELECT likes, views FROM post WHERE id = 1 AND vc = ?", false, [][]any{{"one"}, {"one", "more"}}},
	{"SELECT likes, views FROM post WHERE id = ? AND SLEEP(0) = 0", false, [][]any{{1}}},
	{"SELECT x.likes FROM (SELECT likes FROM post WHERE id = ?) x", false, [][]any{{1}, {2}}},
}

// exactly is an answer with its columns' types and its values' Go types.
func exactly(t *testing.T, c *sql.Conn, query string, args ...any) string {
	rows, err := c.QueryContext(t.Context(), query, args...)
	if err != nil {
		return harness.Told(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(t, err)
	var b strings.Builder
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		require.NoError(t, rows.Scan(into...))
		for i, v := range values {
			fmt.Fprintf(&b, "%s: %T %v; ", columns[i], v, v)
		}
	}
	if rows.Err() != nil {
		return harness.Told(rows.Err())
	}
	return b.String()
}

// TestPreparedReads proves that queries which a connection sends often, and then by statements that
// the driver has prepared, have plain's answers to the Go type, whether there are slots or
// not, and whatever the application does to the session and the tables meanwhile; and that
// those are prepared which read columns of tables and compare them with numbers or strings.
func TestPreparedReads(t *testing.T) {
	for _, params := range []string{"interpolateParams=true", "interpolateParams=true&parseTime=true", ""} {
		harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
			config := harness.Counters("post", "likes", "views", "score")
			config.Tables = append(config.Tables, harness.Counters("floating", "likes", "views").Tables...)
			dsn := []string{"sql_mode=''"}
			if params != "" {
				dsn = append(dsn, params)
			}
			tw := harness.NewTwin(t, srv, typedForum, config, dsn...)
			plain, ours := harness.Session(t, tw.Plain), harness.Session(t, tw.Ours)
			apart := map[string]bool{} // what was sent by a prepared statement
			compare := func(times int) {
				t.Helper()
				for _, r := range typedReads {
					query := r.query
					for n := range times {
						args := r.args[n%len(r.args)]
						sent := tw.Sent.During(func() {
							require.Equal(t, exactly(t, plain, query, args...), exactly(t, ours, query, args...), "%s %v", query, args)
						})
						apart[query] = slices.ContainsFunc(sent, harness.Sending.Apart)
					}
					var types [2][]string
					for i, c := range []*sql.Conn{plain, ours} {
						rows, err := c.QueryContext(t.Context(), query, r.args[0]...)
						require.NoError(t, err)
						types[i] = harness.Described(t, rows)
					}
					require.Equal(t, types[0], types[1], query)
				}
			}
			both := func(text string) {
				t.Helper()
				for _, c := range []*sql.Conn{plain, ours} {
					_, err := c.ExecContext(t.Context(), text)
					require.NoError(t, err, text)
				}
			}
			both(oddTimes)
			compare(30)
			if params != "" {
				for _, r := range typedReads {
					require.Equal(t, r.apart, apart[r.query], r.query)
				}
			}
			for id := range 3 {
				_, err := tw.Direct.ExecContext(t.Context(), "INSERT INTO post_slots (id, slot, likes) VALUES (?, 1, 7), (?, 2, -3)", id+1, id+1)
				require.NoError(t, err)
				_, err = tw.Plain.ExecContext(t.Context(), "UPDATE post SET likes = likes + 4 WHERE id = ?", id+1)
				require.NoError(t, err)
			}
			compare(30)
			both("UPDATE post SET likes = likes + 1, views = views - 5 WHERE id = 1")
			compare(3)
			for _, db := range []*sql.DB{tw.Plain, tw.Direct} {
				c := harness.Session(t, db)
				for _, text := range []string{"SET sql_mode = ''", "ALTER TABLE post MODIFY tiny BIGINT NULL, MODIFY small FLOAT NULL, ADD added VARCHAR(5) NULL DEFAULT 'new'"} {
					_, err := c.ExecContext(t.Context(), text)
					require.NoError(t, err)
				}
			}
			tw.LearnAnew(t)
			compare(12)
			both("BEGIN")
			compare(2)
			both("UPDATE post SET likes = likes + 1 WHERE id = 2")
			compare(2)
			both("ROLLBACK")
			compare(2)
			both("CREATE TEMPORARY TABLE tag (post_id INT, name INT)")
			compare(2)
			both("DROP TEMPORARY TABLE tag")
			compare(2)
			both("SET sql_mode = 'ANSI_QUOTES'")
			compare(2)
			both("SET NAMES latin1")
			compare(2)
		})
	}
}

// TestPreparedReadsElsewhere proves that what was prepared is not taken for a text that means another
// database's table by now.
func TestPreparedReadsElsewhere(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL, views INT NOT NULL);\nINSERT INTO post VALUES (1, 10, 20)", harness.Counters("post", "likes", "views"), "interpolateParams=true")
		other := harness.NewDatabase(t, srv)
		harness.ExecAll(t, tw.Direct, "CREATE TABLE "+other+".post (id INT PRIMARY KEY, likes INT NOT NULL, views INT NOT NULL);\nINSERT INTO "+other+".post VALUES (1, -1, -2)")
		ours := harness.Session(t, tw.Ours)
		const query = "SELECT likes, views FROM post WHERE id = ?"
		for range 20 {
			require.Contains(t, exactly(t, ours, query, 1), "likes: int64 10; views: int64 20")
		}
		_, err := ours.ExecContext(t.Context(), "USE "+other)
		require.NoError(t, err)
		for range 20 {
			require.Contains(t, exactly(t, ours, query, 1), "likes: int64 -1; views: int64 -2")
		}
	})
}

// TestPreparedStatementsAreFew proves that a connection keeps few statements of the driver's own, prepares others
// when they are sent more, and does without where the server has no room.
func TestPreparedStatementsAreFew(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL, views INT NOT NULL);\nINSERT INTO post VALUES (1, 10, 20)", harness.Counters("post", "likes", "views"), "interpolateParams=true")
		const kept = 16
		of := func(n int) string { return fmt.Sprintf("SELECT likes AS l%d, views FROM post WHERE id = ?", n) }
		ours := harness.Session(t, tw.Ours)
		read := func(c *sql.Conn, n int) bool {
			return slices.ContainsFunc(tw.Sent.During(func() {
				require.Contains(t, exactly(t, c, of(n), 1), "int64 10; views: int64 20")
			}), harness.Sending.Apart)
		}
		before := tw.Sent.Prepared()
		for range 20 {
			for n := range 3 * kept {
				read(ours, n)
			}
		}
		require.Equal(t, kept, tw.Sent.Prepared()-before)
		require.True(t, read(ours, 0))
		require.False(t, read(ours, 2*kept+1))
		for range 400 { // the first ones are not sent any more
			read(ours, 2*kept+1)
		}
		require.True(t, read(ours, 2*kept+1))
		require.Equal(t, kept, tw.Sent.Prepared()-before)

		if srv.Own() {
			_, err := tw.Direct.Exec("SET GLOBAL max_prepared_stmt_count = 0")
			require.NoError(t, err)
			t.Cleanup(func() {
				_, _ = tw.Direct.ExecContext(context.Background(), "SET GLOBAL max_prepared_stmt_count = DEFAULT")
			})
			full := harness.Session(t, tw.Ours)
			for range 40 {
				require.False(t, read(full, 1))
			}
		}
	})
}
