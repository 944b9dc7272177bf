package countermysql

import (
	"context"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// discarding is the run of a statement that does away with counters' values unread. One
// that its column can't hold does not hinder it: the base row gets a stand-in.
type discarding struct {
	counters []*column
	stands   []standIn
}

// standIn are rows of which some counter has one.
type standIn struct {
	t      *table
	column *column // of the last of them
	where  string  // selects those that still have it
}

// gone are the counters of rows that a statement of such nodes does away with.
func (a *analysis) gone(t *table, nodes ...ast.Node) []*column {
	if t.deleteTriggers { // which may read them
		return nil
	}
	return a.unread(t, t.counters, nodes...)
}

// unread are those of some counters that none of the nodes reads.
func (a *analysis) unread(t *table, counters []*column, nodes ...ast.Node) []*column {
	if t.watched() != "" || t.updateTriggers || a.returns(t) || hasWord(a.toks, "NATURAL", "USING") {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(counters), func(c *column) bool {
		return slices.ContainsFunc(nodes, func(n ast.Node) bool {
			return !isNil(n) && some(n, func(ref *ast.ColumnName) bool { return strings.EqualFold(ref.Name.O, c.name) })
		})
	})
}

// overwritten are the counters that assignments do away with, in a statement of which
// the nodes are the rest.
func (a *analysis) overwritten(t *table, list []*ast.Assignment, rest ...ast.Node) []*column {
	var counters []*column
	for _, set := range list {
		if c := t.counter(set.Column.Name.O); c != nil {
			counters = append(counters, c)
		}
		_, inserted := unparen(set.Expr).(*ast.ValuesExpr)
		if ref, ok := columnRef(set.Expr); !inserted && !(ok && a.aliased(ref)) {
			rest = append(rest, set.Expr)
		}
	}
	return a.unread(t, counters, rest...)
}

// discard runs f, which folds for a statement and runs it. The values that stand-ins were
// given for must be gone behind it, or else all is as it was before, and it fails.
func (c *conn) discard(ctx context.Context, k *call, f func() (outcome, error)) (outcome, error) {
	d := &discarding{counters: k.plan.discards}
	c.discarding = d
	out, err := f()
	c.discarding = nil
	if rows, ok := out.rows.(physicalRows); ok && err == nil && d.stands != nil {
		out.rows = &countedRows{physicalRows: rows, finish: func(err error) error { return c.discarded(ctx, d, err) }}
		return out, nil
	}
	if err = c.discarded(ctx, d, err); err != nil {
		return outcome{}, err
	}
	if d.stands != nil {
		c.lastRows = rowCount{out.affected(), true}
	}
	return out, nil
}

func (c *conn) discarded(ctx context.Context, d *discarding, err error) error {
	if d.stands == nil || c.open() == nil { // an error has ended the transaction
		return err
	}
	for _, s := range d.stands {
		if err != nil {
			break
		}
		var left [][]string
		if left, err = c.read(ctx, c.unsnapshot()+"SELECT 1 FROM "+s.t.from()+" WHERE "+s.where+" LIMIT 1 FOR UPDATE"); left != nil {
			err = s.column.outOfRange()
		}
	}
	if err == nil {
		c.tx.release(ownSavepoint, false)
		_, err = c.do(ctx, "RELEASE SAVEPOINT "+ownSavepoint)
		return err
	}
	if c.open() == nil {
		return err
	}
	if _, rerr := c.do(context.WithoutCancel(ctx), "ROLLBACK TO SAVEPOINT "+ownSavepoint); rerr != nil {
		_ = c.raw.Close() // or the application might commit the stand-ins
		return err
	}
	c.tx.rollbackTo(ownSavepoint)
	c.tx.release(ownSavepoint, false)
	for i, r := range c.tx.rolledUp { // before the savepoint
		c.tx.rolledUp[i].w = c.tx.writtenTo(r.w.t)
	}
	return err
}

// stand notes that rows are about to get stand-ins.
func (c *conn) stand(ctx context.Context, f *folding) error {
	d := c.discarding
	if d.stands == nil {
		if _, err := c.do(ctx, "SAVEPOINT "+ownSavepoint); err != nil {
			return err
		}
		c.transaction().save(ownSavepoint)
	}
	d.stands = append(d.stands, standIn{f.t, f.stood, strings.Join(f.stands, " OR ")})
	return nil
}
