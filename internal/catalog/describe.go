package catalog

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"regexp"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// nextID is what SHOW CREATE TABLE tells of the rows.
var nextID = regexp.MustCompile(` AUTO_INCREMENT=\d+`)

// inNoMode calls f so that SHOW CREATE TABLE tells all, whatever the DSN's sql_mode: by some
// it has names in double quotes, and leaves out what the other servers of their names do
// not know (https://mariadb.com/kb/en/sql-mode/). On MariaDB the statement says so itself.
func (l *loader) inNoMode(ctx context.Context, f func()) {
	var mode string
	l.err = cmp.Or(l.err, l.db.Raw(func(conn any) error {
		mode = conn.(interface{ SQLMode() string }).SQLMode()
		return nil
	}))
	if l.err != nil || !abridges.MatchString(mode) || l.server.MariaDB {
		f()
		return
	}
	if _, l.err = l.db.ExecContext(ctx, "SET SESSION sql_mode = ''"); l.err != nil {
		return
	}
	f()
	if _, err := l.db.ExecContext(context.WithoutCancel(ctx), "SET SESSION sql_mode = '"+mode+"'"); err != nil {
		_ = l.db.Raw(func(any) error { return driver.ErrBadConn }) // nobody may have it as it is
		l.err = cmp.Or(l.err, err)
	}
}

// StillKeyed reports whether a base table has the key that it had when it was read. A reading
// is several queries, between which it may be altered: who asks keeps others from that.
func (t *Table) StillKeyed(ctx context.Context, conn *sql.Conn, srv Server) (bool, error) {
	now := &Table{Spec: t.Spec, MariaDB: srv.MariaDB}
	l := &loader{db: conn, server: srv, specs: []Spec{t.Spec}, told: Answers{}}
	l.tables = map[string]*Table{l.key(t.Spec.DB, t.Spec.Name): now}
	l.store(ctx, baseNames)
	l.columns()
	l.keys(ctx)
	return slices.EqualFunc(t.Key, now.Key, func(a, b *Column) bool { return keyDefinition(a) == keyDefinition(b) }), l.err
}

// describe reads what only SHOW CREATE TABLE and the rows can tell.
func (l *loader) describe(ctx context.Context, t *Table) {
	if len(t.Columns) == 0 || l.err != nil {
		return
	}
	if l.kind(t).view {
		t.Unfit = []string{"it is a view; list the table below it"}
		return
	}
	create, tooMany := l.created(ctx, t), false
	switch n := mysqlerr.Number(l.err); {
	case mysqlerr.Denied[n]: // with privileges on some of its columns
		l.err, t.Unfit = nil, []string{"the user may not see its definition; grant SELECT on the whole table"}
		return
	case n == mysqlerr.ErrNoTable: // dropped meanwhile
		l.err, t.Columns, t.Counters = nil, nil, nil
		return
	}
	if len(t.Key) == 0 {
		l.rows(ctx, "SELECT COUNT(*) > 1 FROM (SELECT 1 FROM "+t.Base()+" LIMIT 2) two", func(v []string) { tooMany = v[0] == "1" })
	}
	toks := sqltext.Tokenize(create, sqltext.Mode{})
	computed, _ := sqltext.Behind(create, "PARTITION", "BY") // what the server computes with
	for i, tok := range toks {
		what := ""
		switch {
		case tok.Is("CHECK"):
			what = "CHECK constraint"
		case tok.Is("KEY") && i > 0 && toks[i-1].Is("FOREIGN"):
			what = "foreign key"
		}
		if what == "" || i+1 == len(toks) || !toks[i+1].Punct('(') {
			continue
		}
		closing := sqltext.ClosingParen(toks, i+1)
		clause := strings.TrimSpace(create[tok.End:toks[closing].End])
		if slices.ContainsFunc(t.Counters, func(c *Column) bool { return sqltext.MentionsWord(clause, c.Name) }) {
			enforced := closing+1 == len(toks) || toks[closing+1].Kind != sqltext.Versioned // or it is NOT ENFORCED
			t.Bounded = (t.Bounded || t.CheckedBy == "") && tok.Is("CHECK") && enforced && t.bind(toks[i+1:closing+1])
			t.CheckedBy = what
			if tok.Is("CHECK") && enforced {
				t.Checks = append(t.Checks, clause)
			}
		}
		computed += clause
	}
	t.Derived = slices.ContainsFunc(t.Columns, func(g *Column) bool {
		return g.generated != "" && slices.ContainsFunc(t.Touch, func(c *Column) bool { return sqltext.MentionsWord(g.generated, c.Name) })
	})
	t.Indexed, t.InIndexes = t.Indexes(create, toks), inIndexes(t, toks)
	draft{t}.mayTouch(create, computed)
	t.Missing = t.DDL().upgrade(t.stored)
	t.Taken = len(t.DDL().Steps()) > 1 && !slices.ContainsFunc(t.stored, numbersSlots)
	if (draft{t}).judge(l.kind(t).engine, tooMany, create); t.Unfit != nil {
		t.Missing, t.Taken = "", false
		return
	}
	if t.Missing == "" {
		t.Narrow = t.DDL().widen(t.stored)
	}
	t.Unique = slices.DeleteFunc(t.Unique, func(k UniqueKey) bool { // others may give a row what is in the base row
		return slices.ContainsFunc(k.Columns, func(c *Column) bool { return t.Counter(c.Name) != nil })
	})
	l.unseen(ctx, t)
}

// unseen finds out whether a slots table is missing, or is there for others: what
// the user has no privilege on, information_schema does not show.
func (l *loader) unseen(ctx context.Context, t *Table) {
	if len(t.stored) > 0 || l.err != nil || l.none[l.key(t.Spec.DB, t.Spec.SlotsTable)] {
		return
	}
	l.ask(ctx, t.DDL().opens())
	switch n := mysqlerr.Number(l.err); n {
	case 0, mysqlerr.ErrLockWait: // the connection is broken, or the answer came; or who waits has to try again
	case mysqlerr.ErrNoTable:
		l.err = nil
	default:
		t.Unseen, t.Unmade, l.err = mysqlerr.Denied[n], l.err, nil
	}
}

// slotsTables reads the columns of the slots tables. One that the base table
// has too is a counter, or a touch column, whether it is listed here or not:
// another process may list it, and its slots must not go with ours.
func (l *loader) slotsTables() {
	for _, t := range l.tables {
		slots := l.key(t.Spec.DB, t.Spec.SlotsTable)
		t.stored, t.Closed = l.stored[slots], l.kinds[slots].closed
		draft{t}.nameSlots()
		for _, slot := range t.stored {
			if !slot.Invisible {
				t.SlotsWidth++
			}
			c := t.Column(slot.Name)
			if c != nil {
				c.Settles = slot.Settles && !c.OnUpdate
			}
			switch {
			case c == nil, t.Key.Has(c.Name), t.Virtual(c.Name), strings.EqualFold(c.Name, t.SlotCol):
			case (c.Integer() || c.Decimal()) && (slot.DataType == "bigint" || slot.Decimal()):
				t.Counters = append(t.Counters, c)
			case c.moment():
				t.Touch = append(t.Touch, c)
			}
		}
		draft{t}.findUnclaimed()
	}
}
