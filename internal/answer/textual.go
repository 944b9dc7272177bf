package answer

import (
	"database/sql/driver"
	"strconv"
)

// Textual are rows of a prepared statement with the values that go-sql-driver gives of the same
// query sent as text; ok is false where the server may write them otherwise than they are: a FLOAT,
// and a DOUBLE, with fewer digits, a time with those that its type does not tell
// (https://dev.mysql.com/doc/refman/8.4/en/problems-with-float.html).
func Textual(rows driver.Rows) (_ driver.Rows, ok bool) {
	p := rows.(Physical)
	t := textual{Physical: p}
	for i := range p.Columns() {
		switch p.ColumnTypeDatabaseTypeName(i) {
		case "UNSIGNED BIGINT":
			t.unsigned = append(t.unsigned, i)
		case "FLOAT", "DOUBLE":
			return rows, false
		case "TIME", "DATETIME", "TIMESTAMP":
			if _, digits, known := p.ColumnTypePrecisionScale(i); !known || digits > 6 {
				return rows, false
			}
		}
	}
	if t.unsigned == nil {
		return rows, true
	}
	return &t, true
}

type textual struct {
	Physical
	unsigned []int // columns
}

// Next gives unsigned numbers their type.
func (t *textual) Next(dest []driver.Value) error {
	if err := t.Physical.Next(dest); err != nil {
		return err
	}
	for _, i := range t.unsigned {
		switch v := dest[i].(type) {
		case int64:
			dest[i] = uint64(v)
		case []byte: // beyond what an int64 holds
			n, err := strconv.ParseUint(string(v), 10, 64)
			if err != nil {
				return err
			}
			dest[i] = n
		}
	}
	return nil
}
