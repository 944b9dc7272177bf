package plan

import (
	"slices"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/test_driver"

	"github.com/countermysql/countermysql/internal/catalog"
)

// namedByArgs reports whether a column without an alias has a parameter in its text.
func namedByArgs(stmt ast.Node) bool {
	return some(stmt, func(f *ast.SelectField) bool {
		return f.WildCard == nil && f.AsName.O == "" && some(f.Expr, func(*test_driver.ParamMarkerExpr) bool { return true })
	})
}

// Computes reports whether the server may give what the query computes from a
// sum another type than it has from a column. A FLOAT beside a small integer is a
// FLOAT, beside a sum a DOUBLE; other tables may have one. What is UNSIGNED beside a
// small integer is an INT UNSIGNED, beside a sum a BIGINT.
func (q *Sum) Computes() bool {
	return slices.ContainsFunc(q.Tables, func(t *catalog.Table) bool {
		floats := q.others || slices.ContainsFunc(t.Columns, func(c *catalog.Column) bool { return c.DataType == "float" })
		return slices.ContainsFunc(t.Counters, func(c *catalog.Column) bool {
			bits := catalog.IntegerBits[c.DataType] // of a DECIMAL: 0
			return c.Unsigned() && c.DataType != "bigint" || bits < 32 && (bits > 0 || floats)
		})
	})
}
