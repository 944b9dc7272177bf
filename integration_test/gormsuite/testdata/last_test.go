package tests_test

import (
	"os"
	"testing"

	"github.com/countermysql/countermysql"
)

var microseconds = 6

// TestCountersUsed is put among GORM's tests, as the last: passes mean nothing
// if the driver has had no counters, or plain's were not of plain go-sql-driver.
func TestCountersUsed(t *testing.T) {
	db, err := DB.DB()
	if err != nil {
		t.Fatal(err)
	}
	s, err := countermysql.Stats(db)
	if os.Getenv("GORM_DRIVER") != "countermysql" {
		if err == nil {
			t.Error("plain's runs were on our driver")
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d increments, %d sums, %d verbatim, exact: %v", s.Increments, s.Sums, s.Verbatim, s.Exact)
	if s.Increments == 0 || s.Sums == 0 || len(s.Exact) == 0 {
		t.Error("the suite has not used the counters")
	}
}
