package reads

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestLockedRowsTogether proves that a query which locks many rows, or reads many that its transaction
// has written, asks once whether they have slots, not once for each, and that those which some have are
// added.
func TestLockedRowsTogether(t *testing.T) {
	const rows = 60
	schema := "CREATE TABLE job (id INT, queue VARCHAR(10), state INT NOT NULL DEFAULT 0, tries INT NOT NULL DEFAULT 0, seen DATETIME NULL, PRIMARY KEY (queue, id), INDEX (state))"
	for i := range rows {
		schema += fmt.Sprintf(";\nINSERT INTO job (id, queue) VALUES (%d, '%s')", i, []string{"a", "B", "ü"}[i%3])
	}
	locking := []string{"A: SELECT id, queue, tries, seen FROM job WHERE state = 0 ORDER BY queue, id LIMIT 50 FOR UPDATE"}
	var reading []string
	for i := range rows / 3 {
		reading = append(reading, fmt.Sprintf("A: UPDATE job SET state = %d WHERE queue = 'A' AND id = %d", i%2, 3*i))
	}
	reading = append(reading, "A: SELECT id, tries, seen FROM job WHERE queue = 'a' ORDER BY id", "A: SELECT SUM(tries) FROM job")
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for name, steps := range map[string][]string{"locked": locking, "written": reading} {
			for _, level := range []string{"RR", "RC"} {
				for _, slots := range []bool{false, true} {
					t.Run(fmt.Sprint(name, " ", level, " ", slots), func(t *testing.T) {
						config := countermysql.Config{Rollup: countermysql.RollupNever, Tables: []countermysql.TableConfig{{Table: "job", Counters: []string{"tries"}, Touch: []string{"seen"}}}}
						tw := harness.NewTwin(t, srv, schema, &config)
						harness.ExecAll(t, tw.Ours, "UPDATE job SET state = 0")
						tw.Play(t, "A: begin "+level, "A: SELECT id FROM job WHERE id = 1", "A: commit")
						harness.RollUp(t, tw.Ours)
						if slots {
							harness.Affected(t, tw.Plain, "UPDATE job SET tries = 4, seen = '2026-01-02 03:04:05' WHERE id IN (3, 7)")
							harness.Affected(t, tw.Direct, "INSERT INTO job_slots (id, queue, key2_slot, tries, seen) SELECT id, queue, 3, 4, '2026-01-02 03:04:05' FROM job WHERE id IN (3, 7)")
						}
						sent := tw.Sent.During(func() {
							tw.Play(t, append(append([]string{"A: begin " + level}, steps...), "A: commit")...)
						})
						asked := 0
						for _, s := range sent {
							if strings.Contains(s.Text, "job_slots") {
								asked++
							}
						}
						if !slots {
							require.LessOrEqual(t, asked, 5)
						}
					})
				}
			}
		}
	})
}
