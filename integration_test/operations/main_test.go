// Package operations proves what operators use: Check, Explain, Rollup, Stats.
package operations

import (
	"os"
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
