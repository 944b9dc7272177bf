package sqltext

// WithoutRows puts LIMIT 0 in place of what ends a query, and counts the
// parameters that remain. Parentheses around all of it go: behind them, LIMIT would
// make another table of it on MariaDB, and columnsWithAlias tells that one's name.
func WithoutRows(query string, mode Mode) (text string, params int) {
	toks := Tokenize(query, mode)
	for last := len(toks) - 1; last > 0 && toks[last].Punct(';'); last-- {
		query, toks = query[:toks[last].Start], toks[:last]
	}
	for last := len(toks) - 1; last > 0 && toks[0].Punct('(') && ClosingParen(toks, 0) == last; last = len(toks) - 1 {
		query = query[toks[0].End:toks[last].Start]
		toks = Tokenize(query, mode)
	}
	for i, t := range Outermost(toks) {
		if endsRows(toks, i) {
			return query[:t.Start] + " LIMIT 0", Parameters(toks[:i])
		}
	}
	return query + "\n LIMIT 0", Parameters(toks)
}

// WithoutLocks blanks out the locks of subqueries, for which the query would wait, also
// for its own transaction's.
func WithoutLocks(query string, mode Mode) string {
	text := []byte(query)
	for toks, i := Tokenize(query, mode), 0; i < len(toks); i++ {
		if !Locks(toks, i) {
			continue
		}
		_, _, end := ReadLock(toks, i)
		for at := toks[i].Start; at < toks[end-1].End; at++ {
			text[at] = ' '
		}
	}
	return string(text)
}

// Orders reports whether ORDER BY begins at token i, and no index hint's FOR ORDER BY.
func Orders(toks []Token, i int) bool { return toks[i].Is("ORDER") && (i == 0 || !toks[i-1].Is("FOR")) }

// endsRows reports whether what follows says only which rows are returned, and how.
func endsRows(toks []Token, i int) bool {
	t := toks[i]
	return t.Is("LIMIT") || t.Is("FETCH") || t.Is("LOCK") || t.Is("INTO") || t.Punct(';') ||
		t.Is("FOR") && i+1 < len(toks) && (toks[i+1].Is("UPDATE") || toks[i+1].Is("SHARE"))
}

// Untimed, in a SET before other variables, lifts MariaDB's limit of how long a statement may take.
const Untimed = "/*M!100101 SESSION max_statement_time = 0, */ "

// NoLimit is the default of sql_select_limit.
const NoLimit = "18446744073709551615"

// Uncached keeps a query out of MariaDB's query cache, behind its SELECT: for what it may keep, the
// server fixes the transaction's snapshot, though the query reads no row.
const Uncached = "/*M! SQL_NO_CACHE */ "

// Rereads are the words of a SET after which the server may take texts for other values.
var Rereads = WordSet(`TIME_ZONE NAMES CHARACTER CHARSET CHARACTER_SET_CLIENT CHARACTER_SET_CONNECTION COLLATION_CONNECTION SQL_MODE`)
