package countermysql

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/groupcommit"
	"github.com/countermysql/countermysql/internal/stock"
	"github.com/countermysql/countermysql/internal/traffic"
)

// tableTraffic is what callers who come together want of a table, by whatever definition of
// it their statements were planned.
type tableTraffic struct {
	lookups groupcommit.Group[*search]
	queues  stock.Queues[*sale]

	batches sync.Map     // *batch by batchKey
	known   atomic.Int64 // so many
}

// maxBatches bounds the batches that a table keeps: a text may give it any name.
const maxBatches = 1000

// batchKey is what the increments of a batch have in common.
type batchKey struct {
	t    *catalog.Table // of one reading of the schema
	name string         // by which conditions call it
	key  string         // that they give
}

// batch returns the batch for increments whose conditions call a table by a name and give
// one of its unique keys; beyond the bound, one of the caller's own.
func (c *Connector) batch(t *catalog.Table, name string, cols []*catalog.Column) *batch {
	of, key := c.traffic.Of(t), batchKey{t, name, strings.Join(catalog.QuoteNames(cols), ",")}
	if b, ok := of.batches.Load(key); ok {
		return b.(*batch)
	}
	own := &batch{t: t, name: name, cols: cols, keys: traffic.Keys{Table: t, By: cols}}
	if of.known.Load() >= maxBatches {
		return own
	}
	b, known := of.batches.LoadOrStore(key, own)
	if !known {
		of.known.Add(1)
	}
	return b.(*batch)
}

// forgetBatches lets go of the batches of definitions that no longer hold.
func (c *Connector) forgetBatches(s *catalog.Schema) {
	for _, of := range c.traffic {
		of.batches.Range(func(key, _ any) bool {
			if t := key.(batchKey).t; s.Lookup(t.Spec.DB, t.Spec.Name, "") != t {
				of.batches.Delete(key)
				of.known.Add(-1)
			}
			return true
		})
	}
}
