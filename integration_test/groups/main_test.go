// Package groups proves what happens when many write at once: group commit, waiting, deadlocks.
package groups

import (
	"os"
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
