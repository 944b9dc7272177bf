package answer

import (
	"cmp"
	"database/sql/driver"
	"errors"
	"io"
	"reflect"

	"github.com/countermysql/countermysql/internal/mysqlerr"
)

// Physical are go-sql-driver's rows, with their optional interfaces.
type Physical interface {
	driver.Rows
	driver.RowsNextResultSet
	driver.RowsColumnTypeScanType
	driver.RowsColumnTypeDatabaseTypeName
	driver.RowsColumnTypeNullable
	driver.RowsColumnTypePrecisionScale
}

// Rows are rows of a rewritten query, or of one that ends a transaction or a statement of
// the driver's.
type Rows struct {
	Physical
	Plain // the query as it was written

	known  Types
	asked  bool
	finish func(error) error // nil: nothing
	failed error             // of Next
	first  *firstRow         // read beforehand; nil: nothing is

	converted []*column // of the columns whose numbers come in another type
}

// Plain says what is to be plain's of the rows of a rewritten query.
type Plain struct {
	Types    func() Types // asked when they are needed first; nil: those of the rows
	Renamed  bool         // the server would name columns otherwise
	Binary   bool         // values come in the binary protocol
	Computed bool         // the server may give what is computed from a sum another type
	Whole    func() bool  // all that it has from elsewhere are integers, its arguments
}

var _ Physical = (*Rows)(nil)

// Over wraps rows, once.
func Over(rows driver.Rows) *Rows {
	if r, ok := rows.(*Rows); ok {
		return r
	}
	return &Rows{Physical: rows.(Physical)}
}

// Then calls f after the last row, behind what is called already: with the error of the
// rows, which goes before that of f.
func (r *Rows) Then(f func(error) error) *Rows {
	first := r.finish
	r.finish = f
	if first != nil {
		r.finish = func(err error) error {
			ferr := first(err)
			return cmp.Or(f(errors.Join(err, ferr)), ferr)
		}
	}
	return r
}

type firstRow struct {
	values []driver.Value
	err    error
}

// Peek reads the first row beforehand, and returns its error.
func (r *Rows) Peek() error {
	r.first = &firstRow{values: make([]driver.Value, len(r.Physical.Columns()))}
	r.first.err = mysqlerr.AsKilled(r.Physical.Next(r.first.values))
	return r.first.err
}

func (r *Rows) read(dest []driver.Value) error {
	if r.first == nil {
		return mysqlerr.AsKilled(r.Physical.Next(dest))
	}
	copy(dest, r.first.values)
	err := r.first.err
	r.first = nil
	return err
}

func (r *Rows) Next(dest []driver.Value) error {
	err := r.read(dest)
	if err == nil && r.Computed {
		r.asPlain(dest)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		r.failed = err // told to finish by Close: nothing can be sent before
	}
	return err
}

// asPlain gives numbers the Go type that go-sql-driver gives those of the plain query.
func (r *Rows) asPlain(dest []driver.Value) {
	if r.converted == nil {
		r.converted = make([]*column, len(dest))
		for i := range dest {
			sent := r.sent(i)
			if c := r.column(i); c != nil && (c.number(r.Binary) != sent.number(r.Binary) || c.number(r.Binary) == 'd' && c.scale != sent.scale) {
				r.converted[i] = c
			}
		}
	}
	for i, c := range r.converted {
		if c != nil {
			dest[i] = c.convert(dest[i], r.Binary)
		}
	}
}

func (r *Rows) Close() error {
	err := mysqlerr.AsKilled(r.Physical.Close())
	if r.finish != nil {
		finish := r.finish
		r.finish = nil
		if ferr := finish(errors.Join(err, r.failed)); err == nil && r.failed == nil {
			err = ferr
		}
	}
	return err
}

// Columns are the names in the query as it was written: where a view stands in
// the select list, the server would name the column by our text.
func (r *Rows) Columns() []string {
	names := r.Physical.Columns()
	if !r.Renamed {
		return names
	}
	if r.ask(); len(r.known) != len(names) {
		return names
	}
	for i := range r.known {
		names[i] = r.known[i].name
	}
	return names
}

func (r *Rows) ask() {
	if r.Types != nil && !r.asked {
		r.asked = true
		r.known = r.Types()
	}
}

// column is what the server says of a column of the query as it was written; nil: what
// was sent says it.
func (r *Rows) column(i int) *column {
	if r.ask(); i >= len(r.known) || len(r.known) != len(r.Physical.Columns()) {
		return nil
	}
	sent := r.sent(i)
	if c := &r.known[i]; c.narrows(&sent, r.Whole) {
		return c
	}
	return nil
}

// sent is what the server says of a column's numbers as they come.
func (r *Rows) sent(i int) column {
	c := column{database: r.Physical.ColumnTypeDatabaseTypeName(i)}
	_, c.scale, _ = r.Physical.ColumnTypePrecisionScale(i)
	return c
}

func (r *Rows) ColumnTypeDatabaseTypeName(i int) string {
	if c := r.column(i); c != nil {
		return c.database
	}
	return r.Physical.ColumnTypeDatabaseTypeName(i)
}

func (r *Rows) ColumnTypeNullable(i int) (nullable, ok bool) {
	if c := r.column(i); c != nil {
		return c.nullable, c.nullableOK
	}
	return r.Physical.ColumnTypeNullable(i)
}

func (r *Rows) ColumnTypePrecisionScale(i int) (precision, scale int64, ok bool) {
	if c := r.column(i); c != nil {
		return c.precision, c.scale, c.decimalOK
	}
	return r.Physical.ColumnTypePrecisionScale(i)
}

func (r *Rows) ColumnTypeScanType(i int) reflect.Type {
	if c := r.column(i); c != nil {
		return c.scan
	}
	return r.Physical.ColumnTypeScanType(i)
}
