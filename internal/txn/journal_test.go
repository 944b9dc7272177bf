package txn

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/catalogtest"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// memory is a copy of what a transaction remembers of a table.
type memory struct {
	Entries map[string]slotsql.RowIncrement
	Late    bool
	Any     bool
	Rows    []WrittenRow
	Taken   map[string]bool
	Locked  map[string]map[string]string
}

func memoryOf(x *State, t *catalog.Table) memory {
	m := memory{Entries: map[string]slotsql.RowIncrement{}, Taken: map[string]bool{}, Locked: map[string]map[string]string{}}
	if p := x.Pending[t.String()]; p != nil {
		for id, e := range p.Entries {
			m.Entries[id] = *e.Clone()
		}
		m.Late = p.Late
	}
	if w := x.Written[t.String()]; w != nil {
		m.Any, m.Rows = w.Unbounded, append([]WrittenRow(nil), w.Rows...)
		maps.Copy(m.Taken, w.Folded)
		maps.Copy(m.Locked, w.Locked)
	}
	return m
}

// TestJournal proves that ROLLBACK TO brings back what was pending and written at the
// savepoint, whatever has changed since, by comparing it with a copy made then.
func TestJournal(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := catalogtest.Forum(true)
	post := s.Tables[s.Key("forum", "post")]
	for range 200 {
		x := New(sqltext.RepeatableRead)
		type saved struct {
			name string
			memory
		}
		var savepoints []saved
		at := func(name string) int {
			return slices.IndexFunc(savepoints, func(s saved) bool { return s.name == name })
		}
		for range 150 {
			id, name := fmt.Sprint(random.IntN(9)), fmt.Sprint("s", random.IntN(4))
			p, w := x.PendingFor(post), x.WrittenTo(post)
			switch random.IntN(24) {
			case 0, 1, 2, 3:
				p.Add(slotsql.RowIncrement{ID: id, Key: catalog.Key{id}, Deltas: []int64{1 + random.Int64N(5), 0}, Touch: []string{}})
			case 4:
				p.Remove(id)
			case 5:
				p.NoteLate(true)
			case 6, 7, 8:
				w.Mark(WrittenRow{Base: id})
			case 9, 10, 11:
				w.Fold(id)
			case 22:
				w.Lock(id, nil)
			case 23:
				w.Lock(id, map[string]string{"likes": fmt.Sprint(random.IntN(3))})
			case 12, 13:
				switch random.IntN(12) {
				case 0:
					w.SetUnbounded()
				case 1:
					x.doubt()
				case 2:
					w.forgetTaken()
				case 3:
					x.SentAll(post)
				case 4:
					x.RollbackTo("a routine's")
				case 5:
					x.DropEmpty()
				}
			case 14, 15, 16, 17:
				if i := at(name); i >= 0 {
					savepoints = slices.Delete(savepoints, i, i+1)
				}
				savepoints = append(savepoints, saved{name, memoryOf(x, post)})
				x.Save(name)
			case 18, 19, 20:
				if i := at(name); i >= 0 {
					savepoints = savepoints[:i+1]
					x.RollbackTo(name)
					require.Equal(t, savepoints[i].memory, memoryOf(x, post))
				}
			default:
				if i := at(name); i >= 0 {
					savepoints = savepoints[:i]
				}
				x.journal.release(name, true)
			}
			require.Equal(t, slices.ContainsFunc(savepoints, func(s saved) bool { return len(s.Entries) > 0 }), x.KeepsPending())
		}
	}
}

// TestJournalIsShort proves that a savepoint costs what changes behind it, not what there
// is; that what changes again and again is written down once; and that without a savepoint
// nothing is.
func TestJournalIsShort(t *testing.T) {
	const n = 10_000
	table := &catalog.Table{Spec: catalog.Spec{DB: "forum", Name: "post"}}
	x := New(sqltext.RepeatableRead)
	add := func(id string) {
		x.PendingFor(table).Add(slotsql.RowIncrement{ID: id, Key: catalog.Key{id}, Deltas: []int64{1}})
	}
	for i := range n {
		add(fmt.Sprint(i))
		x.WrittenTo(table).Fold(fmt.Sprint(i))
	}
	require.Empty(t, x.journal.undo)
	for i := range n {
		x.Save(fmt.Sprint("s", i))
		for range 5 {
			add(fmt.Sprint(n + i))
		}
	}
	require.Len(t, x.journal.undo, n)
	x.RollbackTo("s99")
	require.Len(t, x.PendingFor(table).Entries, n+99)
	require.EqualValues(t, 5, x.PendingFor(table).Entries[fmt.Sprint(n+98)].Deltas[0])
	x.journal.release("s0", true)
	require.Nil(t, x.journal.undo)
}
