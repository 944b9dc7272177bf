package countermysql

import (
	"context"
	"database/sql/driver"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/catalogtest"
	"github.com/countermysql/countermysql/internal/exact"
	"github.com/countermysql/countermysql/internal/fold"
	"github.com/countermysql/countermysql/internal/increment"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/read"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/watch"
)

// benchConn is a connection without a server that knows the forum's schema, which
// stays as new as it is.
func benchConn(b testing.TB) *conn {
	s := catalogtest.Forum(true)
	c := &Connector{config: &Config{}, log: slog.Default(), plans: newPlanCache(), watcher: watch.Fixed(s), increments: increment.NewShared(s.Specs, false, nil, nil)}
	return &conn{connector: c, Reader: read.New(exact.New(increment.New(fold.New(&session.Session{Transactions: session.Transactions{
		Shared:      &session.Shared{Watcher: c.watcher},
		Environment: session.Environment{Settings: session.Settings{DB: "forum"}, Literals: sqltext.Encoder{Charset: "utf8mb4", Loc: time.UTC, Interpolated: true}},
	}}), c.increments), c.sales, &c.background))}
}

// TestBenchmarks proves that the benchmarks run.
func TestBenchmarks(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), program, "-test.run=-", "-test.bench=.", "-test.benchtime=1x").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "BenchmarkNames/1000")
}

// BenchmarkClassify looks up texts seen before: one that names no counter table,
// and one that does.
func BenchmarkClassify(b *testing.B) {
	for name, text := range map[string]string{
		"other":     "SELECT id, name, email FROM users WHERE id = ? AND deleted_at IS NULL ORDER BY id LIMIT 1",
		"increment": "UPDATE post SET likes = likes + ? WHERE id = ?",
	} {
		b.Run(name, func(b *testing.B) {
			c := benchConn(b)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.planOf(context.Background(), text, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPlan plans texts that were not seen before.
func BenchmarkPlan(b *testing.B) {
	for name, text := range map[string]string{
		"other":     "SELECT id, name, email FROM users WHERE id = ? AND deleted_at IS NULL ORDER BY id LIMIT 1",
		"increment": "UPDATE post SET likes = likes + ? WHERE id = ?",
		"sum":       "SELECT p.id, p.title, p.likes FROM post p JOIN users u ON u.id = p.author WHERE u.name = ? ORDER BY p.likes DESC LIMIT 10",
	} {
		b.Run(name, func(b *testing.B) {
			s := catalogtest.Forum(true)
			b.ReportAllocs()
			for b.Loop() {
				plan.NewPlan(s, text, sqltext.Mode{}, "forum")
			}
		})
	}
}

// BenchmarkBind turns the cached plan of a one-key increment into the statement to be sent.
func BenchmarkBind(b *testing.B) {
	c := benchConn(b)
	p, _ := c.planOf(context.Background(), "UPDATE post SET likes = likes + ? WHERE id = ?", nil)
	args := []driver.NamedValue{{Ordinal: 1, Value: int64(1)}, {Ordinal: 2, Value: int64(123456)}}
	b.ReportAllocs()
	for b.Loop() {
		if !c.Filler.Bind(p.Increment(), plan.Binder{Encoder: c.Literals, Args: args}) {
			b.Fatal("not bound")
		}
		if _, ok := c.Filler.Statement("", "LOCK IN SHARE MODE NOWAIT", 3); !ok {
			b.Fatal("not filled")
		}
	}
}

// BenchmarkGuard binds what many buyers of one item send.
func BenchmarkGuard(b *testing.B) {
	c := benchConn(b)
	p, _ := c.planOf(context.Background(), "UPDATE post SET likes = likes - ? WHERE id = ? AND likes >= ?", nil)
	args := []driver.NamedValue{{Ordinal: 1, Value: int64(1)}, {Ordinal: 2, Value: int64(123456)}, {Ordinal: 3, Value: int64(1)}}
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := p.Exactly().Guard.Bind(plan.Binder{Encoder: c.Literals, Args: args}); !ok {
			b.Fatal("not bound")
		}
	}
}

// BenchmarkLiterals looks up texts that differ in their literals, as ORMs that
// write values into the text send them.
func BenchmarkLiterals(b *testing.B) {
	c := benchConn(b)
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		if p, err := c.planOf(context.Background(), fmt.Sprintf("UPDATE `post` AS `p` SET likes = likes + 1 WHERE (`p`.`id` = %d)", n), nil); err != nil || p.lits == nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNames looks for the names of the configured tables in a text that
// was not seen before, and holds none.
func BenchmarkNames(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			all := map[string]bool{}
			for i := range n {
				all[fmt.Sprintf("post_%d", i)] = true
			}
			s := &catalog.Schema{Names: sqltext.NewNameSet(all)}
			for b.Loop() {
				if s.Mentions("SELECT id, name, email FROM users WHERE position = ? AND deleted_at IS NULL ORDER BY id LIMIT 1") {
					b.Fatal("found")
				}
			}
		})
	}
}
