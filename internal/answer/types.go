package answer

import (
	"database/sql/driver"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// Types are what the server says of the columns of an answer.
type Types []column

// column is what the server says of a column of an answer.
type column struct {
	name             string
	database         string
	nullable         bool
	nullableOK       bool
	precision, scale int64
	decimalOK        bool
	scan             reflect.Type
}

// number is how go-sql-driver gives numbers of the type: as int64, as uint64
// (in answers to text only), as the digits of a DECIMAL, as float32 or float64; 0 for
// all others.
func (c *column) number(binary bool) byte {
	switch {
	case c.database == "DECIMAL":
		return 'd'
	case c.database == "UNSIGNED BIGINT" && !binary:
		return 'u'
	case strings.HasSuffix(c.database, "INT"):
		return 'i'
	case c.database == "FLOAT":
		return 'f'
	case c.database == "DOUBLE":
		return 'g'
	}
	return 0
}

// narrows reports whether the column of the query as it was written may be of the type
// although what was sent gives the other one: a sum is as wide as the server has numbers,
// and so is what is computed from it. If not, they are of different arguments or settings.
// whole says whether all that the query has from elsewhere are integers.
func (c *column) narrows(sent *column, whole func() bool) bool {
	switch is := c.number(false); sent.number(false) {
	case 'd':
		digits := sent.scale != 0 && !(sent.scale == parameterScale && whole())
		return is == 'd' && (sent.scale == c.scale || !digits && c.scale == 0) || !digits && (is == 'i' || is == 'u')
	case 'u', 'i': // what is computed from a sum has a sign
		return is == 'u' || is == 'i'
	case 'g':
		return is == 'g' || is == 'f'
	}
	return c.database == sent.database || c.moment() && sent.moment()
}

// parameterScale is how many digits behind the point MySQL gives a parameter beside a
// DECIMAL, as what mixes numbers with and without a sign is: COALESCE(MAX(likes), 0) + ?
// (WL#9384).
const parameterScale = 30

// moment reports whether it has a date and a time. Of the times of a touch column the newest
// is a DATETIME.
func (c *column) moment() bool { return c.database == "DATETIME" || c.database == "TIMESTAMP" }

// convert gives a number of the type that was sent as one of this, if it is one: the types
// may be those that another execution has asked for, with other arguments.
func (c *column) convert(v driver.Value, binary bool) driver.Value {
	switch v := v.(type) {
	case float64:
		if f := float32(v); float64(f) == v {
			return f
		}
	case int64:
		if c.number(binary) == 'u' && v >= 0 {
			return uint64(v)
		}
	case uint64:
		if v <= math.MaxInt64 {
			return int64(v)
		}
	case []byte:
		digits := string(v)
		if whole, behind, ok := strings.Cut(digits, "."); ok && strings.Trim(behind, "0") == "" {
			digits = whole
		}
		switch c.number(binary) {
		case 'd':
			return []byte(digits)
		case 'u':
			if n, err := strconv.ParseUint(digits, 10, 64); err == nil {
				return n
			}
		default:
			if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
				return n
			}
		}
	}
	return v
}

// KeptTypes are those of a query as it was written, kept with its plan. DDL of any table
// that the query names may change them.
type KeptTypes struct{ known atomic.Pointer[knownTypes] }

type knownTypes struct {
	types Types
	asked time.Time
	ddl   int64
	mode  string
}

// Get returns what is known, else what ask says; ddl is how many DDL statements the
// connector has seen, mode the session's sql_mode. nil: nothing is known.
func (k *KeptTypes) Get(ddl int64, mode string, ask func() Types) Types {
	if now := k.known.Load(); now != nil && now.ddl == ddl && now.mode == mode && time.Since(now.asked) <= catalog.SchemaAge {
		return now.types
	}
	types := ask()
	if types != nil {
		k.known.Store(&knownTypes{types, time.Now(), ddl, mode})
	}
	return types
}

// Question is a query that is asked for its columns: without rows, and without locks.
type Question struct {
	Text     string
	Params   int // the first arguments are its own
	original string
}

// NewQuestion is that for a query.
func NewQuestion(query string, mode sqltext.Mode) Question {
	original, params := sqltext.WithoutRows(query, mode)
	return Question{sqltext.WithoutLocks(original, mode), params, original}
}

// Answered are the columns of the rows that the server answers with.
func (q Question) Answered(rows driver.Rows) (Types, error) {
	names, typed := rows.Columns(), rows.(Physical)
	types := make(Types, len(names))
	for i := range types {
		t := &types[i]
		if at := strings.Index(q.Text, names[i]); at >= 0 {
			names[i] = q.original[at : at+len(names[i])]
		}
		t.name, t.database, t.scan = names[i], typed.ColumnTypeDatabaseTypeName(i), typed.ColumnTypeScanType(i)
		t.nullable, t.nullableOK = typed.ColumnTypeNullable(i)
		t.precision, t.scale, t.decimalOK = typed.ColumnTypePrecisionScale(i)
	}
	return types, rows.Close()
}
