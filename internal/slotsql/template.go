package slotsql

import (
	"slices"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// Template is the strict statement that adds one entry to a slot, with holes:
// it is made once for a plan, and filled for each call.
//
// It reads the base row under a shared lock, so that it waits for whoever
// changes it, and writes nothing without a row. Naming the counters makes the
// server lock the clustered row.
type Template []piece

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
	Delta(buf []byte, i int) []byte
	Touch(buf []byte, i int) []byte
	Where(buf []byte) []byte
}

// NewTemplate makes the statement for a base table that conditions call name,
// for the counters and touch columns that are set, where they give the key cols, without
// its first word. later leaves out rows that were touched later. The hint costs nothing,
// and fails if the table has become a view of one that has another slots table.
func NewTemplate(t *catalog.Table, name string, cols []*catalog.Column, used, touched []int, later bool) Template {
	base := sqltext.Quote(name)
	var tp Template
	var text strings.Builder
	cut := func(h hole, i int) {
		tp = append(tp, piece{text.String(), h, i})
		text.Reset()
	}
	text.WriteString("INTO " + t.Slots() + " (")
	for _, k := range t.Key {
		text.WriteString(sqltext.Quote(k.Name) + ", ")
	}
	text.WriteString(sqltext.Quote(t.SlotCol))
	for _, i := range used {
		text.WriteString(", " + sqltext.Quote(t.Counters[i].Name))
	}
	for _, i := range touched {
		text.WriteString(", " + sqltext.Quote(t.Touch[i].Name))
	}
	text.WriteString(") SELECT ")
	for _, k := range t.Key {
		text.WriteString(base + "." + sqltext.Quote(k.Name) + ", ")
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
	text.WriteString(" FROM " + t.Base() + " AS " + base + Force(t, cols) + " WHERE (")
	cut(holeWhere, 0)
	text.WriteString(")")
	for _, i := range used {
		text.WriteString(" AND " + base + "." + sqltext.Quote(t.Counters[i].Name) + " IS NOT NULL")
	}
	for _, cond := range t.Key.Incrementable(base, slices.Equal(cols, t.Key)) {
		text.WriteString(" AND " + cond)
	}
	if later {
		for _, i := range touched {
			col := base + "." + sqltext.Quote(t.Touch[i].Name)
			text.WriteString(" AND (" + col + " IS NULL OR " + col + " <= CAST(")
			cut(holeTouch, i)
			text.WriteString(" AS " + t.Touch[i].Moments() + "))")
		}
	}
	if len(t.Key) == 0 {
		text.WriteString(" AND (SELECT COUNT(*) FROM " + t.Base() + " " + t.Lock() + ") = 1")
	}
	text.WriteString(" ")
	cut(holeLock, 0)
	text.WriteString(" ON DUPLICATE KEY UPDATE ")
	for n, i := range used {
		if n > 0 {
			text.WriteString(", ")
		}
		col := sqltext.Quote(t.Counters[i].Name)
		text.WriteString(col + " = " + t.Slots() + "." + col + " + ")
		cut(holeDelta, i)
	}
	for n, i := range touched {
		if n > 0 || len(used) > 0 {
			text.WriteString(", ")
		}
		// the later of both: NULL is earlier than any time
		col := sqltext.Quote(t.Touch[i].Name)
		of := t.Slots() + "." + col
		text.WriteString(col + " = GREATEST(COALESCE(" + of + ", ")
		cut(holeTouch, i)
		text.WriteString("), ")
		cut(holeTouch, i)
		text.WriteString(")")
	}
	cut(noHole, 0)
	return tp
}

// Fill writes the statement.
func (tp Template) Fill(buf []byte, prefix, lock string, slot int, f filling) []byte {
	buf = append(buf, prefix...)
	for _, p := range tp {
		buf = append(buf, p.text...)
		switch p.hole {
		case holeSlot:
			buf = strconv.AppendInt(buf, int64(slot), 10)
		case holeDelta:
			buf = f.Delta(buf, p.i)
		case holeTouch:
			buf = f.Touch(buf, p.i)
		case holeWhere:
			buf = f.Where(buf)
		case holeLock:
			buf = append(buf, lock...)
		}
	}
	return buf
}
