package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/countermysql/countermysql"
)

var errNothingDone = errors.New("nothing was changed; add --yes to go on")

type rollupCommand struct {
	Every     time.Duration `help:"Go on, once in so long, until interrupted. Errors are told and do not end it." placeholder:"30s"`
	Table     []string      `help:"Only this table. May be repeated." placeholder:"TABLE"`
	MaxLockMS int64         `name:"max-lock-ms" default:"100" help:"How long base rows may be kept locked at a time, in milliseconds."`
	Yes       bool          `short:"y" help:"Go on without asking."`
}

func (rollupCommand) Help() string {
	return `Adds what is in slots to the base rows, in small transactions, in the order of the keys. No value changes by it,
whenever it is stopped; run it again to go on. Of several rollups of a table one works and the others wait.

Examples:

  countermysql rollup --dsn "$DSN" --yes
  countermysql rollup --dsn "$DSN" --table post --max-lock-ms 20 --every 1m --yes

With --every it prints the tables in which something has changed, and nothing else.`
}

// Validate is for kong.
func (c *rollupCommand) Validate() error {
	if c.Every < 0 || c.MaxLockMS < 0 {
		return errors.New("--every and --max-lock-ms can't be negative")
	}
	return nil
}

func (c *rollupCommand) run(s *session) error {
	what := "of all listed tables"
	if len(c.Table) > 0 {
		what = "of " + strings.Join(c.Table, ", ")
	}
	if err := s.confirmed(c.Yes, "the slots "+what+" are added to their base rows"); err != nil {
		return err
	}
	for shown := ""; ; {
		err := c.once(s, &shown)
		if c.Every <= 0 || s.ctx.Err() != nil {
			return err
		}
		tell(s.screen.err, err)
		select {
		case <-s.ctx.Done():
			return nil
		case <-time.After(c.Every):
		}
	}
}

// once rolls up once. With --every it shows the tables in which something has changed, or is
// left or busy as it was not when it was shown last.
func (c *rollupCommand) once(s *session, shown *string) error {
	start := time.Now()
	b := s.screen.bars()
	done, err := countermysql.Rollup(s.ctx, s.db, &countermysql.RollupOptions{
		Tables: c.Table, MaxLock: time.Duration(c.MaxLockMS) * time.Millisecond,
		Progress: func(p countermysql.RollupProgress) { b.update(p.Table, p.Slots, p.Total) },
	})
	b.stop()
	var rerr error
	if show := c.news(done, shown); show != nil || c.Every <= 0 {
		rerr = s.result(converted(show, asRolledUp), func() { c.show(s, show, time.Since(start)) })
	}
	if err != nil {
		return err
	}
	if rerr != nil {
		return rerr
	}
	for _, r := range done {
		if len(r.Left) > 0 || r.Busy > 0 {
			return &exit{code: exitFound}
		}
	}
	return nil
}

// news are the tables to show.
func (c *rollupCommand) news(done []countermysql.RolledUp, shown *string) (news []countermysql.RolledUp) {
	if c.Every <= 0 {
		return done
	}
	var still strings.Builder
	for _, r := range done {
		if len(r.Left) > 0 || r.Busy > 0 {
			fmt.Fprintln(&still, r.Table, r.Busy, r.Left)
		}
	}
	for _, r := range done {
		if r.Slots+r.Orphans > 0 || (len(r.Left) > 0 || r.Busy > 0) && still.String() != *shown {
			news = append(news, r)
		}
	}
	*shown = still.String()
	return news
}

func (c *rollupCommand) show(s *session, done []countermysql.RolledUp, took time.Duration) {
	if c.Every <= 0 {
		s.rolledUp(done, took)
		return
	}
	for _, r := range done {
		s.screen.line("%s %s: %d rows, %d slots, %d orphans, %d busy, %d left", time.Now().Format(time.TimeOnly), r.Table, r.Keys, r.Slots, r.Orphans, r.Busy, len(r.Left))
	}
	s.leftAndBusy(done)
}

func (s *session) rolledUp(done []countermysql.RolledUp, took time.Duration) {
	var rows []table.Row
	slots := int64(0)
	for _, r := range done {
		rows = append(rows, table.Row{r.Table, r.Keys, r.Slots, r.Orphans, r.Busy, len(r.Left)})
		slots += r.Slots
	}
	s.screen.table(table.Row{"table", "rows", "slots", "orphans", "busy", "left"}, rows)
	s.screen.line("%d slots in %v, %.0f per second", slots, took.Round(time.Millisecond), float64(slots)/took.Seconds())
	s.leftAndBusy(done)
}

func (s *session) leftAndBusy(done []countermysql.RolledUp) {
	for _, r := range done {
		for _, l := range r.Left {
			s.screen.line("left: %s %s: %s", r.Table, l.Key, l.Reason)
		}
		if r.Busy > 0 {
			s.screen.line("busy: %d rows of %s were locked by others; run it again", r.Busy, r.Table)
		}
	}
}

type recountCommand struct {
	Table     []string `help:"Only this table. May be repeated." placeholder:"TABLE"`
	Repair    bool     `help:"Correct what differs; without it nothing is changed."`
	MaxLockMS int64    `name:"max-lock-ms" default:"100" help:"How long base rows may be kept locked at a time, in milliseconds."`
	Yes       bool     `short:"y" help:"Repair without asking."`
}

func (recountCommand) Help() string {
	return `Compares each counter that has a query in the configuration with what the query says, and lists the differences:

  tables:
    - table: blog
      counters: [posts]
      recount:
        posts: SELECT blog_id, COUNT(*) FROM post WHERE published GROUP BY blog_id

It is exact, under any load, where a row and its increment are written in one transaction. Where they are not, what
is between the two counts as a difference: do not repair then.

Example:

  countermysql recount --dsn "$DSN" --config counters.yaml --repair --yes`
}

// Validate is for kong.
func (c *recountCommand) Validate() error {
	if c.MaxLockMS < 0 {
		return errors.New("--max-lock-ms can't be negative")
	}
	return nil
}

func (c *recountCommand) run(s *session) error {
	if c.Repair {
		if err := s.confirmed(c.Yes, "counters that differ from their queries are corrected by the difference"); err != nil {
			return err
		}
	}
	drifts, err := countermysql.Recount(s.ctx, s.db, &countermysql.RecountOptions{Tables: c.Table, Repair: c.Repair, MaxLock: time.Duration(c.MaxLockMS) * time.Millisecond})
	var mistake *countermysql.ConfigError
	if errors.As(err, &mistake) && len(drifts) == 0 { // no differences would be what it has not looked for
		return &exit{exitUsage, err}
	}
	left := false
	rerr := s.result(converted(drifts, asDrift), func() {
		var rows []table.Row
		for _, d := range drifts {
			rows = append(rows, table.Row{d.Table, d.Counter, d.Key, d.Value, d.Recounted, d.Repaired})
		}
		if len(rows) > 0 {
			s.screen.table(table.Row{"table", "counter", "key", "value", "recounted", "repaired"}, rows)
		}
		s.screen.line("%d differences", len(drifts))
	})
	for _, d := range drifts {
		left = left || !d.Repaired
	}
	switch {
	case mistake != nil:
		return &exit{exitUsage, err}
	case err != nil:
		return err
	case rerr != nil:
		return rerr
	case left:
		return &exit{code: exitFound}
	}
	return nil
}

type dropCommand struct {
	Table    []string      `help:"Only this table. May be repeated." placeholder:"TABLE"`
	StopOnly bool          `help:"Close and empty the slots tables, but keep them: for processes that still list the counters."`
	History  bool          `help:"Drop history tables too, with what is in them."`
	Wait     time.Duration `default:"35s" help:"How long to wait for other processes to notice that the slots tables are closed."`
	Yes      bool          `short:"y" help:"Go on without asking."`
}

func (dropCommand) Help() string {
	return `Leaves: closes the slots tables, upon which increments change the base rows as without the driver; waits until every
process has noticed; rolls everything up; makes sure, with the tables locked, that nothing is left; drops the slots
tables, and the triggers that write a history. Afterwards every client sees every count. History tables stay without
--history, and countermysql_flushes as long as a process has a row in it; what stays is told, with the statement that
drops it.

On a live system: run it with --stop-only, take the counters from the configuration of every process (or change the
driver's name back to "mysql"), then run it without. "countermysql init" goes back, until the tables are dropped.

Example:

  countermysql drop --dsn "$DSN" --stop-only --yes`
}

// Validate is for kong.
func (c *dropCommand) Validate() error {
	if c.Wait < 0 {
		return errors.New("--wait can't be negative")
	}
	if c.History && c.StopOnly {
		return errors.New("--history and --stop-only contradict each other: histories go on until the slots tables are dropped")
	}
	return nil
}

func (c *dropCommand) run(s *session) error {
	what := "the slots tables are closed and rolled up, and then dropped"
	if c.StopOnly {
		what = "the slots tables are closed, and then rolled up"
		if slices.ContainsFunc(s.config.Tables, func(t countermysql.TableConfig) bool { return t.Derived != nil }) {
			what += "; derived counters follow their formulas no longer, until countermysql init"
		}
	} else if slices.ContainsFunc(s.config.Tables, func(t countermysql.TableConfig) bool { return t.History != nil }) {
		what += "; the triggers that write a history are dropped, and the history tables "
		if c.History {
			what += "with all that is in them"
		} else {
			what += "stay"
		}
	}
	if err := s.confirmed(c.Yes, what); err != nil {
		return err
	}
	start := time.Now()
	s.screen.note(fmt.Sprintf("waiting %v for other processes to notice", cmp.Or(c.Wait, countermysql.DefaultNotice)))
	b := s.screen.bars()
	var stay []string
	done, err := countermysql.Drop(s.ctx, s.db, &countermysql.DropOptions{Tables: c.Table, StopOnly: c.StopOnly, History: c.History, Notice: c.Wait,
		Stays:    func(table, drop string) { stay = append(stay, table+" stays; to remove it: "+drop) },
		Progress: func(p countermysql.RollupProgress) { b.update(p.Table, p.Slots, p.Total) }})
	b.stop()
	for _, line := range stay {
		s.screen.note(line)
	}
	if rerr := s.result(converted(done, asRolledUp), func() { s.rolledUp(done, time.Since(start)) }); err == nil {
		err = rerr
	}
	return err
}
