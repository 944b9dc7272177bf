package integration_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, stmt := range []string{
			"UPDATE account SET seen = n WHERE n > 0",
			"UPDATE audit SET sum = (SELECT SUM(n) FROM account)",
			"UPDATE account STRAIGHT_JOIN audit ON audit.id = account.id SET audit.sum = account.n",
		} {
			for _, begin := range []bool{false, true} {
				t.Run(fmt.Sprint(stmt, " ", begin), func(t *testing.T) {
					t.Parallel()
					tw := newTwin(t, srv, schema, counters("account", "n"))
					for _, db := range []*sql.DB{tw.plain, tw.ours} {
						affected(t, db, "UPDATE account SET n = n + 1 WHERE id = 1")
						holder, writer := session(t, tw.directTo(db)), session(t, db)
						if begin {
							affected(t, writer, "BEGIN")
						}
						affected(t, holder, "BEGIN")
						affected(t, holder, "UPDATE account SET n = n + 1 WHERE id = 1")
						done := make(chan error, 1)
						go func() {
							_, err := writer.ExecContext(context.WithoutCancel(t.Context()), stmt)
							done <- err
						}()
						time.Sleep(300 * time.Millisecond) // it waits for the first row
						require.Empty(t, done)
						require.EqualValues(t, 1, affected(t, db, "UPDATE account SET n = n + 1 WHERE id = 2"))
						affected(t, holder, "COMMIT")
						require.NoError(t, <-done)
						if begin {
							affected(t, writer, "COMMIT")
						}
					}
					tw.same(t, "SELECT id, n, seen FROM account ORDER BY id")
					tw.same(t, "SELECT id, sum FROM audit ORDER BY id")
				})
			}
		}
	})
}
