package integration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestNanoseconds proves that an increment by a time with nanoseconds finds the
// row that it finds on plain MySQL, where the server rounds or finds none.
func TestNanoseconds(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=true", "interpolateParams=false"} {
			tw := newTwin(t, srv, "CREATE TABLE tick (at DATETIME(6) PRIMARY KEY, hits INT NOT NULL DEFAULT 0)",
				&countermysql.Config{Tables: []countermysql.TableConfig{{Table: "tick", Counters: []string{"hits"}}}}, params)
			tw.play(t, "A: INSERT INTO tick (at) VALUES ('2026-01-02 03:04:05.123456'), ('2026-01-02 03:04:05.123457')")
			for _, nanoseconds := range []int{123456000, 123456789, 123456001} {
				at := time.Date(2026, 1, 2, 3, 4, 5, nanoseconds, time.UTC)
				for _, text := range []string{"UPDATE tick SET hits = hits + 1 WHERE at = ?", "INSERT INTO tick (at, hits) VALUES (?, 1) ON DUPLICATE KEY UPDATE hits = hits + 1"} {
					require.Equal(t, told2(tw.plain.Exec(text, at)), told2(tw.ours.Exec(text, at)), "%s %s", text, at)
					require.Equal(t, toldInTransaction(t, tw.plain, text, at), toldInTransaction(t, tw.ours, text, at), "%s %s", text, at)
					tw.same(t, "SELECT at, hits FROM tick ORDER BY at")
				}
			}
		}
	})
}
