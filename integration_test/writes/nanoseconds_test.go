package writes

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestNanoseconds proves that an increment by a time with nanoseconds finds the
// row that it finds on plain MySQL, where the server rounds or finds none.
func TestNanoseconds(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=true", "interpolateParams=false"} {
			tw := harness.NewTwin(t, srv, "CREATE TABLE tick (at DATETIME(6) PRIMARY KEY, hits INT NOT NULL DEFAULT 0)",
				&countermysql.Config{Tables: []countermysql.TableConfig{{Table: "tick", Counters: []string{"hits"}}}}, params)
			tw.Play(t, "A: INSERT INTO tick (at) VALUES ('2026-01-02 03:04:05.123456'), ('2026-01-02 03:04:05.123457')")
			for _, nanoseconds := range []int{123456000, 123456789, 123456001} {
				at := time.Date(2026, 1, 2, 3, 4, 5, nanoseconds, time.UTC)
				for _, text := range []string{"UPDATE tick SET hits = hits + 1 WHERE at = ?", "INSERT INTO tick (at, hits) VALUES (?, 1) ON DUPLICATE KEY UPDATE hits = hits + 1"} {
					require.Equal(t, harness.Told2(tw.Plain.Exec(text, at)), harness.Told2(tw.Ours.Exec(text, at)), "%s %s", text, at)
					require.Equal(t, harness.ToldInTransaction(t, tw.Plain, text, at), harness.ToldInTransaction(t, tw.Ours, text, at), "%s %s", text, at)
					tw.Same(t, "SELECT at, hits FROM tick ORDER BY at")
				}
			}
		}
	})
}

// TestNanosecondsOfTouch proves that a touch column takes a time with nanoseconds as on
// plain MySQL, which rounds them.
func TestNanosecondsOfTouch(t *testing.T) {
	const schema = `CREATE TABLE page (id INT PRIMARY KEY, hits INT NOT NULL DEFAULT 0, at DATETIME(6) NULL, coarse DATETIME NULL, made DATETIME(6) NULL);
INSERT INTO page (id) VALUES (1), (2)`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=true", "interpolateParams=false"} {
			tw := harness.NewTwin(t, srv, schema, &countermysql.Config{Tables: []countermysql.TableConfig{{Table: "page", Counters: []string{"hits"}, Touch: []string{"at", "coarse"}}}}, params)
			for _, nanoseconds := range []time.Duration{0, 789, 499, 500} {
				for _, where := range []string{"id = 1", "id IN (1, 2)"} {
					at := time.Now().Truncate(time.Microsecond).Add(nanoseconds)
					for _, db := range []*sql.DB{tw.Plain, tw.Direct} {
						harness.Affected(t, db, "UPDATE page SET made = ?", at.Truncate(time.Microsecond))
					}
					for _, run := range []func(*sql.DB, string, ...any) string{
						func(db *sql.DB, text string, args ...any) string { return harness.Told2(db.Exec(text, args...)) },
						func(db *sql.DB, text string, args ...any) string {
							return harness.ToldInTransaction(t, db, text, args...)
						},
					} {
						for _, text := range []string{"UPDATE page SET hits = hits + 1, at = ?, coarse = ? WHERE " + where, "UPDATE page SET hits = hits + 1 WHERE (made < ? OR made = ?) AND " + where} {
							require.Equal(t, run(tw.Plain, text, at, at), run(tw.Ours, text, at, at), text)
							tw.Same(t, "SELECT * FROM page ORDER BY id")
						}
					}
				}
			}
			require.NotZero(t, harness.Stats(t, tw.Ours).Increments)
		}
	})
}
