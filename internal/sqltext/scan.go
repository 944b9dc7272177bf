package sqltext

import (
	"strings"
)

// Span is a part of a statement's text.
type Span struct{ Start, End int }

// SplitAtAnds splits the tokens of a condition at its ANDs. That of a BETWEEN is none,
// nor are those of a CASE, which is left in one piece.
func SplitAtAnds(toks []Token) [][]Token {
	var parts [][]Token
	first, betweens, cases := 0, 0, 0
	for i, t := range Outermost(toks) {
		switch {
		case t.Is("CASE"):
			cases++
		case t.Is("END"):
			cases--
		case cases > 0:
		case t.Is("BETWEEN"):
			betweens++
		case t.Is("AND") && betweens > 0:
			betweens--
		case t.Is("AND"):
			parts = append(parts, toks[first:i])
			first = i + 1
		case t.Punct('&') && i+1 < len(toks) && toks[i+1].Punct('&'):
			parts = append(parts, toks[first:i])
			first = i + 2
		}
	}
	return append(parts, toks[first:])
}

func (t Token) In(set map[string]bool) bool {
	return t.Kind == Word && set[strings.ToUpper(t.Name)]
}

// ClosingParen returns the index of the token that closes the parenthesis at
// open, or the last token.
func ClosingParen(toks []Token, open int) int {
	depth := 0
	for i := open; i < len(toks); i++ {
		switch {
		case toks[i].Punct('('):
			depth++
		case toks[i].Punct(')'):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(toks) - 1
}

var EndOfWhere = WordSet(`GROUP HAVING ORDER LIMIT WINDOW FOR LOCK INTO PROCEDURE RETURNING`)
