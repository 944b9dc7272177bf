// Package writes proves that statements that change counters do what they do on plain go-sql-driver.
package writes

import (
	"os"
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
