package countermysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/test_driver"
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
	if strings.ContainsRune("fg", rune(a)) || strings.ContainsRune("fg", rune(b)) {
		return a == 'g' && b == 'f'
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
	if k.ddl != ddl || time.Since(k.asked) > schemaAge {
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
	return k.cachedTypes(&k.plan.types, func() []columnType { return c.askTypes(k) })
}

// sessionTypes are those where the session decides about them: with a temporary
// table or variable of its own, or settings that a statement has changed. They
// are asked on its own connection, before the query; nil if they need not be.
func (c *conn) sessionTypes(ctx context.Context, k *call) []columnType {
	switch {
	case k.plan.query == nil || k.plan.query.into || !k.rows:
		return nil
	case c.next != "" && !c.inTransaction():
		return nil // SET TRANSACTION is for the query itself
	case strings.Contains(k.text, ":=") && assignsWithin(tokenize(k.text, c.session.mode)):
		return nil // a derived table is evaluated even if no row is returned
	case c.namesTemporary(k.text), strings.Contains(k.text, "@"):
		return k.typesOn(ctx, c.raw)
	case !c.changed || !k.plan.computes() && c.session.sqlMode == c.initial.sqlMode: // strictness decides what may be NULL
		return nil
	}
	if c.types == nil {
		c.types = map[*plan]*typesCache{}
	}
	if c.types[k.plan] == nil {
		if len(c.types) == maxTypes {
			clear(c.types)
		}
		c.types[k.plan] = &typesCache{}
	}
	return k.cachedTypes(c.types[k.plan], func() []columnType { return k.typesOn(ctx, c.raw) })
}

// assignsWithin reports whether a variable is assigned in parentheses, as in a
// derived table.
func assignsWithin(toks []token) bool {
	depth := 0
	for i, t := range toks {
		switch {
		case t.punct('('):
			depth++
		case t.punct(')'):
			depth--
		case depth > 0 && t.punct(':') && i+1 < len(toks) && toks[i+1].punct('='):
			return true
		}
	}
	return false
}

// acting are the functions that wait, or change something, also where nothing is written.
var acting = wordSet(`GET_LOCK RELEASE_LOCK RELEASE_ALL_LOCKS SLEEP NEXTVAL SETVAL NEXT`)

// actsWithin reports whether such a function may be called although no row is wanted:
// in a derived table, a common table expression or a UNION.
func actsWithin(toks []token) bool {
	return hasSubquery(toks) && slices.ContainsFunc(toks, func(t token) bool { return t.in(acting) })
}

// callsWithin reports whether any function may be called then.
func callsWithin(toks []token) bool {
	for i := range toks[:max(len(toks)-2, 0)] {
		if toks[i].ident() && toks[i+1].punct('(') && !toks[i+2].is("SELECT") {
			return hasSubquery(toks)
		}
	}
	return false
}

func hasSubquery(toks []token) bool {
	selects := 0
	for _, t := range toks {
		if t.is("SELECT") {
			selects++
		}
	}
	return selects > 1
}

func (k *call) cachedTypes(cache *typesCache, ask func() []columnType) []columnType {
	kinds := ""
	if k.plan.namedByArgs && !k.binary() {
		return ask()
	}
	if k.plan.typedByArgs {
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
	case string, []byte:
		return true
	}
	return false
}

// computes reports whether the server may give what the query computes from a
// sum another type than it has from a column. A FLOAT beside a small integer is a
// FLOAT, beside a sum a DOUBLE; other tables may have one.
func (p *plan) computes() bool {
	return p.typedByArgs || slices.ContainsFunc(p.reads, func(t *table) bool {
		floats := p.query != nil && p.query.others || slices.ContainsFunc(t.cols, func(c *column) bool { return c.dataType == "float" })
		return slices.ContainsFunc(t.counters, func(c *column) bool {
			return c.unsigned() && c.dataType != "bigint" || floats && integerBits[c.dataType] < 32
		})
	})
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
		for _, set := range []string{"SET SESSION sql_mode = '" + c.session.sqlMode + "'", "USE " + quoteIdent(c.session.db)} {
			if _, err := conn.ExecContext(ctx, set); err != nil {
				return nil
			}
		}
	}
	if callsWithin(tokenize(k.text, c.session.mode)) { // a function of the application's may write
		if _, err := conn.ExecContext(ctx, "START TRANSACTION READ ONLY"); err != nil {
			return nil
		}
		defer func() { _, _ = conn.ExecContext(ctx, rollback) }()
	}
	_ = conn.Raw(func(raw any) error {
		types = k.typesOn(ctx, raw.(*lookupConn).Conn)
		return nil
	})
	return types
}

// typesOn asks what the server would answer to the query as it was written,
// without a row of it.
func (k *call) typesOn(ctx context.Context, conn driver.Conn) []columnType {
	if actsWithin(tokenize(k.text, k.conn.session.mode)) {
		return nil
	}
	original, params := withoutRows(k.text, k.conn.session.mode)
	text := withoutLocks(original, k.conn.session.mode)
	args := k.args[:min(params, len(k.args))]
	var rows driver.Rows
	err := driver.ErrSkip
	if k.stmt == nil {
		rows, err = conn.(driver.QueryerContext).QueryContext(ctx, text, args)
	}
	if errors.Is(err, driver.ErrSkip) {
		var s driver.Stmt
		if s, err = conn.(driver.ConnPrepareContext).PrepareContext(ctx, text); err != nil {
			return nil
		}
		defer s.Close()
		rows, err = s.(driver.StmtQueryContext).QueryContext(ctx, args)
	}
	if err != nil {
		return nil
	}
	defer rows.Close()
	names, typed := rows.Columns(), rows.(physicalRows)
	types := make([]columnType, len(names))
	for i := range types {
		t := &types[i]
		if at := strings.Index(text, names[i]); at >= 0 {
			names[i] = original[at : at+len(names[i])]
		}
		t.name, t.database, t.scan = names[i], typed.ColumnTypeDatabaseTypeName(i), typed.ColumnTypeScanType(i)
		t.nullable, t.nullableOK = typed.ColumnTypeNullable(i)
		t.precision, t.scale, t.decimalOK = typed.ColumnTypePrecisionScale(i)
	}
	return types
}

// withoutRows puts LIMIT 0 in place of what ends a query, and counts the
// parameters that remain. Parentheses around all of it go: behind them, LIMIT would
// make another table of it on MariaDB, and columnsWithAlias tells that one's name.
func withoutRows(query string, mode lexMode) (text string, params int) {
	depth := 0
	toks := tokenize(query, mode)
	for last := len(toks) - 1; last > 0 && toks[last].punct(';'); last-- {
		query, toks = query[:toks[last].start], toks[:last]
	}
	for last := len(toks) - 1; last > 0 && toks[0].punct('(') && closingParen(toks, 0) == last; last = len(toks) - 1 {
		query = query[toks[0].end:toks[last].start]
		toks = tokenize(query, mode)
	}
	for i, t := range toks {
		switch {
		case t.punct('('):
			depth++
		case t.punct(')'):
			depth--
		case depth == 0 && endsRows(toks, i):
			return query[:t.start] + " LIMIT 0", params
		case t.kind == tokParam:
			params++
		}
	}
	return query + "\n LIMIT 0", params
}

// withoutLocks blanks out the locks of subqueries, for which the query would wait, also
// for its own transaction's.
func withoutLocks(query string, mode lexMode) string {
	text := []byte(query)
	for toks, i := tokenize(query, mode), 0; i < len(toks); i++ {
		if !locks(toks, i) {
			continue
		}
		_, _, end := readLock(toks, i)
		for at := toks[i].start; at < toks[end-1].end; at++ {
			text[at] = ' '
		}
	}
	return string(text)
}

// endsRows reports whether what follows says only which rows are returned, and how.
func endsRows(toks []token, i int) bool {
	t := toks[i]
	return t.is("LIMIT") || t.is("FETCH") || t.is("LOCK") || t.is("INTO") || t.punct(';') ||
		t.is("FOR") && i+1 < len(toks) && (toks[i+1].is("UPDATE") || toks[i+1].is("SHARE"))
}

// typedByArgs reports whether a parameter stands where columns get their names
// and types from: not behind a WHERE or ON, nor in what belongs to one.
func typedByArgs(toks []token) bool {
	typed, on := []bool{true}, []bool{false} // of the query and of each parenthesis that is open
	for i, t := range toks {
		last := len(typed) - 1
		switch {
		case t.punct('('):
			typed, on = append(typed, typed[last] && !on[last]), append(on, false)
		case t.punct(')') && last > 0:
			typed, on = typed[:last], on[:last]
		case t.is("WHERE"), t.is("ORDER"), endsRows(toks, i):
			typed[last] = false
		case t.is("SELECT"):
			typed[last], on[last] = last == 0 || typed[last-1] && !on[last-1], false
		case t.is("ON"):
			on[last] = true
		case t.is("JOIN"), t.is("STRAIGHT_JOIN"), t.punct(','):
			on[last] = false
		case t.kind == tokParam && typed[last] && !on[last]:
			return true
		}
	}
	return false
}

// namedByArgs reports whether a column without an alias has a parameter in its text.
func namedByArgs(stmt ast.Node) bool {
	return !every(stmt, func(n ast.Node) bool {
		f, ok := n.(*ast.SelectField)
		return !ok || f.WildCard != nil || f.AsName.O != "" || every(f.Expr, func(n ast.Node) bool {
			_, is := n.(*test_driver.ParamMarkerExpr)
			return !is
		})
	})
}
