package countermysql

import (
	"slices"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/test_driver"
)

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
		case depth > 0 && assigns(toks, i):
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
	return twice(toks, "SELECT") && slices.ContainsFunc(toks, func(t token) bool { return t.in(acting) })
}

// callsWithin reports whether a function of the application's may be called then.
func callsWithin(toks []token) bool { return twice(toks, "SELECT") && calls(toks) }

// calls reports whether another function may be called than the harmless ones.
func calls(toks []token) bool {
	for i := range toks[:max(len(toks)-2, 0)] {
		if toks[i].ident() && toks[i+1].punct('(') && !toks[i+2].is("SELECT") && !toks[i].in(noFunctions) &&
			(!toks[i].in(harmless) || toks[i].end < toks[i+1].start || i > 0 && toks[i-1].punct('.')) {
			return true
		}
	}
	return false
}

// noFunctions are words that may stand before a parenthesis without calling anything.
var noFunctions = wordSet(`ALL AND ANY AS BETWEEN BY CASE DISTINCT DIV ELSE EXCEPT EXISTS FROM HAVING IN INDEX INTERSECT JOIN KEY LATERAL LIKE NOT ON OR OVER PARTITION ROW SELECT SOME THEN UNION USING WHEN WHERE XOR`)

// harmless are the most usual of the server's own functions, which do nothing. Where a
// blank follows, one of the application's may have the name of some of them.
var harmless = wordSet(`ABS ANY_VALUE AVG CAST CEIL CEILING CHAR_LENGTH COALESCE CONCAT CONCAT_WS CONVERT COUNT CURDATE CURRENT_DATE CURRENT_TIMESTAMP
 CURTIME DATE DATEDIFF DATE_ADD DATE_FORMAT DATE_SUB DAY DAYOFMONTH DAYOFWEEK DAYOFYEAR DENSE_RANK EXTRACT FIELD FIND_IN_SET FIRST_VALUE FLOOR FORMAT
 FROM_UNIXTIME GREATEST GROUP_CONCAT HEX HOUR IF IFNULL INSTR ISNULL JSON_ARRAY JSON_ARRAYAGG JSON_CONTAINS JSON_EXTRACT JSON_OBJECT JSON_OBJECTAGG
 JSON_UNQUOTE JSON_VALUE LAG LAST_VALUE LCASE LEAD LEAST LEFT LENGTH LN LOCATE LOG LOG10 LOWER LPAD LTRIM MATCH MAX MD5 MIN MINUTE MOD MONTH NOW NTILE
 NULLIF POW POWER QUARTER RAND RANK REGEXP_LIKE REPLACE REVERSE RIGHT ROUND ROW_NUMBER RPAD RTRIM SECOND SIGN SQRT STD STDDEV STR_TO_DATE SUBSTR SUBSTRING
 SUBSTRING_INDEX SUM TIME TIMESTAMP TIMESTAMPDIFF TIMESTAMPADD TO_DAYS TRIM TRUNCATE UCASE UNIX_TIMESTAMP UPPER UTC_DATE UTC_TIMESTAMP VAR_POP VARIANCE WEEK
 WEEKDAY YEAR`)

// withoutRows puts LIMIT 0 in place of what ends a query, and counts the
// parameters that remain. Parentheses around all of it go: behind them, LIMIT would
// make another table of it on MariaDB, and columnsWithAlias tells that one's name.
func withoutRows(query string, mode lexMode) (text string, params int) {
	toks := tokenize(query, mode)
	for last := len(toks) - 1; last > 0 && toks[last].punct(';'); last-- {
		query, toks = query[:toks[last].start], toks[:last]
	}
	for last := len(toks) - 1; last > 0 && toks[0].punct('(') && closingParen(toks, 0) == last; last = len(toks) - 1 {
		query = query[toks[0].end:toks[last].start]
		toks = tokenize(query, mode)
	}
	for i, t := range outermost(toks) {
		if endsRows(toks, i) {
			return query[:t.start] + " LIMIT 0", parameters(toks[:i])
		}
	}
	return query + "\n LIMIT 0", parameters(toks)
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
	type part struct{ outer, typed, on bool } // outer: what is around it is typed
	parts := nest[part]{{outer: true, typed: true}}
	for i, t := range toks {
		p := parts.top()
		typed := p.typed && !p.on
		switch {
		case parts.follow(t, part{outer: typed, typed: typed}):
		case t.is("WHERE"), t.is("ORDER"), endsRows(toks, i):
			p.typed = false
		case t.is("SELECT"):
			p.typed, p.on = p.outer, false
		case t.is("ON"):
			p.on = true
		case t.is("JOIN"), t.is("STRAIGHT_JOIN"), t.punct(','):
			p.on = false
		case t.kind == tokParam && typed:
			return true
		}
	}
	return false
}

// namedByArgs reports whether a column without an alias has a parameter in its text.
func namedByArgs(stmt ast.Node) bool {
	return some(stmt, func(f *ast.SelectField) bool {
		return f.WildCard == nil && f.AsName.O == "" && some(f.Expr, func(*test_driver.ParamMarkerExpr) bool { return true })
	})
}
