// Package reads proves that queries of counters have the answers of plain go-sql-driver.
package reads

import (
	"os"
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
