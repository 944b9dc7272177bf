package maintain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/fold"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// Recount is a counter and the query that defines it.
type Recount struct {
	Table   *catalog.Table
	Counter *catalog.Column
	Query   string
	columns []string // of the query
}

// Describe learns the query's columns: the key and the value.
func (n *Recount) Describe(ctx context.Context, c *fold.Folder) error {
	rows, err := c.Queryer.QueryContext(ctx, "SELECT * FROM ("+n.Query+") AS "+catalog.PrivateName+" LIMIT 0", nil)
	if err != nil {
		return fmt.Errorf("the query of counter %s: %w", n.Counter.Name, err)
	}
	n.columns = slices.Clone(rows.Columns())
	if err := rows.Close(); err != nil {
		return err
	}
	if want := len(n.Table.Key) + 1; len(n.columns) != want {
		return fmt.Errorf("the query of counter %s returns %d columns: it has to return the key (%s) and the value", n.Counter.Name, len(n.columns), strings.Join(catalog.QuoteNames(n.Table.Key), ", "))
	}
	return nil
}

// sql selects the rows, of all or of some keys, whose value is another.
func (n *Recount) sql(where string) string {
	name := sqltext.Quote(n.Table.Spec.Name)
	on := []string{"TRUE"}
	for i, k := range n.Table.Key {
		on = append(on, slotsql.PrivateRows+"."+sqltext.Quote(n.columns[i])+" = "+name+"."+sqltext.Quote(k.Name))
	}
	value := name + "." + sqltext.Quote(n.Counter.Name)
	truth := "COALESCE(" + slotsql.PrivateRows + "." + sqltext.Quote(n.columns[len(n.columns)-1]) + ", 0)"
	return "SELECT " + n.Table.SelectKey(name) + ", CAST(" + value + " AS CHAR), CAST(" + truth + " AS CHAR), CAST(" + truth + " - " + value + " AS CHAR) FROM " +
		slotsql.View(n.Table, slotsql.ReadView{}, "", n.Table.Columns) + " AS " + name + " LEFT JOIN (" + n.Query + ") AS " + slotsql.PrivateRows + " ON " + strings.Join(on, " AND ") +
		" WHERE " + value + " <> " + truth + where
}

// Differences compares all rows in one snapshot.
func (n *Recount) Differences(ctx context.Context, c *fold.Folder) ([][]string, error) {
	for _, stmt := range []string{"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT"} {
		if _, err := c.Do(ctx, stmt); err != nil {
			return nil, err
		}
	}
	order := ""
	if len(n.Table.Key) > 0 {
		name := sqltext.Quote(n.Table.Spec.Name)
		order = " ORDER BY " + name + "." + strings.Join(catalog.QuoteNames(n.Table.Key), ", "+name+".")
	}
	rows, err := c.Read(ctx, n.sql("")+order)
	c.Ended()
	if _, rerr := c.Do(context.WithoutCancel(ctx), session.RollbackOnly); err == nil {
		err = rerr
	}
	return rows, err
}

// Repair corrects keys in batches and returns which, as described.
func (r *Rollup) Repair(ctx context.Context, counts []Recount, keys map[string]catalog.Key) (map[string]bool, error) {
	t := r.Table
	repaired := map[string]bool{}
	r.correct = func(ctx context.Context, locked []catalog.Key) error {
		for _, n := range counts {
			rows, err := r.Folder.Read(ctx, n.sql(" AND ("+slotsql.WhereAnyOrAll(t, locked, sqltext.Quote(t.Spec.Name))+")"))
			if err != nil {
				return err
			}
			for _, row := range rows {
				k := catalog.Key(row[:len(t.Key)])
				if err := r.add(ctx, k, n.Counter, row[len(row)-1]); err != nil {
					return err
				}
			}
		}
		for _, k := range locked {
			repaired[t.Describe(k)] = true
		}
		return nil
	}
	var sorted []catalog.Key
	for _, k := range keys {
		sorted = append(sorted, k)
	}
	slices.SortFunc(sorted, t.Compare)
	for batch := range slices.Chunk(sorted, r.Folder.Several(t, r.size, slices.Values(sorted))) {
		if err := r.Batch(ctx, batch); err != nil {
			return repaired, err
		}
	}
	for _, left := range r.Out.Left {
		delete(repaired, left.Key)
	}
	if len(r.Out.Left) > 0 {
		return repaired, fmt.Errorf("row %s can't be corrected: %s", r.Out.Left[0].Key, r.Out.Left[0].Reason)
	}
	return repaired, nil
}

// add changes a locked base row, and no time that the server would set.
func (r *Rollup) add(ctx context.Context, k catalog.Key, col *catalog.Column, difference string) error {
	t, name := r.Table, sqltext.Quote(r.Table.Spec.Name)
	ref := name + "." + sqltext.Quote(col.Name)
	sets := []string{ref + " = " + ref + " + (" + difference + ")"}
	for _, touch := range t.Touch {
		if touch.OnUpdate {
			sets = append(sets, name+"."+sqltext.Quote(touch.Name)+" = "+name+"."+sqltext.Quote(touch.Name))
		}
	}
	_, err := r.Folder.Do(ctx, "UPDATE "+t.Base()+slotsql.ForceKey(t)+" SET "+strings.Join(sets, ", ")+" WHERE "+t.Where(k, name))
	return err
}
