// Package connections proves what concerns connections and servers: pools, settings, failures, clusters.
package connections

import (
	"os"
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
