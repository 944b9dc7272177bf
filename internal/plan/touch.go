package plan

import (
	"slices"
	"time"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
)

// Touch is the setting of a touch column beside an increment.
type Touch struct {
	C      *catalog.Column
	now    bool  // the server's clock
	digits int64 // of it, after the point
	v      Operand
}

// touchOf reads col = NOW() and col = constant.
func (ps parameters) touchOf(c *catalog.Column, e ast.ExprNode) (Touch, bool) {
	e = unparen(e)
	if f, ok := e.(*ast.FuncCallExpr); ok {
		switch f.FnName.L {
		case "now", "current_timestamp", "localtime", "localtimestamp":
			set := Touch{C: c, now: true}
			if len(f.Args) > 0 {
				v, _ := ps.constant(f.Args[0])
				set.digits, _ = v.literal.(int64)
			}
			return set, set.digits <= int64(c.Scale) // more would be rounded
		}
		return Touch{}, false
	}
	v, ok := ps.constant(e)
	return Touch{C: c, v: v}, ok
}

// clockSkew is how far an application's clock may be from ours for its times
// to count as now.
const clockSkew = 2 * time.Second

// SQL writes the value; ok is false unless it is the present moment, because
// slots keep the newest time, and plain MySQL keeps the last one written.
func (t Touch) SQL(b Binder) (string, bool) {
	if t.now {
		return catalog.CurrentTimestamp(t.digits), true
	}
	x, ok := b.raw(t.v)
	if !ok {
		return "", false
	}
	var at time.Time
	switch x := x.(type) {
	case time.Time:
		at = x
	case string:
		if b.Loc == nil {
			return "", false
		}
		var err error
		if at, err = time.ParseInLocation("2006-01-02 15:04:05.999999", x, b.Loc); err != nil {
			return "", false
		}
	default:
		return "", false
	}
	if d := time.Since(at); d > clockSkew || d < -clockSkew {
		return "", false
	}
	return b.Time(at)
}

// WantsNow reports whether an increment would go to slots, were its wanted columns touch columns.
func (inc *Increment) WantsNow(b Binder) bool {
	return inc != nil && inc.Wanted != nil && touchesNow(inc.Wanted, b)
}

// touchesNow reports whether touch columns are set to the present moment.
func touchesNow(touches []Touch, b Binder) bool {
	return !slices.ContainsFunc(touches, func(t Touch) bool {
		_, ok := t.SQL(b)
		return !ok
	})
}
