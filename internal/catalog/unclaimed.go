package catalog

import (
	"context"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// findUnclaimed finds the columns behind the slot number's that hold amounts of no counter. What
// is in them may be counts of one whose column has another name now.
func (t draft) findUnclaimed() {
	number := slices.IndexFunc(t.stored, numbersSlots)
	if number < 0 {
		return // it is another table
	}
	for _, c := range t.stored[number+1:] {
		if !t.Key.Has(c.Name) && !t.Virtual(c.Name) && (c.Integer() || c.Decimal()) {
			t.Unclaimed = append(t.Unclaimed, c)
		}
	}
}

// KeepingNothing is the table for who takes away all that slots hold, as of a row that is gone.
func KeepingNothing(t *Table) *Table {
	if t.Unclaimed == nil {
		return t
	}
	all := *t
	all.Unclaimed = nil
	return &all
}

// HoldingUnclaimed are the unclaimed columns in which there is something.
func HoldingUnclaimed(ctx context.Context, t *Table, query func(context.Context, string) ([][]string, error)) (holding []*Column, err error) {
	if t.Unclaimed == nil {
		return nil, nil
	}
	var some []string
	for _, c := range t.Unclaimed {
		some = append(some, "MAX("+sqltext.Quote(c.Name)+" <> 0)")
	}
	rows, err := query(ctx, "SELECT "+strings.Join(some, ", ")+" FROM "+t.Slots())
	for i, c := range t.Unclaimed {
		if err == nil && rows[0][i] == "1" {
			holding = append(holding, c)
		}
	}
	return holding, err
}

// Claimless is what is wrong with an unclaimed column that holds something, and what to do.
func Claimless(t *Table, c *Column) (problem, remedy string) {
	alter, name := "ALTER TABLE "+t.Slots()+" ", sqltext.Quote(c.Name)
	return "column " + c.Name + " of its slots table " + t.Spec.SlotsTable + " holds counts of a column that the table does not have, or not as a counter",
		"if the column was renamed, rename it there as well, before countermysql init: " + alter + "CHANGE " + name + " `new name` " + c.ColumnType + " NOT NULL DEFAULT 0 (if it has the new name too: UPDATE " + t.Slots() +
			" SET `new name` = `new name` + " + name + ", " + name + " = 0); if it was dropped, drop it there: " + alter + "DROP COLUMN " + name
}
