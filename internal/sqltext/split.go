package sqltext

import (
	"database/sql/driver"
	"slices"
)

// bodies are the words of statements that hold others.
var bodies = WordSet(`PROCEDURE FUNCTION TRIGGER EVENT PACKAGE ATOMIC`)

// Statements splits a text at its semicolons. One that defines a body is not split.
func Statements(text string, toks []Token) []string {
	creates := HasWord(toks, "CREATE", "ATOMIC")
	if creates && slices.ContainsFunc(toks, func(t Token) bool { return t.In(bodies) }) {
		return []string{text}
	}
	var parts []string
	start := 0
	for i, t := range toks {
		if t.Punct(';') {
			switch {
			case i > 0 && !toks[i-1].Punct(';'):
				parts = append(parts, text[start:t.Start])
			case slices.ContainsFunc(toks[i:], func(t Token) bool { return !t.Punct(';') }):
				return append(parts, text[start:]) // an empty one, which is wrong unless it is the last
			}
			start = t.End
		}
	}
	if n := len(toks); n > 0 && !toks[n-1].Punct(';') {
		parts = append(parts, text[start:])
	}
	return parts
}

// HasInner reports whether something stands behind a semicolon: another statement, perhaps, or
// one of a body.
func HasInner(toks []Token) bool {
	i := slices.IndexFunc(toks, func(t Token) bool { return t.Punct(';') })
	return i >= 0 && slices.ContainsFunc(toks[i:], func(t Token) bool { return !t.Punct(';') })
}

// OneByOne returns the statements of a text that names no counter table, if they have
// to be sent one by one, as one of them changes the session or its transaction.
func OneByOne(text string, toks []Token, mode Mode) []string {
	parts := Statements(text, toks)
	if len(parts) < 2 || !slices.ContainsFunc(parts, func(part string) bool {
		return EffectOf(Tokenize(part, mode)) != nil
	}) {
		return nil
	}
	return parts
}

func SplitArgs(text string, mode Mode, args []driver.NamedValue) (own, rest []driver.NamedValue) {
	n := min(Parameters(Tokenize(text, mode)), len(args))
	return args[:n], args[n:]
}

// Parameters is the number of ? among the tokens.
func Parameters(toks []Token) int {
	n := 0
	for _, t := range toks {
		if t.Kind == Param {
			n++
		}
	}
	return n
}
