package countermysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
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

	renamed  bool // a view stands in the select list
	unsigned bool // a table has an UNSIGNED counter smaller than BIGINT
}

var _ physicalRows = (*countedRows)(nil)

type columnType struct {
	name             string
	database         string
	nullable         bool
	nullableOK       bool
	precision, scale int64
	decimalOK        bool
	scan             reflect.Type
}

func (r *countedRows) Next(dest []driver.Value) error {
	err := r.physicalRows.Next(dest)
	if err == nil && r.unsigned {
		r.narrow(dest)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		r.failed = err // told to finish by Close: nothing can be sent before
	}
	return err
}

// narrow gives numbers the Go type that go-sql-driver gives those of the plain
// query: a sum is always BIGINT, and what is computed from BIGINT UNSIGNED may
// be DECIMAL where a smaller type gives an integer.
func (r *countedRows) narrow(dest []driver.Value) {
	for i, v := range dest {
		switch v := v.(type) {
		case uint64:
			if c := r.column(i); v <= math.MaxInt64 && c != nil && c.database != "UNSIGNED BIGINT" && strings.HasSuffix(c.database, "INT") {
				dest[i] = int64(v)
			}
		case []byte:
			if r.physicalRows.ColumnTypeDatabaseTypeName(i) != "DECIMAL" {
				continue
			}
			if c := r.column(i); c != nil && strings.HasSuffix(c.database, "INT") {
				if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
					dest[i] = n
				}
			}
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
	if r.types != nil && !r.asked {
		r.asked = true
		r.known = r.types()
	}
	if len(r.known) != len(names) {
		return names
	}
	for i := range r.known {
		names[i] = r.known[i].name
	}
	return names
}

func (r *countedRows) column(i int) *columnType {
	if r.types != nil && !r.asked {
		r.asked = true
		r.known = r.types()
	}
	if i < len(r.known) && len(r.known) == len(r.physicalRows.Columns()) {
		return &r.known[i]
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

// plainTypes asks the server what it would answer to the query as it was
// written, without a row of it. nil if it can't be asked.
func plainTypes(db *sql.DB, query string, mode lexMode, args []driver.NamedValue, prepared bool) []columnType {
	query, params := withoutRows(query, mode)
	values := make([]any, min(params, len(args)))
	for i := range values {
		values[i] = args[i].Value
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	ask := db.QueryContext
	if prepared {
		s, err := db.PrepareContext(ctx, query)
		if err != nil {
			return nil
		}
		defer s.Close()
		ask = func(ctx context.Context, _ string, args ...any) (*sql.Rows, error) {
			return s.QueryContext(ctx, args...)
		}
	}
	rows, err := ask(ctx, query, values...)
	if err != nil {
		return nil
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil || rows.Err() != nil {
		return nil
	}
	all := make([]columnType, len(types))
	for i, t := range types {
		c := columnType{name: t.Name(), database: t.DatabaseTypeName(), scan: t.ScanType()}
		c.nullable, c.nullableOK = t.Nullable()
		c.precision, c.scale, c.decimalOK = t.DecimalSize()
		all[i] = c
	}
	return all
}

// withoutRows puts LIMIT 0 in place of what ends a query, and counts the
// parameters that remain.
func withoutRows(query string, mode lexMode) (text string, params int) {
	depth, end := 0, len(query)
	toks := tokenize(query, mode)
	for i, t := range toks {
		switch {
		case t.punct('('):
			depth++
		case t.punct(')'):
			depth--
		case depth == 0 && (t.is("LIMIT") || t.is("LOCK") || t.is("INTO") || t.punct(';') || t.is("FOR") && i+1 < len(toks) && (toks[i+1].is("UPDATE") || toks[i+1].is("SHARE"))):
			return query[:t.start] + " LIMIT 0", params
		case t.kind == tokParam:
			params++
		}
	}
	return query[:end] + "\n LIMIT 0", params
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
