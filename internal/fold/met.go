package fold

import (
	"context"
	"errors"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// HadSlots returns what the row of a condition was before the transaction, as assignments;
// "" if it has no slots. While it is locked nobody adds any.
func (f *Folder) HadSlots(ctx context.Context, s plan.RowSet, where string) (was string, err error) {
	t, name := s.Table, sqltext.Quote(s.Name)
	var refs, values []string
	for _, col := range t.Counters {
		refs = append(refs, name+"."+sqltext.Quote(col.Name))
	}
	for _, col := range t.Touch {
		if col.OnUpdate {
			refs = append(refs, name+"."+sqltext.Quote(col.Name))
		}
	}
	for _, ref := range refs {
		values = append(values, "CAST("+ref+" AS CHAR)")
	}
	rows, err := f.Outside(ctx, "SELECT "+slotsql.CountSlots(t, s.Name)+", "+strings.Join(values, ", ")+" FROM "+s.From()+" WHERE "+where)
	switch {
	case err != nil || len(rows) == 0 || rows[0][0] == "0":
		return "", err
	case rows[0][0] == "": // the query was killed
		return "", errors.New("the server has not finished looking for slots")
	}
	sets := make([]string, len(refs))
	for i, ref := range refs {
		value := "NULL"
		if v := rows[0][1+i]; v != "" {
			value = "'" + v + "'"
		}
		sets[i] = ref + " = " + value
	}
	return strings.Join(sets, ", "), nil
}

// KeysOf are the keys of the rows that meet a condition, as others see them.
func (f *Folder) KeysOf(ctx context.Context, s plan.RowSet, where string) (map[string]catalog.Key, error) {
	rows, err := f.Outside(ctx, "SELECT "+s.Table.Key.Select(sqltext.Quote(s.Name))+" FROM "+s.From()+" WHERE "+where)
	keys := map[string]catalog.Key{}
	for _, k := range s.Table.Key.KeysOfRows(rows) {
		keys[k.ID()] = k
	}
	return keys, err
}

// MetNoOther fails where a row with slots has come meanwhile, or got a unique key by which the
// statement met it: it wrote the base row alone.
func (f *Folder) MetNoOther(ctx context.Context, s plan.RowSet, where string, met map[string]catalog.Key) error {
	now, err := f.KeysOf(ctx, s, where)
	if err != nil {
		return err
	}
	var others []catalog.Key
	for id, k := range now {
		if met[id] == nil {
			others = append(others, k)
		}
	}
	if others == nil {
		return nil
	}
	found, err := f.SlotRows(ctx, s.Table, others, f.Outside)
	if err != nil || len(found) == 0 {
		return err
	}
	return f.AsDeadlock("others have made a row of " + s.Table.String() + " meanwhile, or given it that key")
}
