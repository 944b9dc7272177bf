package histories

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/changes"
)

const counters = 4

// input is one statement on one counter, in autocommit or as all of a transaction.
type input struct {
	kind    string
	counter int
	amount  int64
	limit   int64 // of sell and fill
}

// output is what the client was told. unknown: nobody knows whether it was done.
type output struct {
	value   int64
	rows    int64
	unknown bool
}

const (
	read      = "read"      // SELECT, or SELECT … FOR UPDATE
	increment = "increment" // relative, whatever the way
	set       = "set"       // absolute
	take      = "take"      // a decrement that succeeds only if there is enough
	sell      = "sell"      // a decrement of what is not below the limit
	fill      = "fill"      // an increment that does not come above it
	clamp     = "clamp"     // a decrement down to zero, but not below
	fetch     = "fetch"     // an increment, and its value in the same transaction
	remake    = "remake"    // DROP and CREATE of the table
)

// model is a counter that does one statement at a time. What is unknown may have been done at
// any later time: if it was not, that is after all that was told.
var model = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := map[int][]porcupine.Operation{}
		for _, op := range history {
			i := op.Input.(input).counter
			parts[i] = append(parts[i], op)
		}
		return slices.Collect(maps.Values(parts))
	},
	Init: func() any { return int64(0) },
	Step: func(state, in, out any) (bool, any) {
		n, i, o := state.(int64), in.(input), out.(output)
		next, rows := n, int64(1)
		switch i.kind {
		case read:
			return o.unknown || o.value == n, n
		case increment:
			next = n + i.amount
		case fetch:
			if next = n + i.amount; !o.unknown && o.value != next {
				return false, n
			}
		case set:
			next = i.amount
			if next == n {
				rows = 0 // MySQL counts rows that change
			}
		case take:
			if n < i.amount {
				rows = 0
			} else {
				next = n - i.amount
			}
		case sell:
			if next = n - i.amount; n < i.limit {
				next, rows = n, 0
			}
		case fill:
			if next = n + i.amount; next > i.limit {
				next, rows = n, 0
			}
		case clamp:
			if next = max(n-i.amount, 0); next == n {
				rows = 0
			}
		case remake:
			next, rows = 0, o.rows
		}
		return o.unknown || o.rows == rows, next
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v → %+v", in, out) },
}

// never is when what is unknown is over at the latest: behind everything that was told.
const never = int64(time.Hour)

// history is what several clients were told, with the times.
type history struct {
	mu    sync.Mutex
	ops   []porcupine.Operation
	begun time.Time

	refused     int // statements of which nothing was done
	annotations []porcupine.Annotation
}

func (h *history) record(client int, in input, do func() (output, error)) {
	h.recordAll(client, []input{in}, do)
}

// recordAll records a statement on several counters, of each of which the client is told the same.
func (h *history) recordAll(client int, ins []input, do func() (output, error)) {
	call := int64(time.Since(h.begun))
	out, err := do()
	end := int64(time.Since(h.begun))
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil:
	case errors.Is(err, sql.ErrNoRows): // no counter is below zero
		out.value = -1
	case changes.Refused(err) || ins[0].kind == read:
		h.refused++
		return
	default:
		out, end = output{unknown: true}, never
	}
	for _, in := range ins {
		h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: in, Call: call, Output: out, Return: end})
	}
}

// readAll records what all of it has come to.
func (h *history) readAll(db *sql.DB, rows []row) error {
	var errs []error
	for _, r := range rows {
		h.record(99, input{kind: read, counter: r.counter}, func() (out output, err error) {
			err = db.QueryRow("SELECT n FROM counter WHERE id = ?", r.key).Scan(&out.value)
			errs = append(errs, err)
			return out, err
		})
	}
	return errors.Join(errs...)
}

// check has porcupine judge the history.
func (h *history) check(t *testing.T) {
	t.Helper()
	unknown := 0
	for _, op := range h.ops {
		if op.Output.(output).unknown {
			unknown++
		}
	}
	result, info := porcupine.CheckOperationsVerbose(model, h.ops, 5*time.Minute)
	t.Logf("%d operations, %d of them unknown, and %d refused: %s", len(h.ops), unknown, h.refused, result)
	if result != porcupine.Ok {
		file, err := os.CreateTemp("", "history-*.html")
		require.NoError(t, err)
		info.AddAnnotations(h.annotations)
		require.NoError(t, porcupine.Visualize(model, info, file))
		require.NotEqual(t, porcupine.Unknown, result, "porcupine did not find an answer in time; see "+file.Name())
		t.Fatalf("not linearizable; see %s", file.Name())
	}
}

// TestChecker proves that the check sees what would be wrong: a lost increment,
// a stale read, a stock that was sold twice.
func TestChecker(t *testing.T) {
	op := func(client int, in input, out output, call, end int64) porcupine.Operation {
		return porcupine.Operation{ClientId: client, Input: in, Output: out, Call: call, Return: end}
	}
	add := input{kind: increment, amount: 1}
	done := output{rows: 1}
	for name, c := range map[string]struct {
		ops []porcupine.Operation
		ok  bool
	}{
		"right":        {[]porcupine.Operation{op(0, add, done, 0, 10), op(1, add, done, 5, 15), op(0, input{kind: read}, output{value: 2}, 20, 30)}, true},
		"meanwhile":    {[]porcupine.Operation{op(0, add, done, 0, 10), op(1, input{kind: read}, output{value: 0}, 5, 30)}, true},
		"unknown":      {[]porcupine.Operation{op(0, add, output{unknown: true}, 0, never), op(1, input{kind: read}, output{value: 0}, 5, 10), op(1, input{kind: read}, output{value: 1}, 15, 20)}, true},
		"not done":     {[]porcupine.Operation{op(0, add, output{unknown: true}, 0, never), op(1, input{kind: read}, output{value: 0}, 15, 20)}, true},
		"done twice":   {[]porcupine.Operation{op(0, add, output{unknown: true}, 0, never), op(1, input{kind: read}, output{value: 2}, 15, 20)}, false},
		"lost":         {[]porcupine.Operation{op(0, add, done, 0, 10), op(1, add, done, 5, 15), op(0, input{kind: read}, output{value: 1}, 20, 30)}, false},
		"stale":        {[]porcupine.Operation{op(0, add, done, 0, 10), op(1, input{kind: read}, output{value: 0}, 11, 30)}, false},
		"back in time": {[]porcupine.Operation{op(0, add, done, 0, 40), op(1, input{kind: read}, output{value: 1}, 5, 10), op(2, input{kind: read}, output{value: 0}, 15, 20)}, false},
		"same number": {[]porcupine.Operation{op(0, input{kind: fetch, amount: 1}, output{rows: 1, value: 1}, 0, 10),
			op(1, input{kind: fetch, amount: 1}, output{rows: 1, value: 1}, 1, 12)}, false},
		"remade":      {[]porcupine.Operation{op(0, add, done, 0, 10), op(1, input{kind: remake}, output{}, 11, 20), op(0, add, done, 15, 30), op(0, input{kind: read}, output{value: 1}, 31, 40)}, true},
		"not remade":  {[]porcupine.Operation{op(0, add, done, 0, 10), op(1, input{kind: remake}, output{}, 11, 20), op(0, input{kind: read}, output{value: 1}, 21, 30)}, false},
		"no such row": {[]porcupine.Operation{op(0, input{kind: read}, output{value: -1}, 0, 10)}, false},
		"sold twice": {[]porcupine.Operation{op(0, add, done, 0, 10), op(1, input{kind: take, amount: 1}, done, 11, 20),
			op(2, input{kind: take, amount: 1}, done, 12, 20)}, false},
	} {
		require.Equal(t, c.ok, porcupine.CheckOperations(model, c.ops), name)
	}
}
