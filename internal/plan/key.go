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

// Bind writes the condition that selects the key's row of the table called name;
// all that begin like it where the server may store the other columns otherwise.
func (kv KeyValue) Bind(name string, b Binder) (string, bool) {
	buf, ok := kv.append(nil, name, b)
	return string(buf), ok
}

func (kv KeyValue) append(buf []byte, name string, b Binder) (_ []byte, ok bool) {
	if len(kv.Columns) == 0 {
		return append(buf, "TRUE"...), true // the row of a keyless table
	}
	for i, c := range kv.Columns {
		v := kv.values[i]
		if kv.stored {
			if v, ok = b.asStored(c, v); !ok {
				return buf, i > 0
			}
		}
		if i > 0 {
			buf = append(buf, " AND "...)
		}
		buf = append(buf, sqltext.Qualified(name, c.Name)+" = "...)
		if buf, ok = b.value(buf, v); !ok {
			return buf, false
		}
	}
	return buf, true
}

// Key is the table's key that the value gives; ok is false if it is one of another, or in
// other words than the server does.
func (kv KeyValue) Key(t *catalog.Table, b Binder) (k catalog.Key, ok bool) {
	if !slices.Equal(kv.Columns, t.Key) {
		return nil, false
	}
	return kv.text(b)
}

// text is the key that the value gives; ok is false without columns, too.
func (kv KeyValue) text(b Binder) (k catalog.Key, ok bool) {
	k = make(catalog.Key, len(kv.Columns))
	for i, c := range kv.Columns {
		if k[i], ok = b.keyText(c, kv.values[i]); !ok || kv.values[i].negative {
			return k, false
		}
	}
	return k, ok
}

// Momentary reports whether the key depends on the server's clock.
func (kv KeyValue) Momentary() bool {
	return slices.ContainsFunc(kv.values, func(v Operand) bool { _, is := v.literal.(ServerClock); return is })
}

// BindKeys is Bind for several keys; "FALSE" for none.
func BindKeys(keys []KeyValue, name string, b Binder) (string, bool) {
	conds := make([]string, len(keys))
	for i, kv := range keys {
		c, ok := kv.Bind(name, b)
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

func keyColumns(keys []KeyValue) []*catalog.Column {
	if len(keys) == 0 {
		return nil
	}
	return keys[0].Columns
}

// SlotsOf selects the slots of the row that has a key.
func SlotsOf(t *catalog.Table, kv KeyValue, b Binder) string {
	if len(kv.Columns) == 0 || slices.Equal(kv.Columns, t.Key) {
		where, _ := kv.Bind(catalog.PrivateName, b)
		return where
	}
	where, _ := kv.Bind(t.Spec.Name, b)
	return "EXISTS (SELECT 1 FROM " + t.Base() + " WHERE " + where + " AND " + t.Key.Same(sqltext.Quote(t.Spec.Name), catalog.PrivateName) + ")"
}
