package random

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"
)

// Shrink drops what a difference does not need: steps, rows, options. It gives
// up after budget.
func (r *Runner) Shrink(ctx context.Context, s *Script, d *Difference, budget time.Duration) (*Script, *Difference) {
	deadline := time.Now().Add(budget)
	kind, what := d.Kind, d.What
	try := func(c *Script) bool {
		if time.Now().After(deadline) {
			return false
		}
		found, err := r.Compare(ctx, c)
		if err != nil || found == nil || found.Kind != kind || kind == "error" && found.What != what {
			return false
		}
		s, d = c, found
		return true
	}
	if d.Step >= 0 && d.Step+1 < len(s.Steps) {
		c := *s
		c.Steps = s.Steps[:d.Step+1]
		try(&c)
	}
	for again := true; again && time.Now().Before(deadline); {
		again = false
		for size := max(len(s.Steps)/2, 1); size >= 1; size /= 2 {
			for i := len(s.Steps) - size; i >= 0; i -= size {
				c := *s
				c.Steps = slices.Delete(slices.Clone(s.Steps), i, i+size)
				if try(&c) {
					again = true
				}
				if i > len(s.Steps) {
					i = len(s.Steps)
				}
			}
		}
		for i := len(s.Setup) - 1; i >= 0; i-- {
			c := *s
			c.Setup = slices.Delete(slices.Clone(s.Setup), i, i+1)
			again = try(&c) || again
		}
		for i := len(s.Options) - 1; i >= 0; i-- {
			c := *s
			c.Options = slices.Delete(slices.Clone(s.Options), i, i+1)
			again = try(&c) || again
		}
		again = r.shrinkSteps(s, try, func() *Script { return s }) || again
	}
	for i := len(s.Tables) - 1; i >= 0; i-- {
		c := *s
		c.Tables = slices.Delete(slices.Clone(s.Tables), i, i+1)
		try(&c)
	}
	for i := len(s.Counters) - 1; i >= 0; i-- {
		c := *s
		c.Counters = slices.Delete(slices.Clone(s.Counters), i, i+1)
		try(&c)
	}
	return s, d
}

// shrinkSteps makes single steps simpler.
func (r *Runner) shrinkSteps(_ *Script, try func(*Script) bool, current func() *Script) bool {
	again := false
	for i := 0; i < len(current().Steps); i++ {
		change := func(f func(*Step)) {
			c := *current()
			c.Steps = slices.Clone(c.Steps)
			f(&c.Steps[i])
			again = try(&c) || again
		}
		step := current().Steps[i]
		if len(step.Args) > 1 {
			change(func(s *Step) { s.Args = s.Args[:1] })
			change(func(s *Step) { s.Args = s.Args[len(s.Args)-1:] })
		}
		if current().Steps[i].Prepared {
			change(func(s *Step) { s.Prepared = false })
		}
		if step.Level != 0 && step.Do == "begin" {
			change(func(s *Step) { s.Level = 0 })
		}
	}
	if current().ReadOwn != "" {
		c := *current()
		c.ReadOwn = ""
		again = try(&c) || again
	}
	return again
}

// endPrepared ends what a script, or a part of one, has left prepared by XA in a database: its
// locks outlive connections. While the server has not yet noticed that a connection has ended,
// nobody else can end what it had prepared, and MariaDB that is told to just then forgets it, but not its locks.
func endPrepared(ctx context.Context, admin *sql.Conn, db string) error {
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		left, err := prepared(ctx, admin, db)
		if err != nil || len(left) == 0 {
			return err
		}
		var connected bool
		if err := admin.QueryRowContext(ctx, "SELECT COUNT(*) > 0 FROM information_schema.processlist WHERE LEFT(db, CHAR_LENGTH(?)) = ?", db, db).Scan(&connected); err != nil {
			return err
		}
		late := time.Since(begun) > 10*time.Second
		if connected && !late {
			continue
		}
		for _, name := range left {
			if _, err := admin.ExecContext(ctx, "XA ROLLBACK '"+name+"'"); err != nil && late {
				return err
			}
		}
	}
}

// prepared are the transactions that are prepared in a database.
func prepared(ctx context.Context, admin *sql.Conn, db string) (names []string, err error) {
	rows, err := admin.QueryContext(ctx, "XA RECOVER")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var format, id, branch int
		var name string
		if err := rows.Scan(&format, &id, &branch, &name); err != nil {
			return nil, err
		}
		if strings.HasPrefix(name, db) {
			names = append(names, name)
		}
	}
	return names, rows.Err()
}
