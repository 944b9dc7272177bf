package catalog

import (
	"context"
	"time"
)

// Objects are the texts of all views, routines and triggers of a server, and when they
// were read. DDL of tables leaves them as they are: a process that makes and drops many
// tables does not read them each time.
type Objects struct {
	views, routines, triggers [][]string
	Tally                     Tally
	At                        time.Duration
}

const ownSchemas = "NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')"

// read reads them, unless that is done.
func (b *Objects) read(ctx context.Context, l *loader) {
	if b.At != 0 {
		return
	}
	into := func(all *[][]string) func([]string) { return func(v []string) { *all = append(*all, v) } }
	b.views, b.routines, b.triggers = nil, nil, nil
	began := Clock()
	l.rows(ctx, "SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_SCHEMA "+ownSchemas+" ORDER BY TABLE_SCHEMA, TABLE_NAME", into(&b.views))
	l.rows(ctx, "SELECT ROUTINE_SCHEMA, ROUTINE_NAME, ROUTINE_DEFINITION, ROUTINE_TYPE FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA "+ownSchemas+" ORDER BY ROUTINE_SCHEMA, ROUTINE_NAME, ROUTINE_TYPE", into(&b.routines))
	l.rows(ctx, `SELECT EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE, ACTION_STATEMENT, EVENT_MANIPULATION, ACTION_TIMING, TRIGGER_NAME FROM information_schema.TRIGGERS
 WHERE EVENT_OBJECT_SCHEMA `+ownSchemas+" ORDER BY TRIGGER_SCHEMA, TRIGGER_NAME", into(&b.triggers))
	if l.err == nil {
		b.originals(ctx, l)
		b.At = max(began, 1)
	}
}

// Still reports whether they are the same at a later tally: since their own, no DDL has
// begun but of tables, which have no triggers. What was under way when they were read is
// found by reading them again, which every process does after SchemaAge.
func (b *Objects) Still(now Tally) bool {
	return b.At != 0 && Clock()-b.At < SchemaAge && len(b.triggers) == 0 && b.Tally.apartFromTables().Same(now.apartFromTables())
}

// ofTables are the kinds of DDL that change no view, routine or trigger, but for those that
// go with a table.
var ofTables = []string{"Com_create_table=", "Com_drop_table=", "Com_alter_table=", "Com_create_index=", "Com_drop_index="}

func (t Tally) apartFromTables() Tally {
	_, t.Counts = t.parted(ofTables...)
	return t
}
