package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// longerKey is a table whose primary key another process makes longer, through the driver,
// while this one knows it as it was.
type longerKey struct {
	*harness.Twin
	a, b, plain *harness.Script
}

// newLongerKey has both processes plan what they count by the old key.
func newLongerKey(t *testing.T, srv *testserver.Server, rollup time.Duration, params ...string) *longerKey {
	config := harness.Counters("p", "n")
	config.Rollup = rollup
	tw := harness.NewTwin(t, srv, "CREATE TABLE p (id INT NOT NULL PRIMARY KEY, n INT NOT NULL DEFAULT 0);\n"+
		"INSERT INTO p VALUES (1, 0), (2, 0), (3, 0);\nCREATE TABLE note (id INT AUTO_INCREMENT PRIMARY KEY)", config, params...)
	other, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
	l := &longerKey{Twin: tw}
	for _, s := range []struct {
		to **harness.Script
		db func() *harness.Script
	}{
		{&l.a, func() *harness.Script { return &harness.Script{Db: other, Clients: map[string]*harness.Client{}} }},
		{&l.b, func() *harness.Script { return &harness.Script{Db: tw.Ours, Clients: map[string]*harness.Client{}} }},
		{&l.plain, func() *harness.Script { return &harness.Script{Db: tw.Plain, Clients: map[string]*harness.Client{}} }},
	} {
		*s.to = s.db()
		t.Cleanup((*s.to).End)
	}
	return l
}

// both plays steps, those of A through the other process, and compares with plain.
func (l *longerKey) both(t *testing.T, steps ...string) {
	t.Helper()
	for _, step := range steps {
		s := l.b
		if strings.HasPrefix(step, "A") {
			s = l.a
		}
		l.plain.Do(t, step)
		s.Do(t, step)
		require.Equal(t, l.plain.Answers[len(l.plain.Answers)-1], s.Answers[len(s.Answers)-1], strings.Join(l.plain.Answers, "\n"))
	}
}

// right requires that all is counted under keys that base rows have.
func (l *longerKey) right(t *testing.T) {
	t.Helper()
	const all = "SELECT id, b, n FROM p ORDER BY id, b"
	want := harness.Queried(t.Context(), l.Twin.Plain, all)
	require.Zero(t, harness.Number(t, l.Direct, "SELECT COUNT(*) FROM p_slots WHERE (id, b) NOT IN (SELECT id, b FROM p)"))
	const summed = "SELECT id, b, CAST(n + COALESCE((SELECT SUM(s.n) FROM p_slots s WHERE s.id = p.id AND s.b = p.b), 0) AS SIGNED) AS n FROM p ORDER BY id, b"
	require.Equal(t, strings.SplitN(want, "[", 2)[1], strings.SplitN(harness.Queried(t.Context(), l.Direct, summed), "[", 2)[1])
	l.both(t, "B: "+all, "A: "+all)
	newer, _ := harness.OpenOurs(t, l.OursDSN, l.Config)
	harness.RollUp(t, newer)
	require.Equal(t, want, harness.Queried(t.Context(), l.Direct, all))
	findings, err := countermysql.Check(t.Context(), newer)
	require.NoError(t, err)
	require.Empty(t, findings)
}

// longerKeys are new columns of the key.
var longerKeys = []string{"INT NOT NULL DEFAULT 7", "VARCHAR(20) NOT NULL DEFAULT 'x'", "DATETIME NOT NULL DEFAULT '2020-01-02 10:00:00'",
	"TIMESTAMP NOT NULL DEFAULT '2020-01-02 10:00:00'"}

// otherPart is another value of each of them.
const otherPart = "IF(b = '7', '8', '2021-01-02 10:00:00')"

var longerParams = [][]string{
	{"interpolateParams=true"},
	{"sql_mode=%27%27", "interpolateParams=true", "multiStatements=true"},
	{"sql_mode=%27%27"},
	{"sql_mode=%27%27", "explicit_defaults_for_timestamp=0"},
}

// TestLongerKey proves that what a process counts by the key that it knows goes to no other,
// in every sql_mode, while another process makes the key longer.
func TestLongerKey(t *testing.T) {
	t.Parallel()
	const one, upsert = "UPDATE p SET n = n + 1 WHERE id = 1", "INSERT INTO p (id, n) VALUES (1, 1) ON DUPLICATE KEY UPDATE n = n + 1"
	const many = "UPDATE p SET n = n + 10 WHERE id IN (1, 2)"
	ways := map[string][]string{
		"alone":   {one, one, many, one},
		"several": {many, one},
		"upsert":  {upsert, upsert, one},
		"exact":   {"UPDATE p SET n = n - 1 WHERE id = 1 AND n > 0", one},
		"read":    {"SELECT id, n FROM p ORDER BY id", "SELECT n FROM p WHERE id = 1", one},
		"rows":    {"INSERT INTO p (id, b, n) SELECT id, " + otherPart + ", 100 FROM p", "SELECT id, n FROM p ORDER BY id, n", one, "SELECT SUM(n), COUNT(*) FROM p"},
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for i, params := range longerParams {
			for j, k := range longerKeys {
				for n, name := range slices.Sorted(maps.Keys(ways)) {
					if (i+j/2+n)%3 != 0 { // an ALTER takes its time
						continue
					}
					way, rollup := ways[name], []time.Duration{countermysql.RollupNever, time.Hour}[(i/2+j+n/2)%2]
					t.Run(fmt.Sprint(name, k, params, rollup), func(t *testing.T) {
						l := newLongerKey(t, srv, rollup, params...)
						l.both(t, "A: "+one, "B: "+one, "B: "+upsert, "B: "+many, "B: UPDATE p SET n = n - 1 WHERE id = 1 AND n > 0", "B: SELECT n FROM p WHERE id = 1",
							"A: ALTER TABLE p DROP PRIMARY KEY, ADD COLUMN b "+k+", ADD PRIMARY KEY (id, b)")
						for _, stmt := range way {
							l.both(t, "B: "+stmt)
						}
						l.right(t)
						l.both(t, "B: UPDATE p SET n = n - 1 WHERE id = 1 AND n > 0", "B: "+one)
						l.right(t)
					})
				}
			}
		}
	})
}

// TestLongerKeyInGroups proves the same of increments that many send together.
func TestLongerKeyInGroups(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for i, params := range longerParams {
			for j, k := range longerKeys {
				rollup := []time.Duration{countermysql.RollupNever, time.Hour}[(i+j)%2]
				t.Run(fmt.Sprint(k, params, rollup), func(t *testing.T) {
					l := newLongerKey(t, srv, rollup, params...)
					var work sync.WaitGroup
					var mu sync.Mutex
					counted := map[int]int64{}
					end := make(chan struct{})
					for i := range 6 {
						work.Go(func() {
							id := 1 + i%3
							for {
								select {
								case <-end:
									return
								default:
								}
								res, err := l.Ours.Exec("UPDATE p SET n = n + 1 WHERE id = ?", id)
								if !(err == nil || harness.ErrorNumber(err) == 1213) {
									t.Errorf("counting: %v", err)
									return
								}
								if err == nil {
									n, _ := res.RowsAffected()
									mu.Lock()
									counted[id] += n
									mu.Unlock()
								}
							}
						})
					}
					time.Sleep(30 * time.Millisecond)
					l.a.Do(t, "A: ALTER TABLE p DROP PRIMARY KEY, ADD COLUMN b "+k+", ADD PRIMARY KEY (id, b)")
					time.Sleep(60 * time.Millisecond)
					close(end)
					work.Wait()
					require.Contains(t, l.a.Answers[0], "affected", l.a.Answers)
					require.Zero(t, harness.Number(t, l.Direct, "SELECT COUNT(*) FROM p_slots WHERE (id, b) NOT IN (SELECT id, b FROM p)"))
					newer, _ := harness.OpenOurs(t, l.OursDSN, l.Config)
					for id, n := range counted {
						require.Equal(t, n, harness.Number(t, newer, "SELECT n FROM p WHERE id = ?", id))
					}
					harness.RollUp(t, newer)
					for id, n := range counted {
						require.Equal(t, n, harness.Number(t, l.Direct, "SELECT n FROM p WHERE id = ?", id))
					}
				})
			}
		}
	})
}

// TestLongerKeyWhilePending proves that what transactions have counted by the old key is
// counted once or the transaction fails.
func TestLongerKeyWhilePending(t *testing.T) {
	t.Parallel()
	const one, note = "UPDATE p SET n = n + 1 WHERE id = 1", "INSERT INTO note VALUES ()"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for i, params := range longerParams {
			for j, k := range longerKeys {
				if (i+j)%2 == 0 { // an ALTER takes its time
					continue
				}
				for _, begin := range []string{[]string{"BEGIN", "begin", "begin RC"}[(i+j)%3]} {
					t.Run(fmt.Sprint(k, params, begin), func(t *testing.T) {
						l := newLongerKey(t, srv, []time.Duration{time.Hour, countermysql.RollupNever}[i%2], params...)
						commit := map[bool]string{true: "COMMIT", false: "commit"}[begin == "BEGIN"]
						want := int64(0)
						transactions := [][]string{{one}, {one, one}, {note, one}, {"UPDATE p SET n = n + 1 WHERE id IN (1, 3)"}}
						for i, x := range transactions {
							for _, stmt := range append([]string{begin}, x...) {
								l.b.Do(t, fmt.Sprintf("B%d: %s", i, stmt))
							}
						}
						l.a.Do(t, "A: ALTER TABLE p DROP PRIMARY KEY, ADD COLUMN b "+k+", ADD PRIMARY KEY (id, b)")
						require.Contains(t, l.a.Answers[0], "affected")
						l.a.Do(t, "A: INSERT INTO p (id, b, n) SELECT id, "+map[bool]string{true: "8", false: "'2021-01-02 10:00:00'"}[j == 0]+", 100 FROM p") // the old key names two rows
						require.Contains(t, l.a.Answers[1], "affected 3")
						for i, x := range transactions {
							l.b.Do(t, fmt.Sprintf("B%d: %s", i, commit))
							answer := l.b.Answers[len(l.b.Answers)-1]
							if !strings.Contains(answer, "error") && !strings.Contains(answer, "countermysql: ") {
								want += int64(len(x))
								if x[0] == note {
									want--
								}
							}
						}
						require.Zero(t, harness.Number(t, l.Direct, "SELECT COUNT(*) FROM p_slots WHERE (id, b) NOT IN (SELECT id, b FROM p)"))
						newer, _ := harness.OpenOurs(t, l.OursDSN, l.Config)
						const sum = "SELECT SUM(n) FROM p WHERE id = 1"
						require.Equal(t, 100+want, harness.Number(t, l.Ours, sum), l.b.Answers)
						require.Equal(t, 100+want, harness.Number(t, newer, sum))
						harness.RollUp(t, newer)
						require.Equal(t, 100+want, harness.Number(t, l.Direct, sum))
						require.EqualValues(t, 1, harness.Number(t, l.Direct, "SELECT COUNT(*) FROM p WHERE id = 1 AND n = 100"))
					})
				}
			}
		}
	})
}
