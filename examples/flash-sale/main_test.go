package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/servertest"
)

// TestFlashSale proves that the shop sells what it has, once, and counts every visit, and that
// it does and answers the same on go-sql-driver/mysql.
func TestFlashSale(t *testing.T) {
	servertest.Alone(t, func(t *testing.T, d servertest.Database) {
		for driver, params := range map[string][]string{"mysql": nil, "countermysql": {"counters=item.stock,item.visits", "counterCreateSlots=true", "counterReserve=32"}} {
			for buyers, want := range map[int]string{
				150: "150 pages shown, 100 orders taken, 65 refused, 0 failed\n150 visits counted, 100 pieces sold, 0 left\n",
				40:  "40 pages shown, 40 orders taken, 4 refused, 0 failed\n40 visits counted, 40 pieces sold, 60 left\n",
			} {
				s, err := open(driver, d.DSN(params...))
				require.NoError(t, err)
				text, err := s.rush(t.Context(), buyers)
				require.NoError(t, err)
				require.NoError(t, s.db.Close())
				require.Equal(t, want, text, driver)
			}
		}
	})
}
