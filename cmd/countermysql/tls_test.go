package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

// asTool makes this program the tool, with this command line: what a machine trusts is read
// once in a process.
const asTool = "COUNTERMYSQL_TEST_TOOL"

// TestToolTLS proves that the tool encrypts by each tls of a DSN that it knows, with a user whom the
// server refuses otherwise, and that "true" asks for a certificate that the machine trusts.
func TestToolTLS(t *testing.T) {
	t.Setenv("COUNTERMYSQL_CONFIG", "") // which open sets
	for _, flavor := range []testserver.Flavor{testserver.MariaDB, testserver.MySQL} {
		t.Run(string(flavor), func(t *testing.T) {
			srv, err := testserver.Start(t.Context(), flavor, testserver.WithTLS())
			require.NoError(t, err)
			t.Cleanup(srv.Stop)
			o := newTool(t, srv)
			o.exec(o.plain, "CREATE USER app IDENTIFIED BY 'secret' REQUIRE SSL")
			o.exec(o.plain, "GRANT ALL ON *.* TO app")
			o.run(exitOK, "init", "--yes")
			dsn := strings.Replace(o.dsn, "root@", "app:secret@", 1)
			for _, test := range []struct {
				params, trusted string
				code            int
				says            string
			}{
				{"", "", exitFailed, "1045"},
				{"tls=false", "", exitFailed, "1045"},
				{"tls=skip-verify", "", exitOK, ""},
				{"tls=preferred", "", exitOK, ""},
				{"tls=true", "", exitFailed, "certificate"},
				{"tls=true", srv.Certificate(), exitOK, ""},
			} {
				o.exec(o.ours, "UPDATE blog SET views = views + 1 WHERE id = 1")
				tool := exec.CommandContext(t.Context(), os.Args[0])
				tool.Env = append(os.Environ(), asTool+"=rollup --yes --config "+o.config+" --dsn "+dsn+"?"+test.params, "SSL_CERT_FILE="+test.trusted)
				out, _ := tool.CombinedOutput()
				require.Equal(t, test.code, tool.ProcessState.ExitCode(), "%s: %s", test.params, out)
				require.Contains(t, string(out), test.says)
				require.Equal(t, test.code == exitOK, o.number(o.plain, "SELECT COUNT(*) FROM blog_slots") == 0, "%s: %s", test.params, out)
			}
		})
	}
}
