// Package reserve proves what happens where guarded updates inside transactions take from
// reserved rows: that nothing is sold that is not there, and that everybody else sees one value.
package reserve

import (
	"database/sql"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

const shop = `
CREATE TABLE item (id INT PRIMARY KEY, title VARCHAR(20) NOT NULL DEFAULT '', stock INT UNSIGNED NOT NULL, views INT UNSIGNED NOT NULL DEFAULT 0, turnover DECIMAL(12,2) NOT NULL DEFAULT 0,
 moved DATETIME(6) NULL ON UPDATE CURRENT_TIMESTAMP(6));
CREATE TABLE sale (id INT AUTO_INCREMENT PRIMARY KEY, item_id INT NOT NULL, n INT NOT NULL, FOREIGN KEY (item_id) REFERENCES item (id));
INSERT INTO item (id, stock) VALUES (1, 10000), (2, 10000), (3, 10000), (4, 0);
`

// rows is how many reserved rows an item has.
const rows = 16

func reserved() *countermysql.Config {
	config := harness.Counters("item", "stock", "views", "turnover")
	config.Rollup = time.Hour
	config.Tables[0].Reserve = map[string]int{"stock": rows, "views": 0}
	return config
}

func newShop(t *testing.T, srv *testserver.Server, config *countermysql.Config) *harness.Twin {
	t.Helper()
	tw := harness.NewTwin(t, srv, shop, config, "interpolateParams=true", "innodb_lock_wait_timeout=20")
	tw.Ours.SetMaxOpenConns(64)
	tw.Ours.SetMaxIdleConns(64)
	return tw
}

const (
	buy  = "UPDATE item SET stock = stock - ? WHERE id = ? AND stock >= ?"
	sell = "INSERT INTO sale (item_id, n) VALUES (?, ?)"
)

// stockAndSales is what has been there: one moment's, whoever reads it.
const stockAndSales = "SELECT i.stock + (SELECT COALESCE(SUM(n), 0) FROM sale) FROM item i WHERE i.id = 1"

// inReserve is what reserved rows of an item hold.
func inReserve(t *testing.T, tw *harness.Twin, id int) int64 {
	t.Helper()
	return harness.Number(t, tw.Direct, fmt.Sprintf("SELECT CAST(COALESCE(SUM(stock), 0) AS SIGNED) FROM item_slots WHERE id = %d AND slot >= 64512", id))
}

// want has several transactions at once want one of an item, which fills its reserved rows.
func want(t *testing.T, tw *harness.Twin, ids ...int) {
	t.Helper()
	for _, id := range ids {
		require.Eventually(t, func() bool {
			var first, second *sql.Tx
			var err error
			first, err = tw.Ours.Begin()
			require.NoError(t, err)
			_, err = first.Exec(buy, 1, id, 1)
			require.NoError(t, err)
			var wg sync.WaitGroup
			wg.Go(func() {
				second, err = tw.Ours.Begin()
				if err == nil {
					_, err = second.Exec(buy, 1, id, 1)
				}
			})
			time.Sleep(20 * time.Millisecond)
			require.NoError(t, first.Rollback())
			wg.Wait()
			require.NoError(t, err)
			require.NoError(t, second.Rollback())
			time.Sleep(20 * time.Millisecond)
			return inReserve(t, tw, id) > 0
		}, 20*time.Second, 10*time.Millisecond)
	}
}
