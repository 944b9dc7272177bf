package sqltext

import (
	"strings"
	"unicode/utf8"
)

// MaxName is the limit of both servers for a name, in characters
// (https://dev.mysql.com/doc/refman/8.4/en/identifier-length.html).
const MaxName = 64

// NameError is what is wrong with a name, in words that follow the name.
type NameError struct{ Problem, Remedy string }

func (e *NameError) Error() string { return e.Problem }

var (
	ErrNameEmpty    = &NameError{"has an empty name", "write every name in full"}
	ErrNameQuotes   = &NameError{"has a backquote out of place", "put a whole name between backquotes, and double a backquote that belongs to it"}
	ErrNameTooLong  = &NameError{"has a name of more than 64 characters, the servers' limit", "write the name that the server knows"}
	ErrNameEncoding = &NameError{"has a name that is not UTF-8 or holds a NUL", "write the name that the server knows, in UTF-8"}
)

// Quote writes a name so that it is one in any SQL.
func Quote(name string) string {
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

// Qualified is a name that stands in another: a table in a database, a column of a table.
func Qualified(in, name string) string { return Quote(in) + "." + Quote(name) }

// SplitName reads a dotted name, each part of it bare or in backquotes:
// "db.post", "`my db`.`my.table`". An error is a *NameError.
func SplitName(s string) ([]string, error) {
	parts := SplitQuoted(s, '.')
	for i, part := range parts {
		name, err := unquoteName(part)
		if err != nil {
			return nil, err
		}
		parts[i] = name
	}
	return parts, nil
}

// SplitQuoted splits at a separator outside backquotes. A doubled backquote
// leaves the quotes and enters them again, so it needs no case of its own.
func SplitQuoted(s string, sep byte) []string {
	var parts []string
	start, quoted := 0, false
	for i := range len(s) {
		switch s[i] {
		case '`':
			quoted = !quoted
		case sep:
			if !quoted {
				parts = append(parts, s[start:i])
				start = i + 1
			}
		}
	}
	return append(parts, s[start:])
}

func unquoteName(s string) (string, error) {
	name := strings.TrimSpace(s)
	if inner, ok := strings.CutPrefix(name, "`"); ok {
		inner, ok = strings.CutSuffix(inner, "`")
		if name = strings.ReplaceAll(inner, "``", "`"); !ok || strings.Contains(strings.ReplaceAll(inner, "``", ""), "`") {
			return "", ErrNameQuotes
		}
	} else if strings.Contains(name, "`") {
		return "", ErrNameQuotes
	}
	switch {
	case name == "":
		return "", ErrNameEmpty
	case !utf8.ValidString(name) || strings.Contains(name, "\x00"):
		return "", ErrNameEncoding
	case utf8.RuneCountInString(name) > MaxName:
		return "", ErrNameTooLong
	}
	return name, nil
}

// JoinName is the inverse of SplitName, with backquotes where they are needed.
func JoinName(parts ...string) string {
	quoted := make([]string, len(parts))
	for i, part := range parts {
		if strings.ContainsAny(part, ".,`") || strings.TrimSpace(part) != part {
			part = Quote(part)
		}
		quoted[i] = part
	}
	return strings.Join(quoted, ".")
}
