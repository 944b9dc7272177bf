package txn

import (
	"slices"
)

// journal says how to undo what was noted of a transaction since its savepoints, newest
// last. Without a savepoint nothing is written into it.
type journal struct {
	undo       []func()
	savepoints []savepoint
	noted      map[any]bool // what the last savepoint has the old value of: it is written once
}

// savepoint is a place in the journal.
type savepoint struct {
	name    string
	at      int
	pending bool // increments were pending
}

// remember is called before a value changes. A slice's elements are values of their own.
func remember[T any](j *journal, v *T) {
	if j.idle() || !j.first(v) {
		return
	}
	old := *v
	j.undo = append(j.undo, func() { *v = old })
}

// rememberKey is called before what a map has for a key changes; it is not nil.
func rememberKey[K comparable, V any](j *journal, m *map[K]V, k K) {
	if j.idle() || !j.first(keyOfMap[K, V]{m, k}) {
		return
	}
	values := *m
	old, had := values[k]
	j.undo = append(j.undo, func() {
		if had {
			values[k] = old
		} else {
			delete(values, k)
		}
	})
}

type keyOfMap[K comparable, V any] struct {
	m *map[K]V
	k K
}

// idle reports whether there is no savepoint to go back to.
func (j *journal) idle() bool { return j == nil || len(j.savepoints) == 0 }

// first reports whether something changes for the first time since the last savepoint.
func (j *journal) first(what any) bool {
	if j.noted[what] {
		return false
	}
	j.noted[what] = true
	return true
}

// save sets a savepoint; a name used before moves.
func (j *journal) save(name string, pending bool) {
	j.release(name, false)
	j.savepoints = append(j.savepoints, savepoint{name, len(j.undo), pending})
	j.noted = map[any]bool{}
}

// rollBackTo undoes all down to a savepoint, which stays; false if there is none of that
// name.
func (j *journal) rollBackTo(name string) bool {
	i := j.find(name)
	if i < 0 {
		return false
	}
	at := j.savepoints[i].at
	for _, undo := range slices.Backward(j.undo[at:]) {
		undo()
	}
	clear(j.undo[at:])
	j.undo, j.savepoints, j.noted = j.undo[:at], j.savepoints[:i+1], map[any]bool{}
	return true
}

// release forgets a savepoint and, as RELEASE SAVEPOINT does, all set after it.
func (j *journal) release(name string, later bool) {
	i := j.find(name)
	switch {
	case i < 0:
		return
	case later:
		j.savepoints = j.savepoints[:i]
	default:
		j.savepoints = slices.Delete(j.savepoints, i, i+1)
	}
	if len(j.savepoints) == 0 {
		*j = journal{}
	}
}

func (j *journal) find(name string) int {
	return slices.IndexFunc(j.savepoints, func(s savepoint) bool { return s.name == name })
}
