package maintain

import (
	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// NoteOverrides notes that a statement has set derived counters, whatever their formulas say, until
// a recount has repaired them.
func (m *Maintainer) NoteOverrides(counters []string, text string) {
	for _, name := range counters {
		if _, known := m.overridden.LoadOrStore(name, true); !known {
			m.Warn("derived "+name, "countermysql: a statement sets a derived counter, which is not what its formula says until it is recounted", "counter", name, "statement", sqltext.Digest(text))
		}
	}
}

// Overridden reports whether a statement of this process has set a derived counter since then.
func (m *Maintainer) Overridden(t *catalog.Table, c *catalog.Column) bool {
	_, set := m.overridden.Load(t.FullName(c))
	return set
}
