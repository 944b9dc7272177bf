package plan

import (
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/test_driver"
)

// namedByArgs reports whether a column without an alias has a parameter in its text.
func namedByArgs(stmt ast.Node) bool {
	return some(stmt, func(f *ast.SelectField) bool {
		return f.WildCard == nil && f.AsName.O == "" && some(f.Expr, func(*test_driver.ParamMarkerExpr) bool { return true })
	})
}
