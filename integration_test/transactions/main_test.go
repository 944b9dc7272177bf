// Package transactions proves that transactions, savepoints and isolation levels are those of plain go-sql-driver.
package transactions

import (
	"os"
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
