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
	var text templateWriter
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
	text.cut(holeSlot, 0)
	for _, i := range used {
		text.WriteString(", ")
		text.cut(holeDelta, i)
	}
	for _, i := range touched {
		text.WriteString(", ")
		text.cut(holeTouch, i)
	}
	text.WriteString(" FROM " + t.Base() + " AS " + base + Force(t, cols))
	text.where(t, base, used)
	for _, cond := range t.Key.Incrementable(base, slices.Equal(cols, t.Key)) {
		text.WriteString(" AND " + cond)
	}
	if later {
		for _, i := range touched {
			col := base + "." + sqltext.Quote(t.Touch[i].Name)
			text.WriteString(" AND (" + col + " IS NULL OR " + col + " <= CAST(")
			text.cut(holeTouch, i)
			text.WriteString(" AS " + t.Touch[i].Moments() + "))")
		}
	}
	if len(t.Key) == 0 {
		text.WriteString(" AND (SELECT COUNT(*) FROM " + t.Base() + " " + t.Lock() + ") = 1")
	}
	text.WriteString(" ")
	text.cut(holeLock, 0)
	text.WriteString(" ON DUPLICATE KEY UPDATE ")
	text.adds(t, used, touched, "", t.Slots()+".")
	return text.done()
}

// templateWriter writes a template.
type templateWriter struct {
	strings.Builder
	pieces Template
}

// cut makes a hole.
func (w *templateWriter) cut(h hole, i int) {
	w.pieces = append(w.pieces, piece{w.String(), h, i})
	w.Reset()
}

func (w *templateWriter) done() Template {
	w.cut(noHole, 0)
	return w.pieces
}

// where writes the condition, and that the counters which are used have numbers.
func (w *templateWriter) where(t *catalog.Table, base string, used []int) {
	w.WriteString(" WHERE (")
	w.cut(holeWhere, 0)
	w.WriteString(")")
	for _, i := range used {
		w.WriteString(" AND " + base + "." + sqltext.Quote(t.Counters[i].Name) + " IS NOT NULL")
	}
}

// adds writes the assignments to columns, whose names have a prefix, of what they add to
// columns that have another: counters their sums, touch columns the later of two times.
func (w *templateWriter) adds(t *catalog.Table, used, touched []int, to, of string) {
	between := ""
	for _, i := range used {
		col := sqltext.Quote(t.Counters[i].Name)
		w.WriteString(between + to + col + " = " + of + col + " + ")
		w.cut(holeDelta, i)
		between = ", "
	}
	for _, i := range touched { // NULL is earlier than any time
		col := sqltext.Quote(t.Touch[i].Name)
		w.WriteString(between + to + col + " = GREATEST(COALESCE(" + of + col + ", ")
		w.cut(holeTouch, i)
		w.WriteString("), ")
		w.cut(holeTouch, i)
		w.WriteString(")")
		between = ", "
	}
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
