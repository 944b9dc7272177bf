package accepted

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestAcceptedClock pins what touch columns show of the hour that comes twice when
// summer time ends: the latest time that the clock has shown, and in a TIMESTAMP column
// perhaps that of the other hour, until they are touched again.
func TestAcceptedClock(t *testing.T) {
	const schema = "CREATE TABLE page (id INT PRIMARY KEY, hits INT NOT NULL DEFAULT 0, day DATETIME NULL ON UPDATE CURRENT_TIMESTAMP, at TIMESTAMP NULL DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP);\nINSERT INTO page (id) VALUES (1), (2)"
	const before, after, later = 1792889400, 1792890600, 1792893900 // 2:50, 2:10 and 3:05 in Berlin
	harness.ForOwnServers(t, func(t *testing.T, srv *testserver.Server) {
		harness.ExecAll(t, harness.Open(t, srv.DSN("")), harness.Berlin)
		first := harness.NewTwin(t, srv, schema, harness.Counters("page", "hits"), "time_zone='Berlin'", fmt.Sprintf("timestamp=%d", before))
		at := func(now int) *harness.Twin {
			tw := *first
			moved := func(dsn string) string {
				return strings.Replace(dsn, fmt.Sprint(before), fmt.Sprint(now), 1)
			}
			var name string
			require.NoError(t, tw.Plain.QueryRow("SELECT DATABASE()").Scan(&name))
			tw.Plain = harness.Open(t, moved(srv.DSN(name, "time_zone='Berlin'", fmt.Sprintf("timestamp=%d", before))))
			tw.Ours, _ = harness.OpenOurs(t, moved(tw.OursDSN), tw.Config)
			return &tw
		}
		const show = "A: SELECT id, DATE_FORMAT(day, '%H:%i') AS day, DATE_FORMAT(at, '%H:%i') AS at, UNIX_TIMESTAMP(at) AS utc FROM page ORDER BY id"
		const hit, hitNew = "A: UPDATE page SET hits = hits + 1 WHERE id = 1", "A: UPDATE page SET hits = hits + 1 WHERE id = 2"
		first.Accepted(t, hit, show)
		shown := " ⇒ [1 02:50 02:50 1792889400][2 02:10 02:10 1792887000]"
		if harness.MariaDB11(srv) { // computes with the second of the two hours
			shown = " ⇒ [1 02:50 02:50 1792889400][2 02:10 02:10 1792890600]"
		}
		at(after).Accepted(t, "A: begin", hit, "A: commit", hitNew, show+" ⇒ [1 02:10 02:10 1792890600][2 02:10 02:10 1792890600]"+shown)
		at(later).Accepted(t, hit, hitNew, show)
	})
}

// TestAcceptedEarlierTouch pins what a touch column shows that an increment gives an
// earlier time than it had, and the notes of digits that are cut off.
func TestAcceptedEarlierTouch(t *testing.T) {
	const schema = "CREATE TABLE page (id INT PRIMARY KEY, hits INT NOT NULL DEFAULT 0, seen DATETIME(6) NULL, last DATETIME NULL);\nINSERT INTO page (id, last) VALUES (1, NULL), (2, '2020-01-01')"
	config := &countermysql.Config{Tables: []countermysql.TableConfig{{Table: "page", Counters: []string{"hits"}, Touch: []string{"seen", "last"}}}}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		show := "A: SELECT id, seen FROM page WHERE id = 1"
		tw := harness.NewTwin(t, srv, schema, config, "timestamp=1700000000.654321")
		tw.Accepted(t, "A: SET time_zone = '+00:00'", "A: UPDATE page SET hits = hits + 1, seen = NOW(6) WHERE id = 1", show, "A: UPDATE page SET hits = hits + 1, seen = NOW() WHERE id = 1",
			show+" ⇒ [1 2023-11-14 22:13:20.000000] ⇒ [1 2023-11-14 22:13:20.654321]",
			"A: UPDATE page SET hits = hits + 1, seen = '2023-11-14 22:13:10' WHERE id = 1", show)

		tw = harness.NewTwin(t, srv, schema, config, "timestamp=1700000000") // processes of several time zones
		count := "UPDATE page SET hits = hits + 1, seen = NOW() WHERE id = 1"
		tw.Accepted(t, "A: SET time_zone = '+02:00'", "B: SET time_zone = '+00:00'", "A: "+count, show, "B: "+count, show+" ⇒ [1 2023-11-14 22:13:20.000000] ⇒ [1 2023-11-15 00:13:20.000000]")

		now, notes := time.Now().UTC().Format("2006-01-02 15:04:05.000000789"), "A: SHOW WARNINGS"
		if harness.MariaDB(srv) {
			notes += " ⇒ [Note 1265 Data truncated for column 'last' at row 1] ⇒ [Note 1292 Truncated incorrect datetime value: '" + now + "'][Note 1265 Data truncated for column 'last' at row 1]"
		}
		tw = harness.NewTwin(t, srv, schema, config)
		tw.Accepted(t, "A: UPDATE page SET hits = hits + 1, last = '"+now+"' WHERE id = 2", notes, "A: SELECT hits FROM page WHERE id = 2")
	})
}
