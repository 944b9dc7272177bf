package plan

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
)

// RowLook is a look whose hidden columns tell what the slots of each row come to, which is
// added to its counters when it is read: that takes half the time, or less, of having the server
// add it up in views. Either they are all slots that there are, if these are few, or the sums of
// each row's. Of a row or two that are given by their keys it is asked first whether they have any:
// most have none, and the sums of nine counters take as long to ask for as the row.
type RowLook struct {
	Any, Few, Each string // the texts; "": there is none

	Hidden int        // columns of Few
	Slots  []RowSlots // of the counter tables
	First  *FirstRows // by Few alone; nil: which rows there are depends on no counter
}

// RowSlots says where the sums of a row's slots belong.
type RowSlots struct {
	Table *catalog.Table
	Added bool // else the rows are no answer where one has slots
	sums  []*catalog.Column
	cells []cell
	name  string // of the table in the query
}

// cell is a column of the answer that is a counter.
type cell struct {
	sum  int
	at   int  // of a column before a wildcard, or from the last one behind it
	wild bool // it is one of a wildcard at this place,
	tail int  // which so many columns come behind
}

// rowsLooked plans a look at each row, given how a text with hidden columns is written; none where
// less than two counters are read for each, or which rows there are, and in which order, may depend
// on one, but for the first rows by a counter.
func (rw rewriter) rowsLooked(s *ast.SelectStmt, top *topRead, text func(hidden []string) string) (l RowLook) {
	if s.From == nil || s.WindowSpecs != nil || !rowByRow(s.Fields) || some(s.Fields, func(*ast.SubqueryExpr) bool { return true }) {
		return RowLook{}
	}
	read := rw.countersRead(s, rw.named, s.Fields)
	if wild(s) {
		read = rw.named
	}
	if !ordersOtherwise(s, rw.named) {
		if l.First = top.firstRows(rw.named); l.First == nil {
			return RowLook{}
		}
		read = with(read, top.table)
	} else if countersNamed(s.Fields, rw.named) < 2 {
		return RowLook{}
	}
	var anySlot, each, few []string // columns
	all, numbers := rw.sources(s), true
	for _, src := range all {
		if src.t == nil || !slices.Contains(read, src.t) {
			continue
		}
		if len(src.t.Key) == 0 {
			return RowLook{}
		}
		numbers = numbers && !slices.ContainsFunc(src.t.Key, func(c *catalog.Column) bool { return !c.Digits() })
		slots, by := rw.rowSlots(s.Fields.Fields, src, all), (*catalog.Column)(nil)
		if f := l.First; f != nil && src.t == top.table {
			if by = top.order[0].C; !slots.Added {
				return RowLook{}
			}
			f.Slots, f.Sum = len(l.Slots), slots.add(by)
		}
		l.Slots = append(l.Slots, slots)
		anySlot = append(anySlot, slotsql.RowHasSlots(src.t, src.name))
		each = append(each, slotsql.RowSums(src.t, src.name, slots.sums))
		few = append(few, slotsql.AllSlots(src.t, slots.sums, by), slotsql.KeyOf(src.t, src.name))
		l.Hidden += 1 + len(src.t.Key)
	}
	if l.First != nil {
		few = append(few, slotsql.ValueOf(top.name, top.order[0].C))
		l.Hidden++
	} else if each != nil {
		l.Any, l.Each = text(anySlot), text(each)
	}
	// Rows of several tables may be put in order in a temporary table, with the hidden columns.
	if numbers && few != nil && (l.First != nil || s.OrderBy == nil || len(all) == 1) {
		l.Few = text(few)
	}
	return l
}

// keepFor leaves the texts that pay where the keys of all rows are given, or are not.
func (l *RowLook) keepFor(keyed bool) {
	if keyed { // a row or two: all slots there are would take longer
		l.Few = ""
	} else {
		l.Any = ""
	}
}

// add is the place of a counter's sum.
func (r *RowSlots) add(c *catalog.Column) int {
	if i := slices.Index(r.sums, c); i >= 0 {
		return i
	}
	r.sums = append(r.sums, c)
	return len(r.sums) - 1
}

// rowSlots finds the counters of a table in a select list. They can be added to where they are
// integers, and stand there as they are.
func (rw rewriter) rowSlots(list []*ast.SelectField, src source, all []source) RowSlots {
	r := RowSlots{Table: src.t, Added: true, name: src.name}
	wildcard := slices.IndexFunc(list, func(f *ast.SelectField) bool { return f.WildCard != nil })
	for i, f := range list {
		if f.WildCard != nil {
			switch of := f.WildCard; {
			case of.Schema.O != "", i != wildcard, of.Table.O == "" && len(all) > 1:
				r.Added = false
			case src.means(of.Table.O, src.name):
				r.Added = r.Added && len(src.t.Touch) == 0
				for _, c := range src.t.Counters {
					r.Added = r.Added && c.Integer()
					r.cells = append(r.cells, cell{sum: r.add(c), at: i, wild: true, tail: len(list) - 1 - i})
				}
			}
			continue
		}
		ref, bare := columnRef(f.Expr)
		mine := some(f.Expr, func(c *ast.ColumnName) bool { return src.t.Virtual(c.Name.O) && rw.mayBeOf(c, src.t, all) })
		if !mine {
			continue
		}
		if !bare || ref.Schema.O != "" || ref.Table.O == "" && len(all) > 1 || src.t.Counter(ref.Name.O) == nil || !src.t.Counter(ref.Name.O).Integer() {
			r.Added = false
			continue
		}
		if !src.means(ref.Table.O, src.name) { // the same table by another name
			continue
		}
		at := i
		if wildcard >= 0 && i > wildcard {
			at -= len(list)
		}
		r.cells = append(r.cells, cell{sum: r.add(src.t.Counter(ref.Name.O)), at: at})
	}
	if !r.Added {
		r.sums, r.cells = nil, nil
	}
	return r
}

// Sums is how many there are, Unsigned whether what one is added to has no sign.
func (r *RowSlots) Sums() int { return len(r.sums) }

func (r *RowSlots) Unsigned(sum int) bool { return r.sums[sum].Unsigned() }

// Places gives, for each sum, the columns of an answer that it is added to; ok is false where a wildcard
// lacks one, which another client may have given another name.
func (r *RowSlots) Places(columns []string) (places [][]int, ok bool) {
	places = make([][]int, len(r.sums))
	for _, c := range r.cells {
		at := c.at
		switch {
		case c.wild:
			name := r.sums[c.sum].Name
			of := columns[c.at:max(c.at, len(columns)-c.tail)]
			i := slices.IndexFunc(of, func(column string) bool { return strings.EqualFold(column, name) })
			if i < 0 { // columnsWithAlias
				i = slices.IndexFunc(of, func(column string) bool { return strings.EqualFold(column, r.name+"."+name) })
			}
			if i < 0 {
				return nil, false
			}
			at += i
		case at < 0:
			at += len(columns)
		}
		places[c.sum] = append(places[c.sum], at)
	}
	return places, true
}

// FirstRows are the first rows by a counter. What the base rows have first is the answer once it is in
// order by what the slots add, unless another row comes in: each that has slots is known, with what
// its base row has, and all others have what their base rows have.
type FirstRows struct {
	Desc   bool
	Ties   bool // other columns tell the order of those with one value
	Joined bool // a row may be there more than once

	Slots, Sum int // the place of the counter's sum: of which table, and which of them

	top *topRead
}

// Orders reports whether the counter is one of those slots.
func (f *FirstRows) Orders(slots int) bool { return f != nil && f.Slots == slots }

// Limit is how many rows are asked for.
func (f *FirstRows) Limit(b Binder) (n int64, ok bool) { return f.top.rest(b) }

// firstRows is nil where they are not to be told so.
func (r *topRead) firstRows(named []*catalog.Table) *FirstRows {
	if r == nil || r.offset.param >= 0 || r.offset.literal != uint64(0) && r.offset.literal != int64(0) {
		return nil
	}
	t, by := r.table, r.order[0]
	virtual := func(k catalog.SortKey) bool {
		return slices.ContainsFunc(named, func(t *catalog.Table) bool { return t.Virtual(k.C.Name) })
	}
	if t.Counter(by.C.Name) == nil || !by.C.Integer() || by.C.Nullable || len(t.Key) != 1 || !t.Key[0].Digits() || !t.SortedBy(r.order) || slices.ContainsFunc(r.order[1:], virtual) {
		return nil
	}
	return &FirstRows{Desc: by.Desc, Ties: len(r.order) > 1, Joined: r.joined, top: r}
}

// countersNamed is how many counters and touch columns a select list has; a wildcard has
// all.
func countersNamed(list *ast.FieldList, named []*catalog.Table) (n int) {
	every(list, func(node ast.Node) bool {
		c, ok := node.(*ast.ColumnName)
		if ok && slices.ContainsFunc(named, func(t *catalog.Table) bool { return t.Virtual(c.Name.O) }) {
			n++
		}
		return true
	})
	for _, f := range list.Fields {
		if f.WildCard != nil {
			for _, t := range named {
				n += len(t.Counters) + len(t.Touch)
			}
		}
	}
	return n
}

// ordersOtherwise reports whether a query has no order, or one by columns that are no
// counters and have no other's name.
func ordersOtherwise(s *ast.SelectStmt, named []*catalog.Table) bool {
	return s.OrderBy == nil || !slices.ContainsFunc(s.OrderBy.Items, func(item *ast.ByItem) bool {
		c, ok := columnRef(item.Expr)
		return !ok || slices.ContainsFunc(named, func(t *catalog.Table) bool { return t.Virtual(c.Name.O) }) ||
			slices.ContainsFunc(s.Fields.Fields, func(f *ast.SelectField) bool { return f.AsName.L == c.Name.L || namesItself(f.Expr) })
	})
}
