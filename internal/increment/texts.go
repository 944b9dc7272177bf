package increment

import (
	"sync"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
)

// texts are a batch's statements that differ in nothing but numbers from call to call.
type texts struct {
	base sync.Map // *baseStatement by baseKey
	rows sync.Map // string by rowsKey, of the batch of the first
	keys sync.Map // lookup by set
}

// set has a bit for each of some columns.
type set uint64

// setOf is that of the values which are not zero; ok is false where there are too many.
func setOf[V comparable](values []V) (s set, ok bool) {
	var zero V
	for i, v := range values {
		if v != zero {
			s |= 1 << i
		}
	}
	return s, len(values) <= 64
}

// made is what a map has for a key, made where that is missing and is to be kept.
func made[K comparable, V any](of *sync.Map, key K, keep bool, anew func() V) V {
	if !keep {
		return anew()
	}
	if v, ok := of.Load(key); ok {
		return v.(V)
	}
	v := anew()
	of.Store(key, v)
	return v
}

// baseStatement is the UPDATE of one base row.
type baseStatement struct {
	slotsql.Template
	apart string // with parameters
}

// baseKey is what these differ in.
type baseKey struct {
	used, touched set
	later         bool
}

// baseUpdate is the statement for an increment of a base row.
func (b *Batch) baseUpdate(e *slotsql.RowIncrement, later bool) *baseStatement {
	used, few := setOf(e.Deltas)
	touched, fewTouched := setOf(e.Touch)
	return made(&b.texts.base, baseKey{used, touched, later}, few && fewTouched, func() *baseStatement {
		u := b.filling(e)
		used, touched := u.Used()
		tp := slotsql.NewDirectTemplate(u.Table, u.Name, u.Columns, used, touched, later)
		return &baseStatement{tp, tp.Apart(u)}
	})
}

// filling is what fills it.
func (b *Batch) filling(e *slotsql.RowIncrement) *slotsql.Upsert {
	return &slotsql.Upsert{Table: b.keys.Table, Name: b.name, Columns: b.keys.By, Entries: []*slotsql.RowIncrement{e}}
}

// rowsKey is what statements for several base rows differ in.
type rowsKey struct {
	of   [maxDirectRows]rowKey
	held bool
}

type rowKey struct {
	t      *catalog.Table
	used   set
	shared bool
}

// rowsUpdate is the statement for several base rows, with parameters.
func (b *Batch) rowsUpdate(rows []slotsql.BaseRow, held bool) string {
	key, keep := rowsKey{held: held}, true
	for i, r := range rows {
		used, few := setOf(r.Increment.Deltas)
		key.of[i], keep = rowKey{r.Table, used, r.Shared}, keep && few
	}
	return made(&b.texts.rows, key, keep, func() string { return slotsql.DirectRows(rows, held, true) })
}
