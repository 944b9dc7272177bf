package writes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestBulkInsert proves that statements of many rows take no time out of proportion
// where there are slots: each slot was compared with each row, and each row of an
// upsert was looked up by itself.
func TestBulkInsert(t *testing.T) {
	values := func(from, n int) string {
		rows := make([]string, n)
		for i := range rows {
			rows[i] = fmt.Sprintf("(%d, 1)", from+i)
		}
		return strings.Join(rows, ", ")
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE page (id INT PRIMARY KEY, hits INT NOT NULL);\nCREATE TABLE old (id INT PRIMARY KEY)", harness.Counters("page", "hits"))
		harness.ExecAll(t, tw.Direct, "INSERT INTO page VALUES "+values(0, 5000))
		harness.ExecAll(t, tw.Plain, "INSERT INTO page VALUES "+values(0, 5000))
		harness.ExecAll(t, tw.Direct, "INSERT INTO page_slots (id, slot, hits) SELECT id, 1, 0 FROM page")
		harness.ExecAll(t, tw.Direct, "INSERT INTO page_slots (id, slot, hits) VALUES (15000, 1, 100)") // left over
		for name, text := range map[string]string{
			"insert": "INSERT IGNORE INTO page (id, hits) VALUES " + values(0, 20000),
			"upsert": "INSERT INTO page (id, hits) VALUES " + values(0, 3000) + " ON DUPLICATE KEY UPDATE hits = hits + VALUES(hits)",
		} {
			_, err := tw.Plain.Exec(text)
			require.NoError(t, err)
			sent := tw.Sent.During(func() {
				start := time.Now()
				_, err = tw.Ours.Exec(text)
				require.NoError(t, err)
				require.Less(t, time.Since(start), 15*time.Second, name)
			})
			require.Less(t, len(sent), 20, name)
			tw.Same(t, "SELECT COUNT(*), SUM(hits), MAX(hits) FROM page")
		}
	})
}

// TestManyKeysOfSeveralColumns proves that the server is not given thousands of keys to
// compare each row with.
func TestManyKeysOfSeveralColumns(t *testing.T) {
	rows := make([]string, 3000)
	for i := range rows {
		rows[i] = fmt.Sprintf("(%d, 'page%d', %d, 0)", i%50, i/50, i%3)
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, level := range []string{"READ COMMITTED", "REPEATABLE READ"} {
			tw := harness.NewTwin(t, srv, "CREATE TABLE page (site INT, name VARCHAR(20), n INT NOT NULL, old INT NOT NULL, PRIMARY KEY (site, name));\nINSERT INTO page VALUES "+strings.Join(rows, ", "), harness.Counters("page", "n"))
			for _, sent := range tw.Sent.During(func() {
				tw.Play(t, "A: SET SESSION TRANSACTION ISOLATION LEVEL "+level, "B: UPDATE page SET n = n + 1 WHERE site = 1 AND name IN ('page1', 'page2', 'page3')",
					"A: UPDATE page SET n = n * 2 WHERE old = 0", "A: DELETE FROM page WHERE n > 0 AND old = 0", "A: SELECT COUNT(*), SUM(n) FROM page")
			}) {
				require.Less(t, len(sent.Text), 50000, "%.200s", sent.Text)
			}
		}
	})
}
