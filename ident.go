package countermysql

import (
	"strings"
	"unicode/utf8"
)

// maxName is the limit of both servers for a name, in characters
// (https://dev.mysql.com/doc/refman/8.4/en/identifier-length.html).
const maxName = 64

// nameError is what is wrong with a name, in words that follow the name.
type nameError struct{ problem, remedy string }

func (e *nameError) Error() string { return e.problem }

var (
	errNameEmpty    = &nameError{"has an empty name", "write every name in full"}
	errNameQuotes   = &nameError{"has a backquote out of place", "put a whole name between backquotes, and double a backquote that belongs to it"}
	errNameTooLong  = &nameError{"has a name of more than 64 characters, the servers' limit", "write the name that the server knows"}
	errNameEncoding = &nameError{"has a name that is not UTF-8 or holds a NUL", "write the name that the server knows, in UTF-8"}
)

// quoteIdent writes a name so that it is one in any SQL.
func quoteIdent(name string) string {
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

// splitName reads a dotted name, each part of it bare or in backquotes:
// "db.post", "`my db`.`my.table`". An error is a *nameError.
func splitName(s string) ([]string, error) {
	parts := splitQuoted(s, '.')
	for i, part := range parts {
		name, err := unquoteName(part)
		if err != nil {
			return nil, err
		}
		parts[i] = name
	}
	return parts, nil
}

// splitQuoted splits at a separator outside backquotes. A doubled backquote
// leaves the quotes and enters them again, so it needs no case of its own.
func splitQuoted(s string, sep byte) []string {
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
			return "", errNameQuotes
		}
	} else if strings.Contains(name, "`") {
		return "", errNameQuotes
	}
	switch {
	case name == "":
		return "", errNameEmpty
	case !utf8.ValidString(name) || strings.Contains(name, "\x00"):
		return "", errNameEncoding
	case utf8.RuneCountInString(name) > maxName:
		return "", errNameTooLong
	}
	return name, nil
}

// joinName is the inverse of splitName, with backquotes where they are needed.
func joinName(parts ...string) string {
	quoted := make([]string, len(parts))
	for i, part := range parts {
		if strings.ContainsAny(part, ".,`") || strings.TrimSpace(part) != part {
			part = quoteIdent(part)
		}
		quoted[i] = part
	}
	return strings.Join(quoted, ".")
}
