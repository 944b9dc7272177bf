package plan

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/catalogtest"
	"github.com/countermysql/countermysql/internal/sqltext"
)

var update = flag.Bool("update", false, "write the golden files anew")

// describe writes a plan for the golden files.
func describe(p *Plan) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%s", p.Class())
	if p.Reason != "" {
		line("  because %s", p.Reason)
	}
	if refused, ok := p.Work.(*Refused); ok {
		line("  refused for %s", refused.For)
	}
	if q := p.Sum(); q != nil {
		if look := q.Look; look != nil {
			always := ""
			if look.Always {
				always = ", and no row is an answer"
			}
			line("  looks by %s%s", look.Text, always)
			if look.Rows.Any != "" {
				line("  or by %s", look.Rows.Any)
			}
			if look.Rows.Few != "" {
				line("  or by %s", look.Rows.Few)
			}
			if look.Rows.Each != "" {
				line("  or by %s", look.Rows.Each)
			}
		}
		line("  sends %s", q.SQL)
		if top := q.Top; top != nil {
			line("  or %s", describeTemplate(top.text.text))
		}
		if short := q.Short; short != nil {
			line("  or %s", describeTemplate(short.text))
		}
		if q.Locking {
			for _, t := range q.Tables {
				line("  locks %s", q.Lockings(t)[0].Clause)
			}
		}
	}
	x := p.Exactly()
	if x == nil {
		x = &Exact{}
	}
	if x.Elsewhere != nil {
		line("  may share a transaction")
	}
	if o := x.OneTrip; o != nil {
		text, ok := o.Text(Arguments{Binder: Binder{Encoder: sqltext.Encoder{Charset: "utf8mb4"}}})
		if !ok {
			text = o.texts[0].sql() + "…" + o.texts[1].sql()
		}
		line("  tries %s", text)
	}
	if g := x.Guard; g != nil {
		line("  goes with others: %s", describeGuard(g))
	}
	if inc := p.Increment(); inc != nil {
		for _, d := range inc.Deltas {
			sign := "+"
			if d.subtract {
				sign = "-"
			}
			what := describeValue(d.v)
			if d.inserted {
				what = "the inserted value"
			}
			line("  adds to %s.%s: %s %s", inc.Table, d.C.Name, sign, what)
		}
		for _, t := range inc.Touch {
			line("  touches %s", t.C.Name)
		}
		if inc.where.pieces != nil {
			line("  where %s", describeTemplate(inc.where))
		}
		for _, r := range inc.Rows {
			line("  row %s", describeKey(r.key))
		}
	}
	for _, s := range x.Rows {
		switch {
		case s.Keys != nil:
			line("  exact for %s: %s", s.Table, describeKeys(s.Keys))
		case s.Where != nil:
			line("  exact for %s: %s", s.Table, describeTemplate(*s.Where))
		default:
			line("  exact for %s: every row", s.Table)
		}
	}
	for _, w := range p.Writes {
		line("  writes %s: %s", w.Table, describeKeys(w.Keys))
	}
	if p.Sweep != nil {
		line("  clears left-over slots of %s: %s", p.Sweep.Table, describeKeys(p.Sweep.Keys))
	}
	switch w := p.Work.(type) {
	case *Drop:
		for _, t := range w.Tables {
			line("  the slots of %s go too", t)
		}
	case *TableLocks:
		for _, t := range w.Tables {
			line("  locks the slots of %s too", t)
		}
	case *Split:
		for _, part := range w.Texts {
			line("  statement %s", strings.TrimSpace(part))
		}
	}
	return b.String()
}

// describeGuard says what bounds the counter, with all but it on the other side.
func describeGuard(g *Guard) string {
	switch {
	case g.floor != nil:
		return g.Counter.Name + " - " + describeValue(g.delta.v) + " >= " + describeValue(*g.floor) + ", or it goes by itself"
	case g.bound == nil && g.delta.subtract && (g.Counter.Unsigned() || g.Table.Bounded):
		return g.Counter.Name + " >= " + describeValue(g.delta.v) + ", or it fails"
	case g.bound == nil:
		return g.Counter.Name + " has no bound"
	}
	relation := map[bool]string{true: ">", false: "<"}[g.bound.lower]
	if !g.bound.strict {
		relation += "="
	}
	sum := ""
	if g.Other != nil {
		sum += map[int64]string{1: " + ", -1: " - "}[g.sign] + g.Other.Name
	}
	for _, d := range g.bound.terms {
		sum += map[bool]string{false: " + ", true: " - "}[d.subtract] + describeValue(d.v)
	}
	what := g.Counter.Name + " " + relation + " " + strings.TrimPrefix(sum, " + ")
	if g.bound.mayFail {
		what += ", or it may fail"
	}
	return what
}

func describeValue(v Operand) string {
	s := fmt.Sprintf("argument %d", v.param+1)
	if v.param < 0 {
		s = fmt.Sprintf("%v", v.literal)
	}
	if v.negative {
		s = "-" + s
	}
	return s
}

func describeKey(p KeyValue) string {
	parts := make([]string, len(p.Columns))
	for i, c := range p.Columns {
		parts[i] = c.Name + " = " + describeValue(p.values[i])
	}
	return strings.Join(parts, ", ")
}

func describeKeys(keys []KeyValue) string {
	if keys == nil {
		return "any row"
	}
	parts := make([]string, len(keys))
	for i, p := range keys {
		parts[i] = "(" + describeKey(p) + ")"
	}
	return strings.Join(parts, " ")
}

func describeTemplate(f Template) string {
	s := ""
	for i, p := range f.pieces {
		s += p
		if i < len(f.params) {
			s += fmt.Sprintf("{argument %d}", f.params[i]+1)
		}
	}
	return strings.TrimSpace(s)
}

// TestPlans proves what becomes of each form of statement. A golden file holds
// statements, each ended by an empty line's "=>" block with its plan.
func TestPlans(t *testing.T) {
	files, err := filepath.Glob("testdata/*.sql")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			was, err := os.ReadFile(file)
			require.NoError(t, err)
			s := catalogtest.Forum(strings.Contains(file, "mariadb"))
			mode := sqltext.Mode{AnsiQuotes: strings.Contains(file, "ansi"), NoBackslashEscapes: strings.Contains(file, "ansi")}
			var now bytes.Buffer
			blocks := strings.SplitAfter(strings.TrimSpace(string(was)), "\n\n")
			for _, block := range blocks {
				stmt, golden, _ := strings.Cut(strings.TrimSpace(block), "\n=> ")
				plan := strings.TrimSpace(describe(NewPlan(s, stmt, mode, "forum")))
				fmt.Fprintf(&now, "%s\n=> %s\n\n", stmt, plan)
				if !*update {
					require.Equal(t, golden, plan, "%s", stmt)
				}
			}
			if *update {
				require.NoError(t, os.WriteFile(file, now.Bytes(), 0o644))
			}
		})
	}
}

// TestBlames proves that a look is not believed where the server could not make sense of its text: of
// hidden columns a name may be ambiguous that is not in the query's.
func TestBlames(t *testing.T) {
	for _, e := range []*mysql.MySQLError{
		{Number: 1052, SQLState: [5]byte([]byte("23000"))}, {Number: 1064, SQLState: [5]byte([]byte("42000"))}, {Number: 1242, SQLState: [5]byte([]byte("21000"))},
	} {
		require.True(t, Blames(e), e)
	}
	require.True(t, Blames(mysql.ErrPktTooLarge))
	for _, e := range []error{mysql.ErrInvalidConn, &mysql.MySQLError{Number: 1317, SQLState: [5]byte([]byte("70100"))}, &mysql.MySQLError{Number: 1062, SQLState: [5]byte([]byte("23000"))}} {
		require.False(t, Blames(e), e)
	}
}
