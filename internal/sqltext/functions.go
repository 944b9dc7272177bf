package sqltext

import "strings"

// NamesNoTable reports whether a statement uses a table that an earlier one has named.
func NamesNoTable(toks []Token) bool {
	return len(toks) > 0 && (toks[0].Is("EXECUTE") || toks[0].Is("HANDLER"))
}

// AssignsWithin reports whether a variable is assigned in parentheses, as in a
// derived table.
func AssignsWithin(toks []Token) bool {
	depth := 0
	for i, t := range toks {
		switch {
		case t.Punct('('):
			depth++
		case t.Punct(')'):
			depth--
		case depth > 0 && Assigns(toks, i):
			return true
		}
	}
	return false
}

var acting = WordSet(`GET_LOCK RELEASE_LOCK RELEASE_ALL_LOCKS SLEEP NEXTVAL SETVAL`)

// Acts reports whether a function is called at token i that waits, or changes something, also where
// nothing is written. Under ORACLE, MariaDB takes a sequence's name and NEXTVAL behind it for one
// (https://mariadb.com/kb/en/next-value-for-sequence_name/).
func Acts(toks []Token, i int) bool {
	switch t := toks[i]; {
	case t.Is("NEXT"):
		return WordAt(toks, i+1, "VALUE")
	case t.Kind == Name && strings.EqualFold(t.Name, "NEXTVAL") && i > 0 && toks[i-1].Punct('.'):
		return true
	default:
		return t.In(acting) && i+1 < len(toks) && toks[i+1].Punct('(')
	}
}

// ActsSomewhere reports whether one is.
func ActsSomewhere(toks []Token) bool {
	for i := range toks {
		if Acts(toks, i) {
			return true
		}
	}
	return false
}

// ActsWithin reports whether such a function may be called although no row is wanted:
// in a derived table, a common table expression or a UNION.
func ActsWithin(toks []Token) bool {
	return Twice(toks, "SELECT") && ActsSomewhere(toks)
}

// CallsWithin reports whether a function of the application's may be called then.
func CallsWithin(toks []Token) bool { return Twice(toks, "SELECT") && Calls(toks) }

// Calls reports whether another function may be called than the harmless ones.
func Calls(toks []Token) bool { return callsBeside(harmless, toks) }

// CallsOwn reports whether a function of the application's may be called.
func CallsOwn(toks []Token) bool { return callsBeside(servers, toks) }

func callsBeside(known map[string]bool, toks []Token) bool {
	for i := range toks[:max(len(toks)-2, 0)] {
		if toks[i].Ident() && toks[i+1].Punct('(') && !toks[i+2].Is("SELECT") && !toks[i].In(noFunctions) &&
			(!toks[i].In(known) || toks[i].End < toks[i+1].Start || i > 0 && toks[i-1].Punct('.')) {
			return true
		}
	}
	return false
}

// noFunctions are words that may stand before a parenthesis without calling anything.
var noFunctions = WordSet(`ALL AND ANY AS BETWEEN BY CASE DISTINCT DIV ELSE EXCEPT EXISTS FROM HAVING IN INDEX INTERSECT JOIN KEY LATERAL LIKE NOT ON OR OVER PARTITION ROW SELECT SOME THEN UNION USING WHEN WHERE XOR`)

// harmless are the most usual of the server's own functions, which do nothing. Where a
// blank follows, one of the application's may have the name of some of them.
var harmless = WordSet(usual)

// servers are those, and others that are to do with no table.
var servers = WordSet(usual + `ADDDATE ADDTIME ASCII BIN BIN_TO_UUID BIT_COUNT CHAR CHARACTER_LENGTH CONNECTION_ID CONV CRC32 DATABASE DAYNAME DEFAULT ELT EXP EXPORT_SET FROM_BASE64
 FROM_DAYS INET_ATON INET_NTOA INET6_ATON INET6_NTOA INSERT JSON_ARRAY_APPEND JSON_ARRAY_INSERT JSON_INSERT JSON_KEYS JSON_LENGTH JSON_MERGE_PATCH JSON_MERGE_PRESERVE JSON_QUOTE
 JSON_REMOVE JSON_REPLACE JSON_SEARCH JSON_SET JSON_VALID LAST_DAY LAST_INSERT_ID LOCALTIME LOCALTIMESTAMP LOG2 MAKEDATE MAKETIME MAKE_SET MICROSECOND MID MONTHNAME OCTET_LENGTH ORD
 PERIOD_ADD PI POSITION REGEXP_INSTR REGEXP_REPLACE REGEXP_SUBSTR REPEAT SEC_TO_TIME SHA SHA1 SHA2 SPACE STRCMP SUBDATE SUBTIME SYSDATE TIMEDIFF TIME_FORMAT TIME_TO_SEC TO_BASE64
 TO_SECONDS UNHEX UUID UUID_TO_BIN WEEKOFYEAR YEARWEEK`)

const usual = `ABS ANY_VALUE AVG CAST CEIL CEILING CHAR_LENGTH COALESCE CONCAT CONCAT_WS CONVERT COUNT CURDATE CURRENT_DATE CURRENT_TIMESTAMP
 CURTIME DATE DATEDIFF DATE_ADD DATE_FORMAT DATE_SUB DAY DAYOFMONTH DAYOFWEEK DAYOFYEAR DENSE_RANK EXTRACT FIELD FIND_IN_SET FIRST_VALUE FLOOR FORMAT
 FROM_UNIXTIME GREATEST GROUP_CONCAT HEX HOUR IF IFNULL INSTR ISNULL JSON_ARRAY JSON_ARRAYAGG JSON_CONTAINS JSON_EXTRACT JSON_OBJECT JSON_OBJECTAGG
 JSON_UNQUOTE JSON_VALUE LAG LAST_VALUE LCASE LEAD LEAST LEFT LENGTH LN LOCATE LOG LOG10 LOWER LPAD LTRIM MATCH MAX MD5 MIN MINUTE MOD MONTH NOW NTILE
 NULLIF POW POWER QUARTER RAND RANK REGEXP_LIKE REPLACE REVERSE RIGHT ROUND ROW_NUMBER RPAD RTRIM SECOND SIGN SQRT STD STDDEV STR_TO_DATE SUBSTR SUBSTRING
 SUBSTRING_INDEX SUM TIME TIMESTAMP TIMESTAMPDIFF TIMESTAMPADD TO_DAYS TRIM TRUNCATE UCASE UNIX_TIMESTAMP UPPER UTC_DATE UTC_TIMESTAMP VAR_POP VARIANCE WEEK
 WEEKDAY YEAR `
