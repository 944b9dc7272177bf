package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHistory proves that the tool shows what a counter has changed by, with what is in slots,
// and its values, in each form.
func TestHistory(t *testing.T) {
	forEachServer(t, func(t *testing.T, o *tool) {
		o.t = t
		o.run(exitUsage, "history", "blog.views", "--key", "1")
		require.NoError(t, os.WriteFile(o.config, []byte("rollup: {every: never}\ntables: [{table: blog, counters: [posts, views], history: {every: 1h, keep: 24h}}, {table: sum, counters: [n], history: {every: 24h}}, {table: '`a.b`', counters: [n], history: {}}]"), 0o600))
		o.exec(o.plain, "CREATE TABLE sum (n DECIMAL(10,2) NULL)")
		o.exec(o.plain, "INSERT INTO sum VALUES (1.5)")
		o.exec(o.plain, "CREATE TABLE `a.b` (id INT PRIMARY KEY, n INT NOT NULL)")
		o.run(exitOK, "init", "--yes")
		o.run(exitOK, "check")
		o.exec(o.plain, "UPDATE blog SET views = 100 WHERE id = 1")
		o.exec(o.plain, "UPDATE blog_history SET bucket = bucket - INTERVAL 2 HOUR")
		o.exec(o.plain, "UPDATE blog SET views = views - 30 WHERE id = 1")
		o.exec(o.plain, "INSERT INTO blog_slots (id, slot, views) VALUES (1, 0, 4), (1, 1, 3), (2, 0, 9)")

		var got series
		o.runJSON(exitOK, &got, "history", "BLOG.views", "--key", "1", "--since", "2h")
		require.Equal(t, json.Number("77"), asNumber(t, got.Value))
		require.Equal(t, json.Number("7"), asNumber(t, got.Open))
		require.InDelta(t, 3600, got.Every, 0)
		require.Equal(t, []any{1.0}, got.Key)
		last := time.Now().UTC().Truncate(time.Hour)
		require.Len(t, got.Intervals, 3)
		for i, want := range []struct {
			change, value json.Number
		}{{"100", "100"}, {"0", "100"}, {"-23", "77"}} {
			require.Equal(t, want.change, asNumber(t, got.Intervals[i].Change))
			require.Equal(t, want.value, asNumber(t, got.Intervals[i].Value))
			require.Equal(t, last.Add(time.Duration(i-2)*time.Hour).Format(time.RFC3339), got.Intervals[i].Bucket)
		}
		out, _ := o.run(exitOK, "history", "blog.views", "--key", "1", "--csv", "--since", last.Add(-2*time.Hour).Format("2006-01-02T15:04"))
		require.Equal(t, "bucket,change,value\n"+got.Intervals[0].Bucket+",100,100\n"+got.Intervals[1].Bucket+",0,100\n"+got.Intervals[2].Bucket+",-23,77\n", out)
		out, _ = o.run(exitOK, "history", "blog.views", "--key", "1")
		require.Regexp(t, "T\\d\\d:00:00Z │ 100 +│ 100 +│ █{30} +│", out)
		require.Regexp(t, "T\\d\\d:00:00Z │ -23 +│ 77 +│ ░{6} +│", out)
		require.Contains(t, out, "blog.views is 77 now, 7 of it in slots")
		require.Equal(t, 48, strings.Count(out, ":00:00Z"))
		out, _ = o.run(exitOK, "history", "blog.views", "--key", "1", "--every", "7d", "--since", "1d", "--csv")
		const week = 7 * 24 * 60 * 60 // from 1970 on, so that they begin on Thursdays
		if last.Unix()/week == last.Add(-2*time.Hour).Unix()/week {
			require.Contains(t, out, ",77,77\n")
		} else {
			require.Contains(t, out, ",-23,77\n")
		}
		out, _ = o.run(exitOK, "history", "blog.views", "--key", "77", "--since", "1h")
		require.Contains(t, out, "there is no such row now")

		o.exec(o.plain, "UPDATE sum SET n = 2")
		out, _ = o.run(exitOK, "history", "sum.n", "--csv", "--since", "0h")
		require.Regexp(t, `,0\.50,2\.00\n$`, out)

		for _, name := range []string{"a.b.n", "`a.b`.n", "`A.b`.`n`"} {
			o.run(exitOK, "history", name, "--key", "1")
		}
		for _, args := range [][]string{
			{"blog.none", "--key", "1"}, {"blog.views", "--key", "abc"}, {"blog.views", "--key", "1x"}, {"a.`b.n`", "--key", "1"}, {"blog.views"}, {"blog.views", "--key", "1", "--key", "2"}, {"blog.views", "--key", "1", "--every", "90m"}, {"blog.views", "--key", "1", "--every", "0d"},
			{"blog.views", "--key", "1", "--since", "soon"}, {"blog.views", "--key", "1", "--since", "2999-01-01"}, {"blog.views", "--key", "1", "--since", "2001-01-01"}, {"blog.views", "--key", "1", "--csv", "--json"},
		} {
			o.run(exitUsage, append([]string{"history"}, args...)...)
		}
	})
}

// TestDropHistory proves that drop tells what stays, in one line with the statement, and drops
// it with --history.
func TestDropHistory(t *testing.T) {
	forEachServer(t, func(t *testing.T, o *tool) {
		o.t = t
		require.NoError(t, os.WriteFile(o.config, []byte("rollup: {every: never}\ntables: [{table: blog, counters: [posts, views], history: {}}]"), 0o600))
		o.run(exitOK, "init", "--yes")
		o.exec(o.plain, "UPDATE blog SET views = 100 WHERE id = 1")
		_, asked := o.run(exitAsks, "drop")
		require.Contains(t, asked, "the triggers that write a history are dropped, and the history tables stay")
		o.run(exitUsage, "drop", "--history", "--stop-only")
		_, told := o.run(exitOK, "drop", "--wait", "1ns", "--yes")
		require.Regexp(t, "(?m)^\\S+\\.blog_history stays; to remove it: DROP TABLE `\\S+`.`blog_history`$", told)
		require.EqualValues(t, 100, o.number(o.plain, "SELECT SUM(views) FROM blog_history"))
		_, asked = o.run(exitAsks, "drop", "--history")
		require.Contains(t, asked, "the history tables with all that is in them")
		_, told = o.run(exitOK, "drop", "--wait", "1ns", "--yes", "--history")
		require.NotContains(t, told, "stays")
		require.Zero(t, o.number(o.plain, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'blog%' AND TABLE_NAME <> 'blog'"))
	})
}

// asNumber is a number as it was written.
func asNumber(t *testing.T, v any) json.Number {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	require.NotContains(t, string(b), `"`)
	return json.Number(b)
}
