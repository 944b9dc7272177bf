package harness

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Waits reports whether somebody in the default database waits for a lock.
func Waits(t *testing.T, db Querier) bool {
	t.Helper()
	ids := "0"
	for id, waits := range Transactions(t, db) {
		if waits {
			ids += ", " + id
		}
	}
	return Number(t, db, fmt.Sprintf("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND (STATE LIKE 'Waiting for table%%' OR ID IN (%s))", ids)) > 0
}

var threadID = regexp.MustCompile(`thread id (\d+),`)

// Transactions are the sessions that have one in the server, by id, and whether they wait for a row's
// lock. information_schema.INNODB_TRX does not tell: it stays as it is for as long as somebody, of
// another test perhaps, reads it more often than ten times a second.
func Transactions(t *testing.T, db Querier) map[string]bool {
	t.Helper()
	var kind, name, status string
	require.NoError(t, db.QueryRowContext(t.Context(), "SHOW ENGINE INNODB STATUS").Scan(&kind, &name, &status))
	_, list, _ := strings.Cut(status, "LIST OF TRANSACTIONS FOR EACH SESSION")
	all := map[string]bool{}
	for _, of := range strings.Split(list, "---TRANSACTION ")[1:] {
		if id := threadID.FindStringSubmatch(of); id != nil && strings.Contains(of, ", ACTIVE ") {
			all[id[1]] = strings.Contains(of, "\nLOCK WAIT ")
		}
	}
	return all
}
