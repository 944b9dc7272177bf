package countermysql

import (
	"iter"
	"maps"
)

// layers is a map that a savepoint keeps without copying it: what is kept stays as
// it is, and changes go on top. A zero value stands for none.
type layers[V comparable] struct {
	top  map[string]V
	kept *layer[V]
	n    int
}

// layer is changed no more.
type layer[V comparable] struct {
	values map[string]V
	below  *layer[V]
}

func (m *layers[V]) len() int { return m.n }

func (m *layers[V]) get(id string) V {
	if v, ok := m.top[id]; ok {
		return v
	}
	var none V
	for l := m.kept; l != nil; l = l.below {
		if v, ok := l.values[id]; ok {
			return v
		}
	}
	return none
}

func (m *layers[V]) set(id string, v V) {
	var none V
	switch had := m.get(id); {
	case had == none && v != none:
		m.n++
	case had != none && v == none:
		m.n--
	}
	if m.top == nil {
		m.top = map[string]V{}
	}
	if m.top[id] = v; v == none && m.kept == nil {
		delete(m.top, id)
	}
}

func (m *layers[V]) remove(id string) {
	var none V
	m.set(id, none)
}

func (m *layers[V]) clear() { *m = layers[V]{} }

// all yields what there is, in no order.
func (m *layers[V]) all() iter.Seq2[string, V] {
	if m.kept == nil {
		return maps.All(m.top)
	}
	var none V
	values := map[string]V{}
	for l := range m.downwards() {
		for id, v := range l {
			if _, covered := values[id]; !covered {
				values[id] = v
			}
		}
	}
	maps.DeleteFunc(values, func(_ string, v V) bool { return v == none })
	return maps.All(values)
}

func (m *layers[V]) downwards() iter.Seq[map[string]V] {
	return func(yield func(map[string]V) bool) {
		if !yield(m.top) {
			return
		}
		for l := m.kept; l != nil && yield(l.values); l = l.below {
		}
	}
}

// keep returns the map as it is now. A layer is put together with the one below it
// unless that is larger, so that there are few.
func (m *layers[V]) keep() layers[V] {
	if len(m.top) > 0 {
		m.kept = &layer[V]{m.top, m.kept}
		for below := m.kept.below; below != nil && len(below.values) <= len(m.kept.values); below = m.kept.below {
			both := maps.Clone(below.values)
			maps.Copy(both, m.kept.values)
			m.kept = &layer[V]{both, below.below}
		}
	}
	m.top = nil
	return *m
}

// convert changes every value, once in the layers that maps share.
func (m *layers[V]) convert(to func(V) V, converted map[*layer[V]]bool) {
	var none V
	change := func(values map[string]V) {
		for id, v := range values {
			if v != none {
				values[id] = to(v)
			}
		}
	}
	change(m.top)
	for l := m.kept; l != nil && !converted[l]; l = l.below {
		converted[l] = true
		change(l.values)
	}
}
