package sqltext

import (
	"slices"
)

// MakesTable reports whether a statement makes a table from columns that it defines, where
// there is none.
func MakesTable(toks []Token) bool {
	return WordAt(toks, 0, "CREATE") && WordAt(toks, 1, "TABLE") && !HasWord(toks[2:], "SELECT", "LIKE", "TABLE", "WITH", "VALUES") &&
		!slices.ContainsFunc(toks, func(t Token) bool { return t.Kind == Versioned })
}
