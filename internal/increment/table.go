package increment

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/groupcommit"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/traffic"
)

// table is what callers who come together want of a table, by whatever definition of it
// their statements were planned.
type table struct {
	lookups groupcommit.Group[*search]
	batches sync.Map     // *Batch by batchKey
	known   atomic.Int64 // so many
}

// maxBatches bounds the batches that a table keeps: a text may give it any name.
const maxBatches = 1000

// batchKey is what the increments of a batch have in common.
type batchKey struct {
	t    *catalog.Table // of one reading of the schema
	name string         // by which conditions call it
	key  string         // that they give; "": the table's own
}

// Batch returns the batch for increments whose conditions call a table by a name and give
// one of its unique keys; beyond the bound, one of the caller's own.
func (s *Shared) Batch(t *catalog.Table, name string, cols catalog.KeyColumns) *Batch {
	of, key := s.tables.Of(t), batchKey{t: t, name: name}
	if !slices.Equal(cols, t.Key) {
		key.key = strings.Join(catalog.QuoteNames(cols), ",")
	}
	if b, ok := of.batches.Load(key); ok {
		return b.(*Batch)
	}
	own := &Batch{name: name, keys: traffic.Keys{Table: t, By: cols}}
	if of.known.Load() >= maxBatches {
		return own
	}
	b, known := of.batches.LoadOrStore(key, own)
	if !known {
		of.known.Add(1)
	}
	return b.(*Batch)
}

// byKey is that for a table's own name and key.
func (s *Shared) byKey(t *catalog.Table) *Batch { return s.Batch(t, t.Spec.Name, t.Key) }

// Slotted notes increments of a table's own key that have gone to slots.
func (s *Shared) Slotted(t *catalog.Table, entries []*slotsql.RowIncrement) {
	s.Background.Slotted(&s.byKey(t).keys, entries)
}

// Forget lets go of the batches of definitions that do not hold in a schema.
func (s *Shared) Forget(now *catalog.Schema) {
	for _, of := range s.tables {
		of.batches.Range(func(key, b any) bool {
			if t := key.(batchKey).t; now.Lookup(t.Spec.DB, t.Spec.Name, "") != t {
				of.batches.Delete(key)
				of.known.Add(-1)
			}
			b.(*Batch).texts.rows.Clear() // which name other tables, too
			return true
		})
	}
}
