package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTopKept proves that top tells whether the triggers of derived counters and histories are
// in place.
func TestTopKept(t *testing.T) {
	forEachServer(t, func(t *testing.T, o *tool) {
		o.t = t
		require.NoError(t, os.WriteFile(o.config, []byte("rollup: {every: never}\ntables: [{table: blog, counters: [posts, views], derived: {posts: 'SELECT blog, COUNT(*) FROM post GROUP BY blog'}, history: {every: 24h}}]"), 0o600))
		kept := func() []keptView {
			t.Helper()
			var seen view
			o.runJSON(exitOK, &seen, "top", "--every", "1ms", "--count", "1")
			require.Len(t, seen.Kept, 2)
			require.Equal(t, keptView{Table: seen.Kept[0].Table, Counter: "posts", Problem: seen.Kept[0].Problem}, seen.Kept[0])
			require.Equal(t, keptView{Table: seen.Kept[0].Table, History: "blog_history", Every: 24 * 60 * 60, Problem: seen.Kept[1].Problem}, seen.Kept[1])
			return seen.Kept
		}
		for _, k := range kept() {
			require.Contains(t, k.Problem, "is missing")
		}
		o.run(exitOK, "init", "--yes")
		for _, k := range kept() {
			require.Empty(t, k.Problem)
		}
		out, _ := o.run(exitOK, "top", "--every", "1ms", "--count", "1")
		require.Regexp(t, `\.blog │ posts, derived +│ in place +│`, out)
		require.Regexp(t, `\.blog │ history, every 24h0m0s +│ in place +│`, out)
		o.exec(o.plain, "DROP TRIGGER blog_history_au")
		out, _ = o.run(exitOK, "top", "--every", "1ms", "--count", "1")
		require.Equal(t, 1, strings.Count(out, "a trigger that writes its history is missing"))
	})
}
