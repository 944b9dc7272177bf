package countermysql

import (
	"slices"
	"strconv"
	"strings"
)

// template is the strict statement that adds one entry to a slot, with holes:
// it is made once for a plan, and filled for each call.
//
// It reads the base row under a shared lock, so that it waits for whoever
// changes it, and writes nothing without a row. Naming the counters makes the
// server lock the clustered row.
type template []piece

// piece is text and the hole after it.
type piece struct {
	text string
	hole hole
	i    int // which counter, touch column or key column
}

type hole uint8

const (
	noHole hole = iota
	holeSlot
	holeDelta
	holeTouch
	holeWhere
	holeLock
)

// filling is what goes into the holes of a template.
type filling interface {
	delta(buf []byte, i int) []byte
	touch(buf []byte, i int) []byte
	where(buf []byte) []byte
}

// newTemplate makes the statement for a base table that conditions call name,
// for the counters and touch columns that are set, where they give the key cols, without
// its first word. later leaves out rows that were touched later. The hint costs nothing,
// and fails if the table has become a view of one that has another slots table.
func newTemplate(t *table, name string, cols []*column, used, touched []int, later bool) template {
	base := quoteIdent(name)
	var tp template
	var text strings.Builder
	cut := func(h hole, i int) {
		tp = append(tp, piece{text.String(), h, i})
		text.Reset()
	}
	text.WriteString("INTO " + t.slots() + " (")
	for _, k := range t.key {
		text.WriteString(quoteIdent(k.name) + ", ")
	}
	text.WriteString(quoteIdent(t.slotCol))
	for _, i := range used {
		text.WriteString(", " + quoteIdent(t.counters[i].name))
	}
	for _, i := range touched {
		text.WriteString(", " + quoteIdent(t.touch[i].name))
	}
	text.WriteString(") SELECT ")
	for _, k := range t.key {
		text.WriteString(base + "." + quoteIdent(k.name) + ", ")
	}
	cut(holeSlot, 0)
	for _, i := range used {
		text.WriteString(", ")
		cut(holeDelta, i)
	}
	for _, i := range touched {
		text.WriteString(", ")
		cut(holeTouch, i)
	}
	text.WriteString(" FROM " + t.base() + " AS " + base + t.force(cols) + " WHERE (")
	cut(holeWhere, 0)
	text.WriteString(")")
	for _, i := range used {
		text.WriteString(" AND " + base + "." + quoteIdent(t.counters[i].name) + " IS NOT NULL")
	}
	for _, cond := range t.incrementable(base, slices.Equal(cols, t.key)) {
		text.WriteString(" AND " + cond)
	}
	if later {
		for _, i := range touched {
			col := base + "." + quoteIdent(t.touch[i].name)
			text.WriteString(" AND (" + col + " IS NULL OR " + col + " <= CAST(")
			cut(holeTouch, i)
			text.WriteString(" AS " + t.touch[i].moments() + "))")
		}
	}
	if len(t.key) == 0 {
		text.WriteString(" AND (SELECT COUNT(*) FROM " + t.base() + " " + t.lock() + ") = 1")
	}
	text.WriteString(" ")
	cut(holeLock, 0)
	text.WriteString(" ON DUPLICATE KEY UPDATE ")
	for n, i := range used {
		if n > 0 {
			text.WriteString(", ")
		}
		col := quoteIdent(t.counters[i].name)
		text.WriteString(col + " = " + t.slots() + "." + col + " + ")
		cut(holeDelta, i)
	}
	for n, i := range touched {
		if n > 0 || len(used) > 0 {
			text.WriteString(", ")
		}
		// the later of both: NULL is earlier than any time
		col := quoteIdent(t.touch[i].name)
		of := t.slots() + "." + col
		text.WriteString(col + " = GREATEST(COALESCE(" + of + ", ")
		cut(holeTouch, i)
		text.WriteString("), ")
		cut(holeTouch, i)
		text.WriteString(")")
	}
	cut(noHole, 0)
	return tp
}

// fill writes the statement.
func (tp template) fill(buf []byte, prefix, lock string, slot int, f filling) []byte {
	buf = append(buf, prefix...)
	for _, p := range tp {
		buf = append(buf, p.text...)
		switch p.hole {
		case holeSlot:
			buf = strconv.AppendInt(buf, int64(slot), 10)
		case holeDelta:
			buf = f.delta(buf, p.i)
		case holeTouch:
			buf = f.touch(buf, p.i)
		case holeWhere:
			buf = f.where(buf)
		case holeLock:
			buf = append(buf, lock...)
		}
	}
	return buf
}
