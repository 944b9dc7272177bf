package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
)

// TestAdvise proves that the advice comes from counts that were right, and that
// nothing is left behind.
func TestAdvise(t *testing.T) {
	forEachServer(t, func(t *testing.T, o *tool) {
		o.t = t
		var stdout, stderr bytes.Buffer
		args := []string{"advise", "--yes", "--clients", "8", "--seconds", "0.1", "--rounds", "2", "--work", "1ms", "--json", "--dsn", o.dsn, "--config", o.config}
		code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr)
		var a advice
		require.NoError(t, json.Unmarshal(stdout.Bytes(), &a), "%s%s", &stdout, &stderr)
		require.Len(t, a.Trials, 5)
		if code == exitOK {
			require.Contains(t, []int{1, 2, 4, 8, 16}, a.Recommended)
		} else { // the machine has other work
			require.Equal(t, exitFound, code)
			require.NotEmpty(t, a.Refused)
			require.Zero(t, a.Recommended)
			require.Len(t, a.Trials[0].Rounds, 6)
		}
		for _, trial := range a.Trials {
			require.Positive(t, trial.PerSecond)
			require.Len(t, trial.Rounds, len(a.Trials[0].Rounds))
		}
		require.Zero(t, o.number(o.plain, fmt.Sprintf("SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'countermysql_advise_%d'", os.Getpid())))
		stdout.Reset()
		run(t.Context(), []string{"advise", "--yes", "--clients", "2", "--seconds", "0.05", "--rounds", "1", "--work", "0", "--dsn", o.dsn, "--config", o.config}, strings.NewReader(""), &stdout, &stderr)
		require.Regexp(t, `(?m)^  +8 slots │█+ \d+$`, stdout.String())
		require.Regexp(t, "(?m)^(recommended for 2 clients|nothing is recommended: )", stdout.String())
		stdout.Reset()
		code = run(t.Context(), append(args, "--stock"), strings.NewReader(""), &stdout, &stderr)
		var stock advice
		require.NoError(t, json.Unmarshal(stdout.Bytes(), &stock), "%s%s", &stdout, &stderr)
		require.Len(t, stock.Trials, 5)
		require.True(t, stock.Stock && code == exitOK && slices.Contains([]int{0, 2, 4, 8, 16}, stock.Recommended) || code == exitFound, "%+v", stock)
		require.Equal(t, 16, stock.Trials[4].Reserve)
		o.run(exitAsks, "advise")
		o.run(exitUsage, "advise", "--clients", "0")
		o.run(exitUsage, "advise", "--watch", "-1s")
	})
}

// TestSlotsInUse proves that top counts the slots of each key, and measures what
// they cost, for keys of any type.
func TestSlotsInUse(t *testing.T) {
	forEachServer(t, func(t *testing.T, o *tool) {
		o.t = t
		o.exec(o.plain, "CREATE TABLE page (name VARBINARY(8), day DATE, at DATETIME(6), hits BIGINT NOT NULL, PRIMARY KEY (name, day, at))")
		o.exec(o.plain, "INSERT INTO page VALUES (x'00FF', '2026-02-03', '2026-02-03 04:05:06.789', 0), ('a', '2026-02-03', '2026-02-03', 0)")
		require.NoError(t, os.WriteFile(o.config, []byte("tables: [{table: page, counters: [hits], slots: 8}]"), 0o600))
		o.run(exitOK, "init", "--yes")
		o.exec(o.plain, "INSERT INTO page_slots (name, day, at, key3_slot, hits) SELECT name, day, at, seq.n, 1 FROM page JOIN (SELECT 0 AS n UNION SELECT 1 UNION SELECT 2 UNION SELECT 3) seq WHERE seq.n = 0 OR name <> 'a'")
		for _, params := range []string{"", "?parseTime=true&loc=Asia%2FTokyo", "?interpolateParams=true"} {
			dsn := o.dsn
			o.dsn += params
			var seen view
			o.runJSON(exitOK, &seen, "top", "--every", "1ms", "--count", "1")
			o.dsn = dsn
			require.Len(t, seen.Tables, 1)
			got := seen.Tables[0]
			require.Positive(t, got.FullestRead.Seconds, "%s: the key was not found", params)
			require.Positive(t, got.FullestRead.BaseSeconds)
			got.FullestRead = readCost{}
			require.Equal(t, tableView{Table: got.Table, Rows: 5, Keys: 2, SlotsPerKey: 2.5, SlotsMost: 4, SlotsAvailable: 8}, got)
		}
		out, _ := o.run(exitOK, "top", "--every", "1ms", "--count", "1")
		require.Regexp(t, `\.page │ +2 │ +5 │ 2\.5 +│ 4 of 8 +│ \d+ µs, \d+\.\d × \d+ µs`, out)
	})
}

// TestCompare proves that increments, decrements and rollups are told apart as
// far as two looks can.
func TestCompare(t *testing.T) {
	at := func(second int64, amounts map[string]int64) *look {
		k := &seenKey{}
		for slot, n := range amounts {
			k.slots = append(k.slots, seenSlot{slot, []string{fmt.Sprint(n)}})
		}
		return &look{at: time.Unix(second, 0), tables: []seenTable{{
			TableInfo: countermysql.TableInfo{Database: "d", Table: "t", Counters: []string{"n"}},
			keys:      map[string]*seenKey{"id=1": k},
		}}}
	}
	for _, test := range []struct {
		last, now map[string]int64
		arrived   float64
		written   int
	}{
		{nil, map[string]int64{"0": 4}, 4, 1},
		{nil, map[string]int64{"0": 0}, 0, 0}, // another counter's
		{map[string]int64{"0": 4, "1": 7}, map[string]int64{"0": 9, "1": 7}, 5, 1},
		{map[string]int64{"0": 10}, map[string]int64{"0": 9}, -1, 1},
		{map[string]int64{"0": -5}, map[string]int64{"0": -8}, -3, 1},
		{map[string]int64{"0": 10, "1": 3}, map[string]int64{"0": 2}, 2, 1}, // rolled up
	} {
		v := compare(at(1, test.last), at(3, test.now), 10)
		require.InDelta(t, test.arrived/2, v.Counters[0].PerSecond, 1e-9, "%v", test)
		require.Equal(t, test.written, v.Counters[0].SlotsWritten, "%v", test)
	}
}

// TestAdviseWatch proves that waits for slots widen, that a quiet counter gets
// fewer, and that what can't be seen is not advised upon.
func TestAdviseWatch(t *testing.T) {
	forEachServer(t, func(t *testing.T, o *tool) {
		o.t = t
		o.run(exitOK, "init", "--yes")
		watch := func(during func()) (out watched) {
			t.Helper()
			finished := make(chan struct{})
			go func() {
				defer close(finished)
				time.Sleep(300 * time.Millisecond) // after the first look
				during()
			}()
			o.runJSON(exitOK, &out, "advise", "--watch", "1500ms")
			<-finished
			require.Len(t, out.Counters, 2)
			require.Equal(t, "posts", out.Counters[0].Counter)
			return out
		}
		increment := func() { o.exec(o.ours, "UPDATE blog SET posts = posts + 3 WHERE id = 1") }

		out := watch(func() {})
		require.Equal(t, 8, out.Counters[0].Recommended)
		require.Equal(t, "nothing was seen to arrive", out.Counters[0].Why)

		out = watch(increment)
		require.Empty(t, out.WaitsUnknown)
		require.InDelta(t, 3, out.Counters[0].PerSecond*out.Seconds, 0.001)
		require.Zero(t, out.Counters[1].PerSecond)
		require.Equal(t, 1, out.Counters[0].SlotsWritten)
		require.EqualValues(t, 1, out.Counters[0].SlotsInUse)
		require.Equal(t, 2, out.Counters[0].Recommended)

		// an increment that waits for what somebody else has locked
		blocked := func(query string) func() {
			return func() {
				tx, err := o.plain.Begin()
				require.NoError(t, err)
				var n int
				require.NoError(t, tx.QueryRow(query).Scan(&n))
				released := time.AfterFunc(700*time.Millisecond, func() { tx.Rollback() })
				defer released.Stop()
				increment()
			}
		}
		out = watch(blocked("SELECT COUNT(*) FROM blog_slots WHERE id = 1 FOR UPDATE")) // every slot that there may be
		require.Positive(t, out.Counters[0].Waiting, "%+v", out)
		require.Zero(t, out.Counters[0].WaitingBase, "%+v", out)
		require.Positive(t, out.LockWaits)
		require.Equal(t, 16, out.Counters[0].Recommended)
		require.Equal(t, out.Counters[0].Why, out.Counters[1].Why, "they share the slots")

		out = watch(blocked("SELECT COUNT(*) FROM blog WHERE id = 1 FOR UPDATE"))
		require.Positive(t, out.Counters[0].WaitingBase, "%+v", out)
		require.Zero(t, out.Counters[0].Waiting, "%+v", out)
		require.Equal(t, 2, out.Counters[0].Recommended, "more slots don't help")
	})
}

// TestArrivedBesideFold proves that what arrives while a key is folded is told, though each of its
// slots holds less than at the look before: a hot key is folded once a second.
func TestArrivedBesideFold(t *testing.T) {
	forEachServer(t, func(t *testing.T, o *tool) {
		o.t = t
		o.run(exitOK, "init", "--yes")
		o.exec(o.plain, "INSERT INTO blog_slots (id, slot, posts, views) VALUES (1, 0, 0, 10), (1, 1, 0, 20), (4, 0, 0, -5)")
		finished := make(chan struct{})
		go func() {
			defer close(finished)
			time.Sleep(300 * time.Millisecond) // after the first look
			tx, err := o.plain.Begin()
			require.NoError(t, err)
			for _, stmt := range []string{
				"UPDATE blog SET views = views + 30 WHERE id = 1",                                                 // folded,
				"UPDATE blog_slots SET views = CASE slot WHEN 0 THEN 9 ELSE 8 END WHERE id = 1",                   // and incremented again
				"UPDATE blog SET views = views - 5 WHERE id = 4", "UPDATE blog_slots SET views = -4 WHERE id = 4", // decremented
			} {
				_, err := tx.Exec(stmt)
				require.NoError(t, err)
			}
			require.NoError(t, tx.Commit())
		}()
		var out watched
		o.runJSON(exitOK, &out, "advise", "--watch", "1500ms")
		<-finished
		require.InDelta(t, 9+8-4, out.Counters[1].PerSecond*out.Seconds, 0.001)
		require.Zero(t, out.Counters[0].PerSecond)
	})
}

// TestAdviseBlind proves that advice without privileges says what it can't know.
func TestAdviseBlind(t *testing.T) {
	forEachServer(t, func(t *testing.T, o *tool) {
		o.t = t
		o.run(exitOK, "init", "--yes")
		cfg, err := mysql.ParseDSN(o.dsn)
		require.NoError(t, err)
		user := fmt.Sprintf("blind_%d", os.Getpid())
		o.exec(o.plain, "CREATE USER "+user+" IDENTIFIED BY 'secret'")
		defer o.exec(o.plain, "DROP USER "+user)
		o.exec(o.plain, "GRANT ALL ON "+cfg.DBName+".* TO "+user)
		cfg.User, cfg.Passwd = user, "secret"
		o.dsn = cfg.FormatDSN()
		o.exec(o.ours, "UPDATE blog SET posts = posts + 1 WHERE id = 1")
		_, refused := o.run(exitFailed, "advise", "--yes")
		require.Contains(t, refused, "GRANT ALL ON `countermysql\\_advise\\_%`.* to the tool's user")
		out, _ := o.run(exitOK, "advise", "--watch", "100ms")
		require.Contains(t, out, "who waits can't be told: ")
		require.Contains(t, out, "; GRANT ")
		require.Contains(t, out, "unknown")
	})
}

// TestReservedInTop proves that top shows what reserved rows hold, by counter, and takes what is
// moved there for no increments.
func TestReservedInTop(t *testing.T) {
	forEachServer(t, func(t *testing.T, o *tool) {
		o.t = t
		o.exec(o.plain, "CREATE TABLE item (id INT PRIMARY KEY, stock INT UNSIGNED NOT NULL, views INT NOT NULL)")
		o.exec(o.plain, "INSERT INTO item VALUES (1, 900, 5), (2, 3, 0)")
		require.NoError(t, os.WriteFile(o.config, []byte("tables: [{table: item, counters: [stock, views], slots: 8, reserve: {stock: 2}}]"), 0o600))
		o.run(exitOK, "init", "--yes")
		o.exec(o.plain, "INSERT INTO item_slots (id, slot, stock, views) VALUES (1, 3, 0, 2), (1, 64512, 40, 0), (1, 64513, 0, 0)")
		var seen view
		o.runJSON(exitOK, &seen, "top", "--every", "1ms", "--count", "1")
		require.Len(t, seen.Tables, 1)
		require.EqualValues(t, 1, seen.Tables[0].Rows)
		require.Equal(t, []*reservedView{{Counter: "stock", Rows: 2, Filled: 1, Units: "40"}}, seen.Tables[0].Reserved)
		for _, c := range seen.Counters {
			require.Zero(t, c.PerSecond)
		}
		out, _ := o.run(exitOK, "top", "--every", "1ms", "--count", "1")
		require.Regexp(t, `\.item │ stock +│ 40 +│ 2, 2 a key │ +1 │`, out)
	})
}

// TestBufferedInTop proves that top tells how many processes buffer a table's increments, and when they have flushed.
func TestBufferedInTop(t *testing.T) {
	forEachServer(t, func(t *testing.T, o *tool) {
		o.t = t
		require.NoError(t, os.WriteFile(o.config, []byte("tables: [{table: blog, counters: [posts, views], buffered: {every: 2s, counters: [views]}}]"), 0o600))
		o.run(exitOK, "init", "--yes")
		o.run(exitOK, "check")
		top := func() (*bufferedView, string) {
			var seen view
			o.runJSON(exitOK, &seen, "top", "--every", "1ms", "--count", "1")
			require.Len(t, seen.Tables, 1)
			out, _ := o.run(exitOK, "top", "--every", "1ms", "--count", "1")
			return seen.Tables[0].Buffered, out
		}
		b, out := top()
		require.Equal(t, &bufferedView{Every: 2}, b)
		require.Regexp(t, `\.blog │ 2s +│ +0 │ – +│ – +│`, out)
		o.exec(o.plain, "INSERT INTO countermysql_flushes (flusher, of_table, batch, stored_at) VALUES ('a', 'blog', 7, NOW() - INTERVAL 1000 SECOND), ('b', 'blog', 7, NOW() - INTERVAL 50 SECOND), ('c', 'other', 7, NOW())")
		b, _ = top()
		require.EqualValues(t, 2, b.Processes)
		require.InDelta(t, 50, b.Newest, 20)
		require.InDelta(t, 1000, b.Oldest, 20)
	})
}
