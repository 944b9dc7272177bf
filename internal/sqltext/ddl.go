package sqltext

import (
	"slices"
	"strings"
)

// UniqueWith names the unique keys that have a column, be it in an expression or
// beside a part of another.
func UniqueWith(create, column string) (names []string) {
	toks := Tokenize(create, Mode{})
	for i := 1; i+2 < len(toks); i++ {
		if !toks[i].Is("KEY") || !toks[i-1].Is("UNIQUE") || !toks[i+2].Punct('(') {
			continue
		}
		if MentionsWord(create[toks[i+2].Start:toks[ClosingParen(toks, i+2)].End], column) {
			names = append(names, create[toks[i+1].Start:toks[i+1].End])
		}
	}
	return names
}

// Behind is what follows some bare words in the text that defines a table, be it in a comment
// that the server reads. Whether a backslash in its strings means something depends on the session
// that asked for it: it is looked for both ways.
func Behind(create string, words ...string) (rest string, found bool) {
	for _, mode := range []Mode{{}, {NoBackslashEscapes: true}} {
		toks := Tokenize(create, mode)
		for i, t := range toks {
			if t.Kind == Versioned {
				if rest, found = Behind(create[t.Start+3:t.End], words...); found {
					return rest, true
				}
			}
			n := 0
			for n < len(words) && WordAt(toks, i+n, words[n]) {
				n++
			}
			if n == len(words) {
				return create[toks[i+n-1].End:], true
			}
		}
		if !strings.Contains(create, `\`) {
			break
		}
	}
	return "", false
}

var MakesTables = WordSet(`CREATE DROP`)

// Definition is what kind of object DDL is about, in upper case, and the tokens behind
// that word. Of views, routines and the like it tells none: their bodies name all.
func Definition(toks []Token) (of string, what []Token) {
	for i := 1; i < len(toks); i++ {
		switch word := strings.ToUpper(toks[i].Name); {
		case toks[i].Kind != Word:
			return "", nil
		case word == "TABLE", word == "TABLES", word == "INDEX", word == "DATABASE", word == "SCHEMA", word == "TRIGGER":
			return word, toks[i+1:]
		case toks[0].Is("TRUNCATE"):
			return "TABLE", toks[i:]
		case !toks[i].In(beforeObject):
			return "", nil
		}
	}
	return "", nil
}

// beforeObject are the words that may stand between CREATE, ALTER or DROP and the kind
// of a table or index.
var beforeObject = WordSet(`OR REPLACE UNIQUE FULLTEXT SPATIAL VECTOR ONLINE OFFLINE IGNORE`)

// MakesTable reports whether a statement makes a table from columns that it defines, where
// there is none.
func MakesTable(toks []Token) bool {
	return WordAt(toks, 0, "CREATE") && WordAt(toks, 1, "TABLE") && !HasWord(toks[2:], "SELECT", "LIKE", "TABLE", "WITH", "VALUES") &&
		!slices.ContainsFunc(toks, func(t Token) bool { return t.Kind == Versioned })
}

// TableNamed are the tokens of the name that a list of tables begins with.
func TableNamed(toks []Token) []Token {
	toks = behindCondition(toks)
	switch {
	case len(toks) > 0 && toks[0].Punct('.'): // to MariaDB, .t is a table without a database
		return toks[:min(2, len(toks))]
	case len(toks) > 2 && toks[1].Punct('.'):
		return toks[:3]
	}
	return toks[:min(1, len(toks))]
}

// Renaming is a new name of a table: the tokens that begin with the old one, and with the new one.
type Renaming struct{ From, To []Token }

// Renamings are those of RENAME TABLE, in their order, and that of ALTER TABLE.
func Renamings(toks []Token) (all []Renaming) {
	from := BehindTable(toks)
	switch {
	case len(from) == 0:
	case toks[0].Is("ALTER"):
		if to := newName(toks); to != nil {
			all = append(all, Renaming{from, to})
		}
	case toks[0].Is("RENAME"):
		for i, t := range toks[:len(toks)-1] {
			switch {
			case t.Is("TO") && from != nil:
				all, from = append(all, Renaming{from, toks[i+1:]}), nil
			case t.Punct(','):
				from = toks[i+1:]
			}
		}
	}
	return all
}

// BehindTable is what begins with the table's name in DDL of a table.
func BehindTable(toks []Token) []Token {
	at := 1 + slices.IndexFunc(toks, func(t Token) bool { return t.Is("TABLE") || t.Is("TABLES") })
	if at == 0 {
		return nil
	}
	return behindCondition(toks[at:])
}

// behindCondition is what follows IF EXISTS or IF NOT EXISTS.
func behindCondition(toks []Token) []Token {
	for WordAt(toks, 0, "IF") || WordAt(toks, 0, "NOT") || WordAt(toks, 0, "EXISTS") {
		toks = toks[1:]
	}
	return toks
}

// newName finds the table's new name in ALTER TABLE … RENAME [TO|AS] x; nil if columns or indexes
// are renamed, or nothing.
func newName(toks []Token) []Token {
	for i := 1; i < len(toks)-1; i++ {
		to := toks[i+1:]
		if !toks[i].Is("RENAME") || to[0].Is("COLUMN") || to[0].Is("INDEX") || to[0].Is("KEY") {
			continue
		}
		if len(to) > 1 && (to[0].Is("TO") || to[0].Is("AS") || to[0].Punct('=')) {
			to = to[1:]
		}
		return to
	}
	return nil
}

// RestartsNumbers reports whether DDL says nothing but what number AUTO_INCREMENT goes on with, as libraries
// for tests do with each table before each test.
func RestartsNumbers(toks []Token) bool {
	rest := BehindTable(toks)
	rest = rest[len(TableNamed(rest)):]
	if !WordAt(toks, 0, "ALTER") || !WordAt(rest, 0, "AUTO_INCREMENT") {
		return false
	}
	if rest = rest[1:]; len(rest) > 0 && rest[0].Punct('=') {
		rest = rest[1:]
	}
	return len(rest) == 1 && rest[0].Kind == Number
}

// TableName reads a table's name, with its database if that is given.
func TableName(toks []Token) (db, name string, ok bool) {
	switch {
	case len(toks) == 0 || !toks[0].Ident():
		return "", "", false
	case len(toks) > 2 && toks[1].Punct('.'):
		return toks[0].Name, toks[2].Name, true
	}
	return "", toks[0].Name, true
}
