package plan

import (
	"database/sql/driver"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/catalogtest"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// goldenStatements are those of the golden files.
func goldenStatements(t *testing.T, visit func(s *catalog.Schema, text string, mode sqltext.Mode)) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.sql")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		golden, err := os.ReadFile(file)
		require.NoError(t, err)
		s := catalogtest.Forum(strings.Contains(file, "mariadb"))
		ansi := strings.Contains(file, "ansi")
		for block := range strings.SplitSeq(strings.TrimSpace(string(golden)), "\n\n") {
			text, _, _ := strings.Cut(strings.TrimSpace(block), "\n=> ")
			visit(s, text, sqltext.Mode{AnsiQuotes: ansi, NoBackslashEscapes: ansi})
		}
	}
}

// TestSkeletonKeepsPlans proves that a plan shared by texts that differ in their
// literals does what the text's own plan does.
func TestSkeletonKeepsPlans(t *testing.T) {
	shared := 0
	goldenStatements(t, func(s *catalog.Schema, text string, mode sqltext.Mode) {
		skel, lits := sqltext.Normalize(text, mode)
		if lits == nil {
			require.Equal(t, text, skel)
			return
		}
		shared++
		require.Equal(t, text, lits.Fill(skel, mode))
		own, of := NewPlan(s, text, mode, "forum"), NewPlan(s, skel, mode, "forum")
		require.Equal(t, own.Class(), of.Class(), text)
		require.Equal(t, own.Reason, of.Reason, text)
		require.Equal(t, own.Exactly() == nil, of.Exactly() == nil, text)
		if own.Sum() != nil {
			require.Equal(t, own.Sum().SQL, lits.Fill(of.Sum().SQL, mode), text)
		}
		requireSameTop(t, own, of, lits, text)
		args := []driver.NamedValue{}
		for n := range strings.Count(text, "?") {
			args = append(args, driver.NamedValue{Ordinal: n + 1, Value: int64(n + 1)})
		}
		l := sqltext.Encoder{Charset: "utf8mb4", Interpolated: true, NoBackslashEscapes: mode.NoBackslashEscapes}
		x, y := Binder{Encoder: l, Args: args}, Binder{Encoder: l, Args: lits.Merge(args)}
		if exact := own.Exactly(); exact != nil {
			requireSameTrip(t, exact.OneTrip, of.Exactly().OneTrip, x, y, lits, text)
			for i, rows := range exact.Rows {
				a, okA := rows.Bind(x)
				b, okB := of.Exactly().Rows[i].Bind(y)
				require.Equal(t, okA, okB, text)
				require.Equal(t, strings.ReplaceAll(a, `"`, "'"), strings.ReplaceAll(b, `"`, "'"), text)
			}
		}
		if own.Increment() == nil {
			return
		}
		a, okA := own.Increment().Bind(x)
		b, okB := of.Increment().Bind(y)
		require.Equal(t, okA, okB, text)
		if okA {
			require.Equal(t, a.Deltas, b.Deltas, text)
			require.Equal(t, a.Conditions, b.Conditions, text)
			require.Equal(t, a.Zero, b.Zero, text)
		}
	})
	require.Greater(t, shared, 20)
}

// requireSameTrip compares the statement in one round trip, and that its literals do not matter to it.
func requireSameTrip(t *testing.T, own, of *OneTrip, x, y Binder, lits *sqltext.Literals, text string) {
	t.Helper()
	require.Equal(t, own == nil, of == nil, text)
	if own == nil {
		return
	}
	a, okA := own.Text(Arguments{Binder: x})
	b, okB := of.Text(Arguments{Binder: y, Literals: lits})
	require.Equal(t, okA, okB, text)
	if okA {
		require.Equal(t, a, b, text)
	}
}

// requireSameTop requires that both plans read the first rows alike, or neither.
func requireSameTop(t *testing.T, own, of *Plan, lits *sqltext.Literals, text string) {
	t.Helper()
	if own.Sum() != nil {
		require.Equal(t, own.Sum().Short != nil, of.Sum().Short != nil, text)
	}
	if own.Sum() == nil || own.Sum().Top == nil {
		require.True(t, of.Sum() == nil || of.Sum().Top == nil, text)
		return
	}
	args := []driver.NamedValue{}
	for n := range own.Sum().Top.text.params {
		args = append(args, driver.NamedValue{Ordinal: n + 1, Value: int64(n)})
	}
	sent, values, ok := own.Sum().Top.Bind(Arguments{Binder: Binder{Args: args}, Given: len(args)}, false)
	shared, same, okShared := of.Sum().Top.Bind(Arguments{Binder: Binder{Args: lits.Merge(args)}, Given: len(args), Literals: lits}, false)
	require.True(t, ok && okShared, text)
	require.Equal(t, sent, shared, text)
	require.Equal(t, values, same, text)
	_, _, ok = own.Sum().Top.Bind(Arguments{Binder: Binder{Args: args}, Given: len(args) + 1}, false)
	require.False(t, ok, "an argument too many is the server's to refuse")
}
