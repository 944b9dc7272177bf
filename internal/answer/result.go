package answer

import (
	"database/sql/driver"
	"io"
	"reflect"
	"slices"

	"github.com/go-sql-driver/mysql"
)

// Result is the result of statements that the driver ran in its own way.
type Result struct {
	affected []int64
	ids      []int64
}

var _ mysql.Result = (*Result)(nil)

func (r *Result) LastInsertId() (int64, error) { return r.ids[len(r.ids)-1], nil }

func (r *Result) RowsAffected() (int64, error) { return r.affected[len(r.affected)-1], nil }

// And adds the result of the next statement of a text.
func (r *Result) And(affected, id int64) {
	r.affected, r.ids = append(r.affected, affected), append(r.ids, id)
}

// AllRowsAffected returns the affected rows of each statement of the text.
func (r *Result) AllRowsAffected() []int64 { return slices.Clone(r.affected) }

// AllLastInsertIds returns the inserted id of each statement of the text.
func (r *Result) AllLastInsertIds() []int64 { return slices.Clone(r.ids) }

// few are the results that increments usually have.
var few = [...]*Result{newAffected(0), newAffected(1), newAffected(2)}

// Affected is the result of a statement that affected so many rows.
func Affected(n int64) *Result {
	if n >= 0 && n < int64(len(few)) {
		return few[n]
	}
	return newAffected(n)
}

func newAffected(n int64) *Result {
	r := &struct { // one allocation
		Result
		affected, ids [1]int64
	}{affected: [1]int64{n}}
	r.Result = Result{r.affected[:], r.ids[:]}
	return &r.Result
}

// NoRows is what a query returns for a statement without a result set.
type NoRows struct{}

var _ Physical = NoRows{}

func (NoRows) Columns() []string { return []string{} }

func (NoRows) Close() error { return nil }

func (NoRows) Next([]driver.Value) error { return io.EOF }

func (NoRows) HasNextResultSet() bool { return false }

func (NoRows) NextResultSet() error { return io.EOF }

func (NoRows) ColumnTypeScanType(int) reflect.Type { return nil }

func (NoRows) ColumnTypeDatabaseTypeName(int) string { return "" }

func (NoRows) ColumnTypeNullable(int) (nullable, ok bool) { return false, false }

func (NoRows) ColumnTypePrecisionScale(int) (precision, scale int64, ok bool) {
	return 0, 0, false
}
