package writes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestServersKeys proves that keys of types whose values one server alone reads, or that it shows in
// another spelling than they were written in, are told by each spelling, and by no other value.
func TestServersKeys(t *testing.T) {
	type key struct {
		column    string
		spelled   []string // of one row
		beside    string   // another row
		nonsense  string
		onMariaDB bool
	}
	keys := []key{
		{"UUID", []string{"'6ccd780c-baba-1026-9564-5b8c656024db'", "'6CCD780CBABA102695645B8C656024DB'", "'6ccd780c-BABA-1026-9564-5b8c656024db'", "'{6ccd780c-baba-1026-9564-5b8c656024db}'", "x'6ccd780cbaba102695645b8c656024db'"}, "'6ccd780c-baba-1026-9564-5b8c656024dc'", "'6ccd'", true},
		{"INET6", []string{"'2001:db8::ff00:42:8329'", "'2001:0DB8:0000:0000:0000:FF00:0042:8329'", "'2001:db8:0:0:0:ff00:42:8329'"}, "'::ffff:192.0.2.1'", "'2001:db8::ff00:42:8329%eth0'", true},
		{"INET6", []string{"'::ffff:192.0.2.1'", "'::FFFF:c000:0201'", "'0:0:0:0:0:ffff:192.0.2.1'"}, "'::192.0.2.1'", "'192.0.2.1'", true},
		{"INET4", []string{"'192.0.2.1'", "x'c0000201'"}, "'192.0.2.2'", "'192.0.2'", true},
		{"DECIMAL(8,2) ZEROFILL", []string{"5", "'5'", "5.00", "'000005.0'"}, "5.01", "'5x'", false},
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for i, k := range keys {
			if k.onMariaDB && !harness.MariaDB(srv) {
				continue
			}
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				schema := fmt.Sprintf("CREATE TABLE visit (k %s PRIMARY KEY, n INT NOT NULL DEFAULT 0);\nINSERT INTO visit VALUES (%s, 1), (%s, 1)", k.column, k.spelled[0], k.beside)
				for _, params := range []string{"interpolateParams=true", "interpolateParams=false"} {
					tw := harness.NewTwin(t, srv, schema, harness.Counters("visit", "n"), params)
					var steps []string
					for _, v := range append(k.spelled, k.nonsense, "NULL") {
						for _, s := range []string{
							"UPDATE visit SET n = n + 1 WHERE k = " + v, "SELECT k, n FROM visit WHERE k = " + v, "begin RR", "UPDATE visit SET n = n + 1 WHERE k = " + v, "SELECT n FROM visit WHERE k = " + v,
							"SELECT n FROM visit WHERE k = " + v + " FOR UPDATE", "UPDATE visit SET n = n * 2 WHERE k = " + v, "UPDATE visit SET n = n + 1 WHERE k IN (" + v + ", " + k.beside + ")", "commit",
							"INSERT INTO visit VALUES (" + v + ", 3) ON DUPLICATE KEY UPDATE n = n + 3", "UPDATE visit SET n = n - 1 WHERE k = " + v + " AND n >= 1", "SELECT * FROM visit ORDER BY k",
						} {
							steps = append(steps, "A: "+s)
						}
					}
					tw.Play(t, steps...)
					for _, v := range append(k.spelled, k.nonsense) {
						if strings.HasPrefix(v, "x") { // bytes, which no string is
							continue
						}
						arg := strings.Trim(v, "'")
						tw.SamePrepared(t, "begin RR", "UPDATE visit SET n = n + 1 WHERE k = ?", arg)
						tw.SamePrepared(t, "begin RR", "UPDATE visit SET n = n * 2 WHERE k = ?", arg)
						tw.SamePrepared(t, "begin RR", "SELECT k, n FROM visit WHERE k = ?", arg)
					}
					harness.RollUp(t, tw.Ours)
					tw.Same(t, "SELECT k, n FROM visit ORDER BY k")
				}
			})
		}
	})
}
