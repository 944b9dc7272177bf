package buffer

import (
	"maps"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/stats"
)

// statistics are those of now.
func (b *Table) statistics() stats.BufferedStatistics {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.figures
	out.Lost = maps.Clone(out.Lost)
	out.Acknowledged, out.Keys = b.past, b.keys.Load()
	first := b.oldest
	if b.flushing != 0 && (first == 0 || b.flushing < first) {
		first = b.flushing
	}
	for _, g := range b.all() {
		acknowledged, waiting, since := g.sums()
		out.Acknowledged, out.Waiting = out.Acknowledged+acknowledged, out.Waiting+waiting
		if since != 0 && (first == 0 || since < first) {
			first = since
		}
	}
	if first != 0 && out.Waiting > 0 {
		out.Oldest = catalog.Clock() - first
	}
	if !out.Flushed.IsZero() {
		out.Age = time.Since(out.Flushed)
	}
	return out
}

// noteLost counts increments that could not be stored.
func (b *Table) noteLost(n int64, reason string) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	if b.figures.Lost == nil {
		b.figures.Lost = map[string]int64{}
	}
	b.figures.Lost[reason] += n
	b.mu.Unlock()
	b.config.Warn("lost "+b.name()+reason, "countermysql: buffered increments are lost", "table", b.name(), "increments", n, "reason", reason)
}
