package countermysql

import (
	"slices"
	"strconv"
	"time"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// touch is the setting of a touch column beside an increment.
type touch struct {
	c      *column
	now    bool  // the server's clock
	digits int64 // of it, after the point
	v      value
}

// touchOf reads col = NOW() and col = constant.
func (a *analysis) touchOf(c *column, e ast.ExprNode) (touch, bool) {
	e = unparen(e)
	if f, ok := e.(*ast.FuncCallExpr); ok {
		switch f.FnName.L {
		case "now", "current_timestamp", "localtime", "localtimestamp":
			set := touch{c: c, now: true}
			if len(f.Args) > 0 {
				v, _ := a.constant(f.Args[0])
				set.digits, _ = v.literal.(int64)
			}
			return set, set.digits <= int64(c.scale) // more would be rounded
		}
		return touch{}, false
	}
	v, ok := a.constant(e)
	return touch{c: c, v: v}, ok
}

// clockSkew is how far an application's clock may be from ours for its times
// to count as now.
const clockSkew = 2 * time.Second

// sql writes the value; ok is false unless it is the present moment, because
// slots keep the newest time, and plain MySQL keeps the last one written.
func (t touch) sql(b binder) (string, bool) {
	if t.now {
		return currentTimestamp(t.digits), true
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
		if b.loc == nil {
			return "", false
		}
		var err error
		if at, err = time.ParseInLocation("2006-01-02 15:04:05.999999", x, b.loc); err != nil {
			return "", false
		}
	default:
		return "", false
	}
	if d := time.Since(at); d > clockSkew || d < -clockSkew {
		return "", false
	}
	return b.time(at)
}

// touchesNow reports whether all touch columns that the statement sets are set to the
// present moment.
func (p *plan) touchesNow(b binder) bool {
	return !slices.ContainsFunc(p.touches, func(t touch) bool {
		_, ok := t.sql(b)
		return !ok
	})
}

// moments is the type of a touch column's values: MySQL rounds to its digits what it is
// set to, so that it may be later than a time that follows.
func (c *column) moments() string { return "DATETIME(" + strconv.Itoa(c.scale) + ")" }

func currentTimestamp(digits int64) string {
	return "CURRENT_TIMESTAMP(" + strconv.FormatInt(digits, 10) + ")"
}
