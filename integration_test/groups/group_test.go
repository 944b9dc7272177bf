package groups

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

var crowdedTables = []string{"item", "page", "word", "big", "seen"}

// job is a statement whose answer does not depend on what others count.
type job struct {
	text     string
	args     []any
	prepared bool
}

func (j job) Run(ctx context.Context, on *sql.Conn) string {
	var res sql.Result
	var err error
	if j.prepared {
		var stmt *sql.Stmt
		if stmt, err = on.PrepareContext(ctx, j.text); err == nil {
			res, err = stmt.ExecContext(ctx, j.args...)
			stmt.Close()
		}
	} else {
		res, err = on.ExecContext(ctx, j.text, j.args...)
	}
	if harness.ErrorNumber(err) == 1213 { // lists of different keys take rows in different orders, on plain MySQL as well
		return j.Run(ctx, on)
	}
	if err != nil {
		return harness.Told(err)
	}
	n, _ := res.RowsAffected()
	id, _ := res.LastInsertId()
	return fmt.Sprintf("affected %d, id %d", n, id)
}

// increments makes a random job of client i.
func increments(r *rand.Rand, i, k int) job {
	pick := func(of ...any) any { return of[r.IntN(len(of))] }
	id := func() any {
		return pick(1, 2, 3, 4, int64(5), "6", 7, -8, 2147483647, 10, 11, 99, 1, 1, 2, uint64(3), 2.0, true)
	}
	slug := func() any {
		return pick("a", "A", "b", "ccc", "CCC ", "ärge", "Ärge", "it's", `x\y`, "nobody", "a\x00", "ａ", []byte("a"), "max", nil, 5)
	}
	d := func() any { return pick(1, 2, -3, int8(1), uint(4), "2", 0, true) }
	date := func() any {
		return pick("2026-01-02", "2026-1-2", time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), "2026-01-02 00:00:00", 20260102)
	}
	jobs := []job{
		{text: "UPDATE item SET n = n + 1 WHERE id = ?", args: []any{id()}},
		{text: "UPDATE item SET n = n + 1 WHERE id = ?", args: []any{id()}},
		{text: "UPDATE item SET n = n + 1 WHERE id = 1"},
		{text: fmt.Sprintf("UPDATE item SET n = n + 1 WHERE id = %d", r.IntN(13))},
		{text: "UPDATE item SET n = n - ? WHERE id = ?", args: []any{d(), id()}},
		{text: "UPDATE item SET n = n + ?, m = m + ?, d = d + ? WHERE id = ?", args: []any{d(), pick(1, -2, "3"), pick(1, "0.25", -4), id()}},
		{text: "UPDATE item SET d = d + 0.25, u = u + 1 WHERE id = ?", args: []any{id()}},
		{text: "UPDATE item SET m = COALESCE(m, 0) + ? WHERE id = ? AND slug <> 'null'", args: []any{2, id()}},
		{text: "UPDATE item SET m = m + 2 WHERE slug = ?", args: []any{slug()}},
		{text: "UPDATE item SET n = n + 2 WHERE slug = ? AND state = 'open'", args: []any{slug()}},
		{text: "UPDATE `item` SET `n`=n + ? WHERE `item`.`deleted_at` IS NULL AND `id` = ?", args: []any{d(), id()}},
		{text: "UPDATE item AS i SET i.n = i.n + 1 WHERE i.state = ? AND i.id = ? AND i.deleted_at IS NULL", args: []any{pick("open", "OPEN", "shut"), id()}},
		{text: "UPDATE item i SET n = n + 1 WHERE (i.id = 3) AND (state = 'shut' OR slug LIKE 'c%')"},
		{text: "UPDATE item SET n = n + 1 WHERE id = 3 AND id = ?", args: []any{id()}},
		{text: "UPDATE item SET n = n + 1 WHERE id = ? AND slug = ?", args: []any{id(), slug()}},
		{text: "UPDATE item SET n = n + 1, d = d - 1.5 WHERE id IN (?, ?, ?)", args: []any{id(), id(), id()}},
		{text: "UPDATE item SET n = n + 1 WHERE slug IN ('a', 'B', ?)", args: []any{slug()}},
		{text: "UPDATE item SET n = n + 1 WHERE id IN (1, 10, 99) AND deleted_at IS NULL"},
		{text: "UPDATE item SET m = m + 1 WHERE id IN (1, 11)"},
		{text: "UPDATE page SET hits = hits + 1 WHERE day = CURRENT_DATE AND name = ?", args: []any{pick("home", "HOME", "x")}},
		{text: "UPDATE page SET hits = hits + 1 WHERE day = ? AND name = ?", args: []any{date(), pick("home", "Home ", "about", "x")}},
		{text: "UPDATE page SET hits = hits + 1 WHERE day = '2026-01-02' AND name IN ('home', 'about')"},
		{text: "INSERT INTO page (day, name, hits) VALUES (?, 'home', 1) ON DUPLICATE KEY UPDATE hits = hits + 1", args: []any{date()}},
		{text: "INSERT INTO page (day, name, hits) VALUES (CURRENT_DATE, 'home', 3) ON DUPLICATE KEY UPDATE hits = hits + VALUES(hits)"},
		{text: "INSERT INTO page (day, name, hits) VALUES ('2026-01-02', 'home', 1), ('2026-01-02', 'ABOUT', 2) ON DUPLICATE KEY UPDATE hits = hits + VALUES(hits)"},
		{text: "INSERT INTO page (day, name, hits) VALUES ('2026-05-05', ?, 1) ON DUPLICATE KEY UPDATE hits = hits + 1", args: []any{fmt.Sprintf("new %d %d", i, k/4)}},
		{text: "UPDATE word SET n = n + 1 WHERE w = ?", args: []any{pick("a", "A", "a ", []byte("a"), []byte("\x00\xff"), "\x00\xff", "é", []byte("é"), "b")}},
		{text: "UPDATE word SET n = n + 1 WHERE w = 'a'"},
		{text: "UPDATE big SET n = n + 1 WHERE id = ?", args: []any{pick(1, uint64(1<<64-1), uint64(1<<63), int64(1<<63-1), "9007199254740993", "18446744073709551615", -1, int64(9007199254740992), 9007199254740993.0)}},
		{text: "UPDATE seen SET n = n + 1 WHERE id = ?", args: []any{pick(1, 2, 3, 4)}},
		{text: "UPDATE seen SET n = n + 1, at = NOW() WHERE id = ?", args: []any{pick(1, 2, 3, 4)}},
		{text: "UPDATE seen SET n = n + 1, at = NOW(3) WHERE id = 1"},
		{text: "UPDATE seen SET at = ?, n = n + 1 WHERE id = ? AND title = ''", args: []any{time.Now().UTC(), pick(1, 2, 3, 4)}},
		{text: "UPDATE seen SET at = ?, n = n + 1 WHERE id IN (1, 3)", args: []any{time.Now().UTC().Format("2006-01-02 15:04:05.000")}},
	}
	j := jobs[r.IntN(len(jobs))]
	j.prepared = r.IntN(4) == 0
	return j
}

// contents are the tables' rows, with the times that depend on the clock left out.
func contents(t *testing.T, db *sql.DB) string {
	t.Helper()
	var all []string
	for _, table := range crowdedTables {
		cols := "*"
		if table == "seen" {
			cols = "id, n, title, at IS NULL, ts IS NULL"
		}
		all = append(all, table+": "+harness.Queried(t.Context(), db, "SELECT "+cols+" FROM "+table+" ORDER BY 1, 2"))
	}
	return strings.Join(all, "\n")
}

// sameDay is CURRENT_DATE in the session's time zone. If the day is about to end
// there, it waits for the next: all databases have to be asked on the same one.
func sameDay(t *testing.T, db *sql.DB) string {
	t.Helper()
	if left := harness.Number(t, db, "SELECT TIMESTAMPDIFF(SECOND, NOW(), CURRENT_DATE + INTERVAL 1 DAY)"); left < 60 {
		time.Sleep(time.Duration(left+1) * time.Second)
	}
	var day string
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT CAST(CURRENT_DATE AS CHAR)").Scan(&day))
	return "'" + day + "'"
}

// TestGroupAnswers proves that under many clients each caller has the answer
// that plain gives, whatever goes with it, and that the sums are exact.
func TestGroupAnswers(t *testing.T) {
	const clients, each = 16, 25
	variants := map[string][]string{
		"interpolated":         {"interpolateParams=true"},
		"prepared":             {"interpolateParams=false"},
		"found rows":           {"interpolateParams=true", "clientFoundRows=true", "parseTime=true"},
		"modes":                {"interpolateParams=true", "sql_mode=%27ANSI,NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES%27"},
		"latin1":               {"interpolateParams=false", "charset=latin1"},
		"collation":            {"interpolateParams=true", "collation=utf8mb4_bin"},
		"zone":                 {"interpolateParams=true", "time_zone=%27%2B09:00%27", "loc=Asia%2FTokyo", "parseTime=true"},
		"lenient":              {"interpolateParams=true", "sql_mode=%27%27"},
		"read committed":       {"interpolateParams=true", "transaction_isolation=%27READ-COMMITTED%27"},
		"without group commit": {"interpolateParams=true"},
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for name, params := range variants {
			t.Run(name, func(t *testing.T) {
				config := harness.CrowdedCounters()
				config.NoGroupCommit = name == "without group commit"
				if harness.MariaDB(srv) {
					params = slices.Clone(params)
					for i, p := range params {
						params[i] = strings.Replace(p, "transaction_isolation", "tx_isolation", 1)
					}
				}
				today := sameDay(t, harness.Open(t, srv.DSN("", params...)))
				tw := harness.NewTwin(t, srv, strings.ReplaceAll(harness.Crowded, "CURRENT_DATE", today), config, params...)
				seed := rand.Uint64()
				var jobs [clients][]job
				for i := range jobs {
					r := rand.New(rand.NewPCG(seed, uint64(i)))
					for k := range each {
						jobs[i] = append(jobs[i], increments(r, i, k))
					}
				}
				play := func(db *sql.DB, i int) []string {
					conn, err := db.Conn(t.Context())
					if err != nil {
						return []string{err.Error()}
					}
					defer conn.Close()
					var answers []string
					for _, j := range jobs[i] {
						answers = append(answers, fmt.Sprintf("%s %v %v → %s", j.text, j.args, j.prepared, j.Run(t.Context(), conn)))
					}
					return answers
				}
				var got [clients][]string
				sent := tw.Sent.During(func() {
					var wg sync.WaitGroup
					for i := range jobs {
						wg.Go(func() { got[i] = play(tw.Ours, i) })
					}
					wg.Wait()
				})
				for i := range jobs {
					for k, want := range play(tw.Plain, i) {
						if got[i][k] != want {
							t.Errorf("seed %d: %s\nbut ours: %s", seed, want, got[i][k])
						}
					}
				}
				require.Equal(t, contents(t, tw.Plain), contents(t, tw.Ours), "seed %d", seed)
				together := 0
				for _, s := range sent {
					if harness.WritesSlots.MatchString(s.Text) && strings.Contains(s.Text, "UNION ALL") {
						together++
					}
				}
				if name != "without group commit" {
					require.NotZero(t, together, "nothing went together")
				}
			})
		}
	})
}
