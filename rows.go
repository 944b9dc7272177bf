package countermysql

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
)

// physicalRows are the optional interfaces of go-sql-driver's rows.
type physicalRows interface {
	driver.Rows
	driver.RowsNextResultSet
	driver.RowsColumnTypeScanType
	driver.RowsColumnTypeDatabaseTypeName
	driver.RowsColumnTypeNullable
	driver.RowsColumnTypePrecisionScale
}

// countedRows are rows of a rewritten query, or of one that ends a transaction
// or a statement of ours. Their column types are those that the server gives
// for the query as it was written.
type countedRows struct {
	physicalRows
	types  func() []columnType
	known  []columnType
	asked  bool
	finish func(error) error // after the last row; nil: nothing
	failed error             // of Next
	first  *firstRow         // read beforehand; nil: nothing is

	renamed  bool // the server would name columns otherwise
	binary   bool // values come in the binary protocol
	computed bool // the server may give what is computed from a sum another type

	converted []*columnType // of the columns to which it did
}

var _ physicalRows = (*countedRows)(nil)

type firstRow struct {
	values []driver.Value
	err    error
}

// peek reads the first row beforehand, and returns its error.
func (r *countedRows) peek() error {
	r.first = &firstRow{values: make([]driver.Value, len(r.physicalRows.Columns()))}
	r.first.err = r.physicalRows.Next(r.first.values)
	return r.first.err
}

func (r *countedRows) read(dest []driver.Value) error {
	if r.first == nil {
		return r.physicalRows.Next(dest)
	}
	copy(dest, r.first.values)
	err := r.first.err
	r.first = nil
	return err
}

func (r *countedRows) Next(dest []driver.Value) error {
	err := r.read(dest)
	if err == nil && r.computed {
		r.asPlain(dest)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		r.failed = err // told to finish by Close: nothing can be sent before
	}
	return err
}

// asPlain gives numbers the Go type that go-sql-driver gives those of the plain query.
func (r *countedRows) asPlain(dest []driver.Value) {
	if r.converted == nil {
		r.converted = make([]*columnType, len(dest))
		for i := range dest {
			sent := columnType{database: r.physicalRows.ColumnTypeDatabaseTypeName(i)}
			if c := r.column(i); c != nil && c.number(r.binary) != sent.number(r.binary) {
				r.converted[i] = c
			}
		}
	}
	for i, c := range r.converted {
		if c != nil {
			dest[i] = c.convert(dest[i], r.binary)
		}
	}
}

func (r *countedRows) Close() error {
	err := r.physicalRows.Close()
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
func (r *countedRows) Columns() []string {
	names := r.physicalRows.Columns()
	if !r.renamed {
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

func (r *countedRows) ask() {
	if r.types != nil && !r.asked {
		r.asked = true
		r.known = r.types()
	}
}

// column is what the server says of a column of the query as it was written; nil: what
// was sent says it.
func (r *countedRows) column(i int) *columnType {
	if r.ask(); i >= len(r.known) || len(r.known) != len(r.physicalRows.Columns()) {
		return nil
	}
	sent := columnType{database: r.physicalRows.ColumnTypeDatabaseTypeName(i)}
	_, sent.scale, _ = r.physicalRows.ColumnTypePrecisionScale(i)
	if c := &r.known[i]; c.narrows(&sent) {
		return c
	}
	return nil
}

func (r *countedRows) ColumnTypeDatabaseTypeName(i int) string {
	if c := r.column(i); c != nil {
		return c.database
	}
	return r.physicalRows.ColumnTypeDatabaseTypeName(i)
}

func (r *countedRows) ColumnTypeNullable(i int) (nullable, ok bool) {
	if c := r.column(i); c != nil {
		return c.nullable, c.nullableOK
	}
	return r.physicalRows.ColumnTypeNullable(i)
}

func (r *countedRows) ColumnTypePrecisionScale(i int) (precision, scale int64, ok bool) {
	if c := r.column(i); c != nil {
		return c.precision, c.scale, c.decimalOK
	}
	return r.physicalRows.ColumnTypePrecisionScale(i)
}

func (r *countedRows) ColumnTypeScanType(i int) reflect.Type {
	if c := r.column(i); c != nil {
		return c.scan
	}
	return r.physicalRows.ColumnTypeScanType(i)
}

// closing closes a statement of ours together with its rows.
func closing(s driver.Stmt) func(error) error {
	return func(error) error { return s.Close() }
}

// texts gives the values of a row as text.
func texts(row []driver.Value) []string {
	out := make([]string, len(row))
	for i, v := range row {
		switch v := v.(type) {
		case nil:
		case []byte:
			out[i] = string(v)
		case string:
			out[i] = v
		case int64:
			out[i] = strconv.FormatInt(v, 10)
		default:
			out[i] = fmt.Sprint(v)
		}
	}
	return out
}

// watchedRows are rows of a transaction. An error in their midst may have ended it.
type watchedRows struct {
	physicalRows
	conn   *conn
	failed error
}

func (c *conn) watched(rows driver.Rows) driver.Rows {
	if r, ok := rows.(physicalRows); ok && c.begun() {
		return &watchedRows{physicalRows: r, conn: c}
	}
	return rows
}

func (r *watchedRows) Next(dest []driver.Value) error {
	err := r.physicalRows.Next(dest)
	r.note(err)
	return err
}

func (r *watchedRows) NextResultSet() error {
	err := r.physicalRows.NextResultSet()
	r.note(err)
	return err
}

func (r *watchedRows) note(err error) {
	if err != nil && !errors.Is(err, io.EOF) {
		r.failed = err
	}
}

// Close looks at an error: nothing can be asked of the server before.
func (r *watchedRows) Close() error {
	err := r.physicalRows.Close()
	r.note(err)
	if r.failed != nil {
		_ = r.conn.failed(r.failed)
		r.failed = nil
	}
	return err
}
