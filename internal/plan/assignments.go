package plan

import (
	"cmp"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// settings is what the assignments of an UPDATE do.
type settings struct {
	deltas   []Delta
	touch    []Touch
	wanted   []Touch // of columns whose times slots can't take yet
	ordinary string  // another column that it sets; "": none
	rekeyed  bool    // sets a key column
	unique   bool    // sets a column of a unique key
	cutsKey  bool    // by LAST_INSERT_ID, which makes another number of one below zero where the session is not strict
	reason   string  // why only the exact way is right
}

// settings reads assignments; only those of an INSERT have VALUES(c).
func (src source) settings(list []*ast.Assignment, inserts bool) settings {
	t := src.t
	var s settings
	for _, set := range list {
		c := t.Column(set.Column.Name.O)
		switch {
		case c == nil, !src.means(set.Column.Table.O, src.name):
			s.ordinary = set.Column.Name.O // the server will say what is wrong
		case t.Counter(c.Name) != nil:
			d, ok := src.relative(c, set.Expr)
			if !ok || d.inserted && !inserts {
				s.reason = cmp.Or(s.reason, "it overwrites counter "+c.Name)
			}
			for _, other := range s.deltas {
				if other.C == c {
					s.reason = cmp.Or(s.reason, "it sets counter "+c.Name+" twice")
				}
			}
			s.deltas = append(s.deltas, d)
		case t.Virtual(c.Name):
			touched, ok := src.params.touchOf(c, set.Expr)
			if !ok {
				s.reason = cmp.Or(s.reason, "it sets touch column "+c.Name+" to another time than now")
			}
			s.touch = append(s.touch, touched)
			if c.Settles {
				s.wanted = append(s.wanted, touched)
			}
		case src.keeps(c, set.Expr):
			s.ordinary = c.Name
			_, asks := unparen(set.Expr).(*ast.FuncCallExpr)
			s.cutsKey = s.cutsKey || asks && !c.Unsigned() && t.Changes(t.Key, c.Name)
		default:
			if touched, ok := src.params.touchOf(c, set.Expr); ok && c.Touchable {
				s.wanted = append(s.wanted, touched)
				continue
			}
			s.ordinary = c.Name
			for _, k := range t.Unique {
				s.unique = s.unique || t.Changes(k.Columns, c.Name)
			}
			if t.Changes(t.Key, c.Name) {
				s.rekeyed = true
				s.reason = cmp.Or(s.reason, "it changes the key")
			}
			if readsVirtualIn(t, set.Expr) {
				s.reason = cmp.Or(s.reason, "column "+c.Name+" is set from a counter")
			}
		}
	}
	return s
}

// keeps reads c = c and c = LAST_INSERT_ID(c), with which upserts ask for the id of
// the row that they meet. That is UNSIGNED, and by IGNORE what is below zero is cut.
func (src source) keeps(c *catalog.Column, e ast.ExprNode) bool {
	if f, ok := unparen(e).(*ast.FuncCallExpr); ok && f.FnName.L == "last_insert_id" && f.Schema.O == "" && len(f.Args) == 1 && (c.Unsigned() || !sqltext.HasWord(src.toks, "IGNORE")) {
		e = f.Args[0]
	}
	ref, ok := columnRef(e)
	return ok && strings.EqualFold(ref.Name.O, c.Name) && src.means(ref.Table.O, src.name) && !src.aliased(ref)
}

// newKey is the key that assignments give a row, if the key is one column and
// they say it outright.
func (src source) newKey(list []*ast.Assignment) []KeyValue {
	t := src.t
	if len(t.Key) != 1 {
		return nil
	}
	for _, set := range list {
		if strings.EqualFold(set.Column.Name.O, t.Key[0].Name) {
			if v, ok := src.params.constant(set.Expr); ok {
				return []KeyValue{{t.Key, []Operand{v}, true}}
			}
		}
	}
	return nil
}
