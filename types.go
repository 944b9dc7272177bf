package countermysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// columnType is what the server says of a column of an answer.
type columnType struct {
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
func (c *columnType) number(binary bool) byte {
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
func (c *columnType) narrows(sent *columnType) bool {
	switch is := c.number(false); sent.number(false) {
	case 'd':
		return sent.scale == c.scale && is == 'd' || sent.scale == 0 && (is == 'i' || is == 'u')
	case 'u':
		return is == 'u' || is == 'i'
	case 'i':
		return is == 'i'
	case 'g':
		return is == 'g' || is == 'f'
	}
	return c.database == sent.database
}

// convert gives a number of the type that was sent as one of this, if it is one: the types
// may be those that another execution has asked for, with other arguments.
func (c *columnType) convert(v driver.Value, binary bool) driver.Value {
	switch v := v.(type) {
	case float64:
		if f := float32(v); float64(f) == v {
			return f
		}
	case uint64:
		if v <= math.MaxInt64 {
			return int64(v)
		}
	case []byte:
		if c.number(binary) == 'u' {
			if n, err := strconv.ParseUint(string(v), 10, 64); err == nil {
				return n
			}
		} else if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return n
		}
	}
	return v
}

// typesCache keeps the column types of a query as it was written. DDL of any table that
// the query names may change them.
type typesCache struct{ known atomic.Pointer[knownTypes] }

type knownTypes struct {
	types []columnType
	asked time.Time
	ddl   int64 // how many DDL statements the connector had seen
}

// get returns what is known, else what ask says. nil: nothing is.
func (c *typesCache) get(ddl int64, ask func() []columnType) []columnType {
	if k := c.known.Load(); k != nil && k.ddl == ddl && time.Since(k.asked) <= catalog.SchemaAge {
		return k.types
	}
	types := ask()
	if types != nil {
		c.known.Store(&knownTypes{types, time.Now(), ddl})
	}
	return types
}

// columnTypes are those of the query as it was written; the first who needs
// them asks the server. nil: it can't be asked.
func (c *conn) columnTypes(k *call) []columnType {
	if k.Plan.NamedByArgs && !k.binary() {
		return c.askTypes(k)
	}
	return k.state.types.get(c.connector.ddl.Load(), func() []columnType { return c.askTypes(k) })
}

// temporaryTypes are those of a query that names a temporary table, which its session
// alone knows: asked before it is sent, as nothing can be while its rows are read.
func (c *conn) temporaryTypes(ctx context.Context, k *call) []columnType {
	if k.Plan.Query == nil || k.Plan.Query.Into || !k.rows || !c.namesTemporary(k.text) || c.next != "" && !c.inTransaction() { // SET TRANSACTION is for the query itself
		return nil
	}
	types, err := k.typesOn(ctx, c.raw)
	c.overlook(err)
	return types
}

// askTypes asks on a look-up connection.
func (c *conn) askTypes(k *call) (types []columnType) {
	look := c.connector.look.Load()
	if look == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := look.Conn(ctx)
	if err != nil {
		return nil
	}
	defer conn.Close()
	if c.session.db != c.initial.db || c.session.sqlMode != c.initial.sqlMode {
		defer func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }() // nobody else may have it
		for _, set := range []string{"SET SESSION sql_mode = '" + c.session.sqlMode + "'", "USE " + sqltext.Quote(c.session.db)} {
			if _, err := conn.ExecContext(ctx, set); err != nil {
				return nil
			}
		}
	}
	if sqltext.CallsWithin(sqltext.Tokenize(k.text, c.session.mode)) { // a function of the application's may write
		if _, err := conn.ExecContext(ctx, "START TRANSACTION READ ONLY"); err != nil {
			return nil
		}
		defer func() { _, _ = conn.ExecContext(ctx, rollback) }()
	}
	_ = conn.Raw(func(raw any) error {
		types, _ = k.typesOn(ctx, raw.(*lookupConn).Conn)
		return nil
	})
	return types
}

// typesOn asks what the server would answer to the query as it was written,
// without a row of it.
func (k *call) typesOn(ctx context.Context, conn driver.Conn) ([]columnType, error) {
	if sqltext.ActsWithin(sqltext.Tokenize(k.text, k.conn.session.mode)) {
		return nil, nil
	}
	ask := k.question()
	args := k.args[:min(ask.params, len(k.args))]
	var rows driver.Rows
	err := driver.ErrSkip
	if k.stmt == nil {
		rows, err = conn.(driver.QueryerContext).QueryContext(ctx, ask.text, args)
	}
	if errors.Is(err, driver.ErrSkip) {
		var s driver.Stmt
		if s, err = conn.(driver.ConnPrepareContext).PrepareContext(ctx, ask.text); err != nil {
			return nil, err
		}
		defer s.Close()
		rows, err = s.(driver.StmtQueryContext).QueryContext(ctx, args)
	}
	if err != nil {
		return nil, err
	}
	return ask.answered(rows)
}

// question is a query that is asked for its columns: without rows, and without locks.
type question struct {
	original, text string
	params         int
}

func (k *call) question() question {
	mode := k.conn.session.mode
	original, params := sqltext.WithoutRows(k.text, mode)
	return question{original: original, text: sqltext.WithoutLocks(original, mode), params: params}
}

// answered are the columns that the server tells of.
func (q question) answered(rows driver.Rows) ([]columnType, error) {
	names, typed := rows.Columns(), rows.(physicalRows)
	types := make([]columnType, len(names))
	for i := range types {
		t := &types[i]
		if at := strings.Index(q.text, names[i]); at >= 0 {
			names[i] = q.original[at : at+len(names[i])]
		}
		t.name, t.database, t.scan = names[i], typed.ColumnTypeDatabaseTypeName(i), typed.ColumnTypeScanType(i)
		t.nullable, t.nullableOK = typed.ColumnTypeNullable(i)
		t.precision, t.scale, t.decimalOK = typed.ColumnTypePrecisionScale(i)
	}
	return types, rows.Close()
}
