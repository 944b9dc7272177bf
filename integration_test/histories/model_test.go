package histories

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
)

const counters = 4

// input is one statement on one counter, in autocommit or as all of a transaction.
type input struct {
	kind    string
	counter int
	amount  int64
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
	fetch     = "fetch"     // an increment, and its value in the same transaction
)

// model is a counter that does one statement at a time. It is not deterministic:
// what is unknown may have been done or not.
var model = porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := make([][]porcupine.Operation, counters)
		for _, op := range history {
			i := op.Input.(input).counter
			parts[i] = append(parts[i], op)
		}
		return parts
	},
	Init: func() []any { return []any{int64(0)} },
	Step: func(state, in, out any) []any {
		n, i, o := state.(int64), in.(input), out.(output)
		next, rows := n, int64(1)
		switch i.kind {
		case read:
			if !o.unknown && o.value != n {
				return nil
			}
			return []any{n}
		case increment:
			next = n + i.amount
		case fetch:
			if next = n + i.amount; !o.unknown && o.value != next {
				return nil
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
		}
		switch {
		case o.unknown && next != n:
			return []any{n, next}
		case !o.unknown && o.rows != rows:
			return nil
		}
		return []any{next}
	},
	Equal:             func(a, b any) bool { return a.(int64) == b.(int64) },
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v → %+v", in, out) },
}

// history is what several clients were told, with the times.
type history struct {
	mu    sync.Mutex
	ops   []porcupine.Operation
	begun time.Time
}

func (h *history) record(client int, in input, do func() (output, error)) {
	h.recordAll(client, []input{in}, do)
}

// recordAll records a statement on several counters, of each of which the client is told the same.
func (h *history) recordAll(client int, ins []input, do func() (output, error)) {
	call := int64(time.Since(h.begun))
	out, err := do()
	end := int64(time.Since(h.begun))
	if err != nil {
		var e *mysql.MySQLError
		if errors.As(err, &e) || ins[0].kind == read {
			return // nothing was done
		}
		out, end = output{unknown: true}, int64(time.Hour) // it may happen at any later time
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, in := range ins {
		h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: in, Call: call, Output: out, Return: end})
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
		"unknown":      {[]porcupine.Operation{op(0, add, output{unknown: true}, 0, 100), op(1, input{kind: read}, output{value: 0}, 5, 10), op(1, input{kind: read}, output{value: 1}, 15, 20)}, true},
		"lost":         {[]porcupine.Operation{op(0, add, done, 0, 10), op(1, add, done, 5, 15), op(0, input{kind: read}, output{value: 1}, 20, 30)}, false},
		"stale":        {[]porcupine.Operation{op(0, add, done, 0, 10), op(1, input{kind: read}, output{value: 0}, 11, 30)}, false},
		"back in time": {[]porcupine.Operation{op(0, add, done, 0, 40), op(1, input{kind: read}, output{value: 1}, 5, 10), op(2, input{kind: read}, output{value: 0}, 15, 20)}, false},
		"same number": {[]porcupine.Operation{op(0, input{kind: fetch, amount: 1}, output{rows: 1, value: 1}, 0, 10),
			op(1, input{kind: fetch, amount: 1}, output{rows: 1, value: 1}, 1, 12)}, false},
		"sold twice": {[]porcupine.Operation{op(0, add, done, 0, 10), op(1, input{kind: take, amount: 1}, done, 11, 20),
			op(2, input{kind: take, amount: 1}, done, 12, 20)}, false},
	} {
		require.Equal(t, c.ok, porcupine.CheckOperations(model.ToModel(), c.ops), name)
	}
}
