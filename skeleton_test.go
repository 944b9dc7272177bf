package countermysql

import (
	"database/sql/driver"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goldenStatements are those of the golden files.
func goldenStatements(t *testing.T, visit func(s *schema, text string, mode lexMode)) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.sql")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		golden, err := os.ReadFile(file)
		require.NoError(t, err)
		s := forum(strings.Contains(file, "mariadb"))
		ansi := strings.Contains(file, "ansi")
		for block := range strings.SplitSeq(strings.TrimSpace(string(golden)), "\n\n") {
			text, _, _ := strings.Cut(strings.TrimSpace(block), "\n=> ")
			visit(s, text, lexMode{ansiQuotes: ansi, noBackslashEscapes: ansi})
		}
	}
}

// TestSkeletonKeepsPlans proves that a plan shared by texts that differ in their
// literals does what the text's own plan does.
func TestSkeletonKeepsPlans(t *testing.T) {
	shared := 0
	goldenStatements(t, func(s *schema, text string, mode lexMode) {
		skel, lits := skeleton(text, mode)
		if lits == nil {
			require.Equal(t, text, skel)
			return
		}
		shared++
		require.Equal(t, text, lits.fill(skel, mode))
		own, of := s.plan(text, mode, "forum"), s.plan(skel, mode, "forum")
		require.Equal(t, own.class, of.class, text)
		require.Equal(t, own.reason, of.reason, text)
		require.Equal(t, own.guarded, lits.fill(of.guarded, mode), text)
		if own.query != nil {
			require.Equal(t, own.query.sql, lits.fill(of.query.sql, mode), text)
		}
		requireSameTop(t, own, of, lits, text)
		args := []driver.NamedValue{}
		for n := range strings.Count(text, "?") {
			args = append(args, driver.NamedValue{Ordinal: n + 1, Value: int64(n + 1)})
		}
		l := literals{charset: "utf8mb4", interpolated: true, noBackslashEscapes: mode.noBackslashEscapes}
		x, y := binder{l, args}, binder{l, lits.merge(args)}
		for i := range own.scopes {
			a, okA := own.scopes[i].bind(x)
			b, okB := of.scopes[i].bind(y)
			require.Equal(t, okA, okB, text)
			require.Equal(t, strings.ReplaceAll(a, `"`, "'"), strings.ReplaceAll(b, `"`, "'"), text)
		}
		if own.increment == nil {
			return
		}
		a, okA := own.increment.bind(x)
		b, okB := of.increment.bind(y)
		require.Equal(t, okA, okB, text)
		if okA {
			require.Equal(t, a.deltas, b.deltas, text)
			require.Equal(t, a.conditions, b.conditions, text)
			require.Equal(t, a.zero, b.zero, text)
		}
	})
	require.Greater(t, shared, 20)
}

// requireSameTop requires that both plans read the first rows alike, or neither.
func requireSameTop(t *testing.T, own, of *plan, lits *inlined, text string) {
	t.Helper()
	if own.query != nil {
		require.Equal(t, own.query.short != nil, of.query.short != nil, text)
	}
	if own.query == nil || own.query.top == nil {
		require.True(t, of.query == nil || of.query.top == nil, text)
		return
	}
	args := []driver.NamedValue{}
	for n := range own.query.top.params {
		args = append(args, driver.NamedValue{Ordinal: n + 1, Value: int64(n)})
	}
	sent, values, ok := own.query.top.bind(&call{conn: &conn{}, planUse: planUse{plan: own}, args: args})
	shared, same, okShared := of.query.top.bind(&call{conn: &conn{}, planUse: planUse{plan: of, lits: lits}, args: args})
	require.True(t, ok && okShared, text)
	require.Equal(t, sent, shared, text)
	require.Equal(t, values, same, text)
	_, _, ok = own.query.top.bind(&call{conn: &conn{}, planUse: planUse{plan: own}, args: append(args, driver.NamedValue{})})
	require.False(t, ok, "an argument too many is the server's to refuse")
}

// TestLiteralsShareAPlan proves that endless ids in the text cost one plan.
func TestLiteralsShareAPlan(t *testing.T) {
	c := benchConn(t)
	s := c.connector.current.Load()
	var first *plan
	for i := range 10 * maxPlans {
		use := c.planIn(s, fmt.Sprintf("UPDATE post SET likes = likes + %d WHERE id = %d AND slug = 'it''s %d'", i, i, i))
		if first == nil {
			first = use.plan
		}
		require.Same(t, first, use.plan)
	}
	require.LessOrEqual(t, len(s.plans.plans), maxPlans)
	require.LessOrEqual(t, s.plans.bytes, maxPlanBytes)
}

// TestLiteralsThatCannotBeShared proves that a text whose literals can't be
// parameters is planned by itself.
func TestLiteralsThatCannotBeShared(t *testing.T) {
	c := benchConn(t)
	s := c.connector.current.Load()
	for _, text := range []string{
		"SELECT likes FROM post WHERE (title->'$.a')",
		"SELECT likes FROM post WHERE deleted_at > NOW() - INTERVAL 1 DAY ORDER BY 1 LIMIT 3",
		"SELECT likes FROM post WHERE title = 'a' 'b'",
	} {
		use := c.planIn(s, text)
		require.False(t, use.fallback, text)
		require.Equal(t, s.plan(text, lexMode{}, "forum").query.sql, use.query.sql, text)
	}
}
