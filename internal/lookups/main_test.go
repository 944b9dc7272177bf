package lookups

import (
	"os"
	"testing"

	"github.com/countermysql/countermysql/internal/testserver"
)

func TestMain(m *testing.M) {
	code := m.Run()
	testserver.StopShared()
	os.Exit(code)
}
