package ddl

import (
	"context"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/fold"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// Statement is one execution of a statement, by whoever sends it.
type Statement struct {
	Plan   *plan.Plan
	Text   string
	Send   func() error // as it is
	Close  func() error // closes rows of it: nothing can be sent while they are open
	Parses func() error // fails if it is no statement at all
}

// Definer runs in one session what changes tables.
type Definer struct {
	*fold.Folder
	config    *Config
	temporary map[string]bool // names in small letters that the session has given to temporary tables, be they gone
}

// Config is what the sessions of a connector have in common.
type Config struct {
	CreateSlots bool                                               // where slots tables are made without being asked for
	Flush       func(ctx context.Context, t *catalog.Table) error  // stores what waits in memory
	FollowLater func(t *catalog.Table, to string, dropsSlots bool) // for a new name
}

// New returns the Definer of a session.
func New(f *fold.Folder, config *Config) *Definer {
	return &Definer{Folder: f, config: config, temporary: map[string]bool{}}
}

// Run executes a statement that ends a transaction: what it needs of the
// slots goes with it.
func (d *Definer) Run(ctx context.Context, x Statement) error {
	p := x.Plan
	var altered, dropped []*catalog.Table
	switch w := p.Work.(type) {
	case *plan.Alter:
		altered = w.Tables
	case *plan.Drop:
		dropped = w.Tables
	}
	_, begins := p.Effect.(sqltext.Begin)
	defines := p.Effect == (sqltext.DDL{})
	if defines || p.Effect == (sqltext.Implicit{}) {
		defer d.Watcher.NoteDDL()
	}
	toks := sqltext.Tokenize(x.Text, d.Settings.Mode)
	switch tables, changed := d.Watcher.Current().ChangedBy(toks, x.Text); {
	case !defines || !changed:
	case dropped != nil && !truncates(toks): // nobody asks for what is gone
		defer d.Watcher.NoteChange(tables...)
	default: // learned before the caller hears of the change; others go on meanwhile
		defer func() { _ = d.Watcher.RefreshOf(context.WithoutCancel(ctx), tables) }() // with an error the next statement tries
	}
	if err := d.May(ctx, p, x.Text); err != nil {
		return err
	}
	if sqltext.LocksTables(toks) {
		return d.runLock(ctx, x)
	}
	if d.Locks {
		err := x.Send()
		if err == nil && begins && !toks[0].Is("XA") {
			d.Locks = false
		}
		return err
	}
	if (altered != nil || dropped != nil) && d.InTransaction() {
		if err := x.Parses(); err != nil { // or it would be committed for nothing
			return d.Failed(err)
		}
	}
	if dropped != nil {
		return d.drop(ctx, x, dropped, toks)
	}
	for _, t := range altered {
		if err := d.rollUpCommitted(ctx, t); err != nil && mysqlerr.Number(err) != mysqlerr.ErrNoTable { // the statement says so itself, if it needs that table
			return err
		}
	}
	return d.alter(ctx, x, altered, toks)
}

// May refuses what plain MySQL would run, and what would let counts go wrong.
func (d *Definer) May(ctx context.Context, p *plan.Plan, text string) error {
	toks := sqltext.Tokenize(text, d.Settings.Mode)
	switch w := p.Work.(type) {
	case *plan.TableLocks:
		if len(w.Tables) > 0 {
			return notUnderLocks(w.Tables[0], "LOCK TABLES")
		}
	case *plan.Alter:
		for _, t := range w.Tables {
			if t.Missing != "" && !t.DDL().NotMade() { // what it holds could not be folded, and would stay behind
				return t.SlotsError()
			}
			if err := d.mayLeave(ctx, t, toks); err != nil {
				return err
			}
		}
	}
	if err := d.MayMake(ctx, text); err != nil {
		return err
	}
	return d.mayRename(ctx, sqltext.Tokenize(sqltext.Opened(text, d.Settings.Mode), d.Settings.Mode))
}

// rollUpCommitted commits the transaction that the statement is about to commit
// anyway, so that its increments are seen, and rolls up a table.
func (d *Definer) rollUpCommitted(ctx context.Context, t *catalog.Table) error {
	if d.InTransaction() {
		if _, err := d.Do(ctx, session.CommitOnly); err != nil {
			return err
		}
	}
	d.Ended()
	if err := d.config.Flush(ctx, t); err != nil {
		return err
	}
	return d.FoldTableAlone(ctx, t)
}
