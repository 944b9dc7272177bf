package countermysql

import (
	"database/sql/driver"
	"io"
	"reflect"
	"slices"

	"github.com/go-sql-driver/mysql"
)

// result is the result of statements that the driver ran in its own way.
type result struct {
	affected []int64
	ids      []int64
}

var _ mysql.Result = (*result)(nil)

func (r *result) LastInsertId() (int64, error) { return r.ids[len(r.ids)-1], nil }

func (r *result) RowsAffected() (int64, error) { return r.affected[len(r.affected)-1], nil }

// AllRowsAffected returns the affected rows of each statement of the text.
func (r *result) AllRowsAffected() []int64 { return slices.Clone(r.affected) }

// AllLastInsertIds returns the inserted id of each statement of the text.
func (r *result) AllLastInsertIds() []int64 { return slices.Clone(r.ids) }

// few are the results that increments usually have.
var few = [...]*result{newAffected(0), newAffected(1), newAffected(2)}

func affected(n int64) *result {
	if n >= 0 && n < int64(len(few)) {
		return few[n]
	}
	return newAffected(n)
}

func newAffected(n int64) *result {
	r := &struct { // one allocation
		result
		affected, ids [1]int64
	}{affected: [1]int64{n}}
	r.result = result{r.affected[:], r.ids[:]}
	return &r.result
}

// noRows is what a query returns for a statement without a result set.
type noRows struct{}

var _ physicalRows = noRows{}

func (noRows) Columns() []string { return []string{} }

func (noRows) Close() error { return nil }

func (noRows) Next([]driver.Value) error { return io.EOF }

func (noRows) HasNextResultSet() bool { return false }

func (noRows) NextResultSet() error { return io.EOF }

func (noRows) ColumnTypeScanType(int) reflect.Type { return nil }

func (noRows) ColumnTypeDatabaseTypeName(int) string { return "" }

func (noRows) ColumnTypeNullable(int) (nullable, ok bool) { return false, false }

func (noRows) ColumnTypePrecisionScale(int) (precision, scale int64, ok bool) {
	return 0, 0, false
}

// outcome is what a statement gives back: a result or rows.
type outcome struct {
	res  driver.Result
	rows driver.Rows
}

// close closes rows of a statement that has none: nothing else can be sent while they
// are open.
func (o *outcome) close() (err error) {
	if o.rows != nil {
		err = o.rows.Close()
		o.rows = noRows{}
	}
	return err
}

func (o outcome) affected() int64 {
	if o.res == nil {
		return -1 // not known: rows
	}
	n, err := o.res.RowsAffected()
	if err != nil {
		return -1
	}
	return n
}
