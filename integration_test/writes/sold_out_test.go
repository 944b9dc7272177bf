package writes

import (
	"context"
	"database/sql"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

const stockroom = `
CREATE TABLE item (id INT PRIMARY KEY, sku VARCHAR(9) NOT NULL UNIQUE, name VARCHAR(9) NOT NULL DEFAULT 'x', gone DATETIME NULL, stock INT NULL, spare INT UNSIGNED NOT NULL DEFAULT 0);
INSERT INTO item (id, sku, stock, spare) VALUES (1, 'a', 5, 5), (2, 'b', 0, 0), (3, 'c', 0, 0), (4, 'd', NULL, 0), (5, 'e', 5, 0), (7, 'g', 0, 0)`

// sales are exact statements on a row that may be sold out, in the forms in which a
// condition can stand; # is the row.
var sales = []string{
	"UPDATE item SET stock = stock - 1 WHERE id = # AND stock >= 1",
	"UPDATE item SET stock = stock - 1 WHERE stock >= 1 AND id = #",
	"UPDATE item i SET i.stock = i.stock - 1 WHERE (i.id = #) AND (i.stock >= 1) AND i.gone IS NULL",
	"UPDATE item SET stock = stock - 1, name = 'sold' WHERE (id = # AND stock >= 1)",
	"UPDATE item SET stock = stock - 1 WHERE (id = # AND (stock > 0 AND name <> 'z')) AND stock IS NOT NULL -- sell",
	"UPDATE item SET stock = stock - 1 WHERE id = # AND stock BETWEEN 1 AND 9 AND CASE WHEN stock > 2 AND spare >= 0 THEN 1 ELSE stock END",
	"UPDATE item SET stock = stock - 1 WHERE id = # && stock >= 1",
	"UPDATE item SET stock = stock - 1 WHERE id = # AND stock",
	"UPDATE item SET stock = stock - 1 WHERE id = # AND stock >= '1'",
	"UPDATE item SET stock = stock - 1 WHERE id = # AND stock IN (1, 2, 3, 4, 5, 7)",
	"UPDATE item SET stock = stock - 1 WHERE id = # AND name = 'x' AND stock > 0",
	"UPDATE item SET stock = stock - 1 WHERE id = # AND name = 'y' AND stock > 0",
	"UPDATE item SET stock = stock - 1 WHERE id = # AND name > 3 AND stock > 0",
	"UPDATE item SET stock = stock - 1 WHERE id = # AND stock > 'b'",
	"UPDATE item SET stock = stock - 1 WHERE id = # AND 10 / stock >= 0",
	"UPDATE item SET spare = spare - 5 WHERE id = # AND spare - 5 >= 0",
	"UPDATE item SET spare = spare - 1 WHERE id = #",
	"UPDATE IGNORE item SET spare = spare - 1 WHERE id = # AND spare >= 0",
	"UPDATE IGNORE item SET sku = 'a' WHERE id = # AND stock < 3",
	"UPDATE item SET stock = 0 WHERE id = #",
	"UPDATE item SET stock = stock * 3000000000 WHERE id = # AND stock >= 0",
	"UPDATE item SET stock = GREATEST(stock - 1, 0) WHERE id = #",
	"UPDATE item SET spare = LAST_INSERT_ID(spare + 9) - 9 WHERE id = # AND spare >= 0",
	"UPDATE item SET stock = stock - 1 WHERE id = # AND stock >= 1 LIMIT 1",
	"UPDATE item SET stock = stock - 1 WHERE sku = ELT(#, 'a', 'b', 'c', 'd', 'e', 'f', 'g') AND id = # AND stock >= 1 ORDER BY stock DESC, id LIMIT 2",
	"UPDATE item SET stock = stock - 1 WHERE id = # AND stock >= 1 LIMIT 0",
	"DELETE FROM item WHERE id = # AND stock < 1",
	"DELETE FROM item WHERE id = # AND stock < 1 ORDER BY stock LIMIT 1",
	"DELETE FROM item WHERE id = #",
}

// TestSoldOut proves that a conditional write answers as on plain MySQL, with its
// warnings, whether its row is sold out, has its stock in slots, or is not there, and
// that it is one round trip, or two, wherever the row has no slots. A condition that fails for
// the base row alone (1690, 1365) failed the statement.
func TestSoldOut(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range [][]string{{"interpolateParams=true"}, {"clientFoundRows=true"}, {"sql_mode=''", "interpolateParams=true"}} {
			config := harness.Counters("item", "stock", "spare")
			tw := harness.NewTwin(t, srv, stockroom, config, params...)
			for _, sale := range sales {
				for range 2 { // after which no row is expected to have enough, and to be told by that
					harness.Affected(t, tw.Ours, "UPDATE item SET spare = spare - 9 WHERE id = 1 AND spare >= 9")
				}
				for _, id := range []string{"1", "2", "3", "4", "5", "6", "7"} {
					for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
						harness.ExecAll(t, db, "DELETE FROM item;\n"+stockroom[strings.Index(stockroom, "INSERT"):])
						require.EqualValues(t, 1, harness.Affected(t, db, "UPDATE item SET stock = stock + 7, spare = spare + 7 WHERE id = 3"))
						require.EqualValues(t, 1, harness.Affected(t, db, "UPDATE item SET stock = stock - 5 WHERE id = 5"))
						require.EqualValues(t, 1, harness.Affected(t, db, "UPDATE item SET spare = spare + 1 WHERE id = 7"))
					}
					stmt := strings.ReplaceAll(sale, "#", id)
					var sent []string
					answers := func(db *sql.DB) []string {
						s := &harness.Script{Db: db, Clients: map[string]*harness.Client{}}
						defer s.End()
						s.Do(t, "A: SELECT LAST_INSERT_ID(3)")
						all := tw.Sent.During(func() { s.Do(t, "A: "+stmt) })
						if db == tw.Ours {
							sent = append(tw.Sent.OnlyOn(t, s.Clients["A"].Conn, all), harness.OfPrepared(all)...)
							sent = slices.DeleteFunc(sent, func(text string) bool { return strings.HasPrefix(text, "PREPARE ") }) // once
						}
						s.Do(t, "A: SELECT LAST_INSERT_ID()")
						s.Do(t, "A: "+stmt)
						if strings.Contains("1246", id) { // sent as it is
							s.Do(t, "A: SELECT ROW_COUNT()")
						}
						s.Do(t, "A: SELECT * FROM item ORDER BY id")
						return s.Answers
					}
					want := answers(tw.Plain)
					require.Equal(t, want, answers(tw.Ours), "%v", params)
					if strings.Contains("1246", id) {
						trips := 1
						if strings.HasPrefix(sale, "DELETE") || strings.Contains(sale, "SET sku") { // they may wait for a child, or an index
							trips = 2
						}
						require.Len(t, sent, trips, "%v", sent)
					}
				}
			}
		}
	})
}

// TestSoldOutInTransactions proves the same inside transactions.
func TestSoldOutInTransactions(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, level := range []string{"RC", "RR"} {
			tw := harness.NewTwin(t, srv, stockroom, harness.Counters("item", "stock", "spare"))
			for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
				require.EqualValues(t, 1, harness.Affected(t, db, "UPDATE item SET stock = stock + 7, spare = spare + 7 WHERE id = 3"))
				require.EqualValues(t, 1, harness.Affected(t, db, "UPDATE item SET spare = spare + 1 WHERE id = 7"))
			}
			for _, sale := range sales {
				steps := []string{"A: begin " + level}
				for _, id := range []string{"1", "2", "3", "4", "6", "7"} {
					steps = append(steps, "A: "+strings.ReplaceAll(sale, "#", id))
				}
				tw.Play(t, append(steps, "A: SELECT * FROM item ORDER BY id", "A: rollback", "A: SELECT * FROM item ORDER BY id")...)
			}
			require.EqualValues(t, 7, harness.Number(t, tw.Ours, "SELECT spare FROM item WHERE id = 3"))
		}
	})
}

// TestSoldOutPrepared proves that a prepared statement finds out in one round trip, too,
// and that what the server says of slots is told nobody.
func TestSoldOutPrepared(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, stockroom, harness.Counters("item", "stock"))
		sell, err := harness.Session(t, tw.Ours).PrepareContext(t.Context(), "UPDATE item SET stock = stock - ? WHERE id = ? AND stock >= ?")
		require.NoError(t, err)
		defer sell.Close()
		sold := func(id int) (n int64) {
			res, err := sell.ExecContext(t.Context(), 1, id, 1)
			require.NoError(t, err)
			n, err = res.RowsAffected()
			require.NoError(t, err)
			return n
		}
		require.EqualValues(t, 0, sold(2))
		for id, want := range map[int]int64{1: 1, 2: 0, 6: 0} {
			sent := tw.Sent.During(func() { require.Equal(t, want, sold(id)) })
			require.Len(t, sent, 1, "%v", sent)
		}
		require.EqualValues(t, 1, harness.Affected(t, tw.Ours, "UPDATE item SET stock = stock + 1 WHERE id = 3"))
		require.EqualValues(t, 1, sold(3))
		require.EqualValues(t, 0, sold(3))
		require.Empty(t, harness.Stats(t, tw.Ours).Errors)
		_, err = tw.Ours.Exec("SET @x = 18446744073709551615 + 1") // the application's own, and without a name
		require.Equal(t, 1690, harness.ErrorNumber(err))
		require.NotEmpty(t, harness.Stats(t, tw.Ours).Errors)
	})
}

// TestGuardedConditions proves that a condition holds behind the guard where it holds by
// itself, whatever it is true by.
func TestGuardedConditions(t *testing.T) {
	const schema = "CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(9), price DECIMAL(10,2), n BIGINT UNSIGNED, moved DATETIME(3) NULL);\n" +
		"INSERT INTO item VALUES (1, 'a', 0.4, 18446744073709551615, '2026-01-01'), (2, 'b', 0, 0, NULL), (3, '', -0.2, 5, '0001-01-01')"
	wheres := []string{"price", "NOT price", "-price", "(price XOR n)", "moved", "n", "n & 1", "(price || name)", "price * 1e0", "CAST(price AS CHAR)", "CONCAT(price)",
		"n NOT BETWEEN 3 AND 4 AND n NOT IN (9)", "moved > '2025-01-01'", "moved = 20260101", "n = '18446744073709551615'", "n = 18446744073709551615.0",
		"price LIKE '0.4%'", "n IN ('5', 'x')", "moved IN ('2026-01-01')", "NULLIF(price, 0.4)"}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, mode := range [][]string{nil, {"sql_mode=''"}} {
			config := harness.Counters("item", "price", "n")
			config.Tables[0].Touch = []string{"moved"}
			tw := harness.NewTwin(t, srv, schema, config, mode...)
			for _, where := range wheres {
				for _, id := range []string{"1", "2", "3"} {
					tw.Play(t, "A: UPDATE item SET name = 'x', n = n WHERE id = "+id+" AND "+where, "A: SHOW COUNT(*) WARNINGS",
						"A: UPDATE item SET name = '', price = price * 1 WHERE id = "+id+" AND "+where, "A: SHOW COUNT(*) WARNINGS", "A: SELECT * FROM item ORDER BY id")
				}
			}
		}
	})
}

// TestGuardedByNumber proves that an exact statement writes all rows whose key, a text,
// is the number that it gives: those with slots were left out.
func TestGuardedByNumber(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, stockroom, harness.Counters("item", "stock"), "sql_mode=''")
		tw.Play(t, "A: UPDATE item SET stock = stock + 7 WHERE id = 3", "A: UPDATE item SET stock = 9 WHERE sku = 0", "A: SELECT id, stock FROM item ORDER BY id")
		tw.Play(t, "A: UPDATE item SET stock = stock + 7 WHERE id = 4", "A: UPDATE item SET stock = stock + 7 WHERE id = 3", "A: DELETE FROM item WHERE sku = 0 AND stock < 16", "A: SELECT id, stock FROM item ORDER BY id")
	})
}

var ownName = regexp.MustCompile("`itg_\\w+`")

// TestSoldOutWarnings proves that what is sold out leaves the warnings of plain MySQL.
func TestSoldOutWarnings(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, stockroom, harness.Counters("item", "stock", "spare"), "sql_mode=''")
		for _, sale := range sales {
			for _, id := range []string{"1", "2", "4", "6"} {
				steps := []string{"A: " + strings.ReplaceAll(sale, "#", id), "A: SHOW WARNINGS"}
				told := func(db *sql.DB) string { // 1690 names the database
					return ownName.ReplaceAllString(strings.Join(harness.PlayOn(t, db, steps), "\n"), "db")
				}
				require.Equal(t, told(tw.Plain), told(tw.Ours))
			}
		}
	})
}

// TestSoldOutWaits proves that a sale of what is sold out waits for who has the row
// locked, at every isolation level, and sells what that one brings.
func TestSoldOutWaits(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, stockroom, harness.Counters("item", "stock"))
		for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
			for _, level := range []sql.IsolationLevel{sql.LevelReadUncommitted, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
				harness.Affected(t, db, "UPDATE item SET stock = 0 WHERE id = 2")
				restock, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
				require.NoError(t, err)
				defer restock.Rollback()
				require.EqualValues(t, 1, harness.Affected(t, restock, "UPDATE item SET stock = 1 WHERE id = 2"))
				conn := harness.Session(t, db)
				harness.Affected(t, conn, "SET SESSION TRANSACTION ISOLATION LEVEL "+strings.ToUpper(level.String()))
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				sold := make(chan int64, 1)
				go func() {
					res, err := conn.ExecContext(ctx, "UPDATE item SET stock = stock - 1 WHERE id = 2 AND stock >= 1")
					if err != nil {
						sold <- -1
						return
					}
					n, _ := res.RowsAffected()
					sold <- n
				}()
				select {
				case n := <-sold:
					require.Fail(t, "did not wait", "%v: %d", level, n)
				case <-time.After(50 * time.Millisecond):
				}
				require.NoError(t, restock.Commit())
				require.EqualValues(t, 1, <-sold, level)
			}
		}
	})
}
