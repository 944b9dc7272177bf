package countermysql

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/plan"
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

// differ reports whether go-sql-driver gives the same number in different ways.
func differ(x, y columnType, binary bool) bool {
	a, b := x.number(binary), y.number(binary)
	switch {
	case a == 'f', a == 'g':
		return a == 'g' && b == 'f'
	case b == 'f', b == 'g':
		return a != 0 && b == 'g'
	}
	return a != 0 && b != 0 && (a != b || a == 'd' && x.scale != y.scale)
}

// convert gives a number of another type as one of this, if it is the same.
func (c *columnType) convert(v driver.Value, binary bool) driver.Value {
	digits, fraction := "", ""
	switch v := v.(type) {
	case float64:
		return float32(v)
	case int64:
		digits = strconv.FormatInt(v, 10)
	case uint64:
		digits = strconv.FormatUint(v, 10)
	case []byte:
		digits, fraction, _ = strings.Cut(string(v), ".")
	default:
		return v
	}
	if c.number(binary) == 'g' { // an earlier argument has made it one
		f, err := strconv.ParseFloat(digits+"."+fraction, 64)
		if err != nil {
			return v
		}
		return f
	}
	fraction = strings.TrimRight(fraction, "0")
	switch missing := int(c.scale) - len(fraction); {
	case c.number(binary) == 'd' && missing >= 0 && c.scale > 0:
		return []byte(digits + "." + fraction + strings.Repeat("0", missing))
	case fraction != "":
	case c.number(binary) == 'd':
		return []byte(digits)
	case c.number(binary) == 'u':
		if n, err := strconv.ParseUint(digits, 10, 64); err == nil {
			return n
		}
	default:
		if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
			return n
		}
	}
	return v
}

// maxTypes bounds the answers kept for one plan.
const maxTypes = 32

// typesCache keeps the column types of a query as it was written, by the kinds
// of its arguments where these make a difference. DDL of any table that the
// query names may change them.
type typesCache struct {
	mu     sync.Mutex
	byArgs map[string]knownTypes
}

type knownTypes struct {
	types []columnType
	asked time.Time
	ddl   int64 // how many DDL statements the connector had seen
}

func (c *typesCache) get(kinds string, ddl int64) []columnType {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.byArgs[kinds]
	if k.ddl != ddl || time.Since(k.asked) > catalog.SchemaAge {
		delete(c.byArgs, kinds)
		return nil
	}
	return k.types
}

func (c *typesCache) put(kinds string, ddl int64, types []columnType) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byArgs == nil || len(c.byArgs) == maxTypes {
		c.byArgs = map[string]knownTypes{}
	}
	c.byArgs[kinds] = knownTypes{types, time.Now(), ddl}
}

// columnTypes are those of the query as it was written; the first who needs
// them asks the server. nil: it can't be asked.
func (c *conn) columnTypes(k *call) []columnType {
	return k.cachedTypes(&k.state.types, func() []columnType { return c.askTypes(k) })
}

// sessionTypes are those where the session decides about them: with a temporary
// table or variable of its own, or settings that a statement has changed. They
// are asked on its own connection, before the query; nil if they need not be.
func (c *conn) sessionTypes(ctx context.Context, k *call) []columnType {
	switch {
	case k.Plan.Query == nil || k.Plan.Query.Into || !k.rows:
		return nil
	case c.next != "" && !c.inTransaction():
		return nil // SET TRANSACTION is for the query itself
	case strings.Contains(k.text, ":=") && sqltext.AssignsWithin(sqltext.Tokenize(k.text, c.session.mode)):
		return nil // a derived table is evaluated even if no row is returned
	case k.stmt != nil && k.Plan.KeepsTypes:
		return k.stmt.typed(ctx, k)
	case c.namesTemporary(k.text), strings.Contains(k.text, "@"):
		return c.typesHere(ctx, k)
	case !c.changed || !k.Plan.Computes() && c.session.sqlMode == c.initial.sqlMode && c.session.results == c.initial.results: // strictness decides what may be NULL
		return nil
	}
	if c.types == nil {
		c.types = map[*plan.Plan]*typesCache{}
	}
	if c.types[k.Plan] == nil {
		if len(c.types) == maxTypes {
			clear(c.types)
		}
		c.types[k.Plan] = &typesCache{}
	}
	return k.cachedTypes(c.types[k.Plan], func() []columnType { return c.typesHere(ctx, k) })
}

// typesHere asks on the session's own connection.
func (c *conn) typesHere(ctx context.Context, k *call) []columnType {
	types, err := k.typesOn(ctx, c.raw)
	c.overlook(err)
	return types
}

func (k *call) cachedTypes(cache *typesCache, ask func() []columnType) []columnType {
	kinds := ""
	if k.Plan.NamedByArgs && !k.binary() {
		return ask()
	}
	if k.Plan.TypedByArgs {
		if !k.binary() || slices.ContainsFunc(k.args, isText) {
			return ask() // values decide: about names, and the precision of numbers
		}
		kinds = kindsOf(k.args)
	}
	ddl := k.conn.connector.ddl.Load()
	types := cache.get(kinds, ddl)
	if types == nil {
		if types = ask(); types != nil {
			cache.put(kinds, ddl, types)
		}
	}
	return types
}

func isText(v driver.NamedValue) bool {
	switch v.Value.(type) {
	case string, []byte, json.RawMessage:
		return true
	}
	return false
}

// kindsOf is the Go types of arguments.
func kindsOf(args []driver.NamedValue) string {
	var b strings.Builder
	for _, v := range args {
		fmt.Fprintf(&b, "%T ", v.Value)
	}
	return b.String()
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
	asksRows       bool // the last argument says how many rows: 0
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
