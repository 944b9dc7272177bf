package plan

import (
	"slices"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// splitFeeders takes out of the dependents those whose triggers write slots.
func splitFeeders(all []catalog.Dependent) (via, feeders []catalog.Dependent) {
	for _, d := range all {
		if d.Feeds {
			feeders = append(feeders, d)
		} else {
			via = append(via, d)
		}
	}
	return via, feeders
}

// feed adds to the plan of a statement what its triggers do: they write slots of rows that are
// not named. It goes to the server as it is, unless it reads those slots itself: the server
// refuses a statement whose triggers write what it reads (1442).
func (a *analyzer) feed(p *Plan, effect sqltext.Effect, feeders []catalog.Dependent) *Plan {
	if effect == nil {
		if a.parsed.stmt == nil {
			a.parsed = a.parse()
		}
		reads := a.onlyReads()
		if stmt := a.parsed.stmt; stmt != nil {
			e := effectsOf(stmt)
			reads = e.reads
			feeders = slices.DeleteFunc(a.through(stmt, feeders), func(d catalog.Dependent) bool { return !a.fires(e, d) })
		}
		if reads {
			feeders = slices.DeleteFunc(slices.Clone(feeders), func(d catalog.Dependent) bool { return !d.Reads })
		}
	}
	var fed []*catalog.Table
	for _, d := range feeders {
		fed = with(fed, d.Tables...)
	}
	if fed == nil {
		return p
	}
	const why = "its triggers write slots"
	switch inc := p.Increment(); {
	case effect != nil:
	case inc != nil && inc.Exact != nil:
		p.Work, p.Reason = inc.Exact, why
	case inc != nil, p.Sum() != nil:
		tables, _ := a.schema.Reach(a.toks, a.text)
		p = a.opaque(tables, nil, why)
	}
	unseen := slices.ContainsFunc(feeders, func(d catalog.Dependent) bool { return d.Kind != "" || d.Body != "" })
	for _, t := range fed {
		p.Writes = append(p.Writes, WriteTarget{Table: t, Feeds: true, Unseen: unseen})
	}
	return p
}

// sets reports whether assignments may change what formulas read; columns: all that they read,
// nil if that is not known. Where nothing more is known of the table, any of its columns may be
// computed from any.
func (ns *namespace) sets(e effects, d catalog.Dependent) bool {
	t := ns.schema.Lookup(d.DB, d.Name, "")
	if d.Columns == nil || t == nil || t.UpdateTriggers {
		return true
	}
	return slices.ContainsFunc(d.Columns, func(name string) bool {
		c := t.Column(name)
		return c == nil || slices.ContainsFunc(e.sets, func(set *ast.Assignment) bool { return t.Changes([]*catalog.Column{c}, set.Column.Name.O) })
	})
}
