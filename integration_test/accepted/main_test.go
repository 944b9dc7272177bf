// Package accepted pins what differs from plain go-sql-driver, as docs/semantics.md lists it.
package accepted

import (
	"os"
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
