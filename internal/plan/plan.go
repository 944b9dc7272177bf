package plan

import (
	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// Plan says how one statement runs. It is immutable and depends on nothing but
// the text, the lexing mode, the default database and the schema.
type Plan struct {
	Effect    sqltext.Effect // on the session and its transaction; nil: none
	Params    int            // how many arguments it takes
	Named     bool           // the text could concern a counter table
	Simple    bool           // goes to the server and that is all
	Locking   bool           // a query with locks of its own
	Once      bool           // it may not be sent again: it assigns variables, or has the client read a file
	Fixes     bool           // a consistent read: under REPEATABLE READ it fixes the transaction's snapshot
	Reason    string         // why it is not fast
	Fallback  bool           // it could not be parsed
	Encounter *encounter     // what it may meet that was not there when the schema was read

	Changes
	Work Work // what there is to do beside sending it; nil: nothing
}

// Changes are what a statement does to base rows itself.
type Changes struct {
	Writes  []WriteTarget    // base rows that it writes
	Deletes []*catalog.Table // whose rows may go by a cascade, and their pending increments with them
	Sweep   *OrphanSweep     // keys named by an INSERT

	Overrides []string         // derived counters that it sets
	Recorded  []*catalog.Table // tables in whose history what it does to counters is written
}

// Class is what becomes of the statement, if nothing in an execution stands against it.
func (p *Plan) Class() Class {
	if p.Work == nil {
		return ClassVerbatim
	}
	return p.Work.class()
}

// Increment is the relative write that the statement is; nil if it is none.
func (p *Plan) Increment() *Increment {
	inc, _ := p.Work.(*Increment)
	return inc
}

// Sum is how the statement reads counters; nil if it reads none, or by the exact way alone.
func (p *Plan) Sum() *Sum {
	q, _ := p.Work.(*Sum)
	return q
}

// Exactly is how the statement runs the exact way, by its plan or because an execution has
// to; nil if it never does.
func (p *Plan) Exactly() *Exact {
	if p.Work == nil {
		return nil
	}
	return p.Work.exactly()
}

// Tables are those of whose rows the statement may need the counters, or sweeps slots.
func (p *Plan) Tables() (all []*catalog.Table) {
	if x := p.Exactly(); x != nil {
		for _, s := range x.Rows {
			all = append(all, s.Table)
		}
	}
	if p.Sweep != nil {
		all = append(all, p.Sweep.Table)
	}
	return all
}

// AsPrepared is the plan of a statement that has to run as the server has prepared it,
// because the session would take its text otherwise now.
func (p *Plan) AsPrepared() *Plan {
	if p.Effect != nil || p.Class() != ClassIncrement && p.Class() != ClassSum && p.Class() != ClassExact {
		return p
	}
	was := p.Exactly()
	own := &Exact{Rows: was.Rows, Whole: was.Whole, Discards: was.Discards} // with no text but its own
	if was.Restriction != nil {
		own.Restriction = &restrictToLocked{By: was.Restriction.By}
	}
	return &Plan{Named: true, Locking: p.Locking, Once: p.Once, Fixes: p.Fixes, Reason: "the session has changed since it was prepared",
		Encounter: p.Encounter, Changes: p.Changes, Work: own}
}

// LeavesPromises reports whether the statement does not need to know whether rows are there
// that the transaction has incremented, or asks for it itself: an increment does.
func (p *Plan) LeavesPromises() bool {
	switch e := p.Effect.(type) {
	case nil:
		return p.Class() == ClassIncrement && p.Encounter == nil
	case sqltext.Commit:
		return !e.XA
	case sqltext.Rollback:
		return true
	}
	return false
}
