package reads

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestOneMoment proves that an exact statement of many rows which waits for one of
// them does not act on what that row gets later without what another one, which had no
// slots, has got before: what was moved from one to the other would be missing.
func TestOneMoment(t *testing.T) {
	const schema = `
CREATE TABLE account (id INT PRIMARY KEY, n INT NOT NULL, seen INT NOT NULL DEFAULT 0);
CREATE TABLE audit (id INT PRIMARY KEY, sum INT NOT NULL);
INSERT INTO account (id, n) VALUES (1, 10), (2, 10), (3, 10);
INSERT INTO audit VALUES (1, 0), (2, 0), (3, 0);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, stmt := range []string{
			"UPDATE account SET seen = n WHERE n > 0",
			"UPDATE audit SET sum = (SELECT SUM(n) FROM account)",
			"UPDATE account STRAIGHT_JOIN audit ON audit.id = account.id SET audit.sum = account.n",
		} {
			for _, begin := range []bool{false, true} {
				t.Run(fmt.Sprint(stmt, " ", begin), func(t *testing.T) {
					t.Parallel()
					tw := harness.NewTwin(t, srv, schema, harness.Counters("account", "n"))
					for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
						harness.Affected(t, db, "UPDATE account SET n = n + 1 WHERE id = 1")
						holder, writer := harness.Session(t, tw.DirectTo(db)), harness.Session(t, db)
						if begin {
							harness.Affected(t, writer, "BEGIN")
						}
						harness.Affected(t, holder, "BEGIN")
						harness.Affected(t, holder, "UPDATE account SET n = n + 1 WHERE id = 1")
						done := make(chan error, 1)
						go func() {
							_, err := writer.ExecContext(context.WithoutCancel(t.Context()), stmt)
							done <- err
						}()
						time.Sleep(300 * time.Millisecond) // it waits for the first row
						require.Empty(t, done)
						require.EqualValues(t, 1, harness.Affected(t, db, "UPDATE account SET n = n + 1 WHERE id = 2"))
						harness.Affected(t, holder, "COMMIT")
						require.NoError(t, <-done)
						if begin {
							harness.Affected(t, writer, "COMMIT")
						}
					}
					tw.Same(t, "SELECT id, n, seen FROM account ORDER BY id")
					tw.Same(t, "SELECT id, sum FROM audit ORDER BY id")
				})
			}
		}
	})
}
