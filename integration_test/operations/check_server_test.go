package operations

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestCheckServer proves that a check finds what the server is set to that counters can't have, that what it
// says to run mends it, and that a server of which nothing is known is none of its findings.
func TestCheckServer(t *testing.T) {
	for _, flavor := range []testserver.Flavor{testserver.MariaDB, testserver.MySQL} {
		t.Run(string(flavor), func(t *testing.T) {
			t.Parallel()
			args := []string{"--server-id=1", "--log-bin=log", "--binlog-format=ROW"}
			if flavor == testserver.MariaDB {
				args = append(args, "--query-cache-type=1") // or it can't be turned on
			}
			srv, err := testserver.Start(t.Context(), flavor, testserver.WithArgs(args...))
			require.NoError(t, err)
			t.Cleanup(srv.Stop)
			settings := map[string]string{"binlog_format = 'STATEMENT'": "binlog_format is STATEMENT", "read_only = 1": "the server is read-only"}
			tw := harness.NewBlog(t, srv, harness.BlogCounters())
			if harness.MariaDB(srv) {
				settings["query_cache_type = 1"] = "the query cache is on"
				harness.Affected(t, tw.Direct, "SET GLOBAL query_cache_type = 0")
			} else {
				settings["optimizer_switch = 'hypergraph_optimizer=on'"] = "the hypergraph optimizer is on"
			}
			findings := func() []countermysql.Finding {
				all, err := countermysql.Check(t.Context(), tw.Ours)
				require.NoError(t, err)
				return slices.DeleteFunc(all, func(f countermysql.Finding) bool { return f.Table != "" })
			}
			require.Empty(t, findings())
			for set, problem := range settings {
				harness.Affected(t, tw.Direct, "SET GLOBAL "+set)
				found := findings()
				require.Len(t, found, 1, "%s: %v", set, found)
				require.True(t, strings.HasPrefix(found[0].Problem, problem), found[0].Problem)
				if found[0].SQL == "" {
					found[0].SQL = "SET GLOBAL read_only = 0"
				}
				harness.Affected(t, tw.Direct, found[0].SQL)
				require.Empty(t, findings(), set)
			}
		})
	}
}
