package plan

import (
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// KeyValue is one value of a unique key, as a statement gives it.
type KeyValue struct {
	Columns []*catalog.Column
	values  []Operand
	stored  bool // it is given to a row, as the columns will hold it
}

// Bind writes the condition that selects the pinned row of the table called name;
// all that begin like it where the server may store the other columns otherwise.
func (p KeyValue) Bind(name string, b Binder) (string, bool) {
	buf, ok := p.append(nil, name, b)
	return string(buf), ok
}

func (p KeyValue) append(buf []byte, name string, b Binder) (_ []byte, ok bool) {
	if len(p.Columns) == 0 {
		return append(buf, "TRUE"...), true // the row of a keyless table
	}
	for i, c := range p.Columns {
		v := p.values[i]
		if p.stored {
			if v, ok = b.asStored(c, v); !ok {
				return buf, i > 0
			}
		}
		if i > 0 {
			buf = append(buf, " AND "...)
		}
		buf = append(buf, sqltext.Quote(name)+"."+sqltext.Quote(c.Name)+" = "...)
		if buf, ok = b.value(buf, v); !ok {
			return buf, false
		}
	}
	return buf, true
}

// Key is the table's key that the pin gives; ok is false if it gives another, or in
// other words than the server does.
func (p KeyValue) Key(t *catalog.Table, b Binder) (k catalog.Key, ok bool) {
	k = make(catalog.Key, len(t.Key))
	if len(t.Key) == 0 || !slices.Equal(p.Columns, t.Key) {
		return k, false
	}
	for i, c := range t.Key {
		if k[i], ok = b.keyText(c, p.values[i]); !ok || p.values[i].negative {
			return k, false
		}
	}
	return k, true
}

// Momentary reports whether the pin depends on the server's clock.
func (p KeyValue) Momentary() bool {
	return slices.ContainsFunc(p.values, func(v Operand) bool { _, is := v.literal.(ServerClock); return is })
}

// BindPins is bind for several keys; "FALSE" for none.
func BindPins(pins []KeyValue, name string, b Binder) (string, bool) {
	conds := make([]string, len(pins))
	for i, p := range pins {
		c, ok := p.Bind(name, b)
		if !ok {
			return "", false
		}
		conds[i] = "(" + c + ")"
	}
	if len(conds) == 0 {
		return "FALSE", true
	}
	return strings.Join(conds, " OR "), true
}

func keyColumns(pins []KeyValue) []*catalog.Column {
	if len(pins) == 0 {
		return nil
	}
	return pins[0].Columns
}

// PinnedSlots selects the slots of a pinned row.
func PinnedSlots(t *catalog.Table, p KeyValue, b Binder) string {
	if len(p.Columns) == 0 || slices.Equal(p.Columns, t.Key) {
		where, _ := p.Bind(catalog.PrivateName, b)
		return where
	}
	where, _ := p.Bind(t.Spec.Name, b)
	return "EXISTS (SELECT 1 FROM " + t.Base() + " WHERE " + where + " AND " + t.Key.Same(sqltext.Quote(t.Spec.Name), catalog.PrivateName) + ")"
}
