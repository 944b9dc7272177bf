package catalog

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// originals takes the texts of triggers and routines as they were sent, where what
// information_schema shows of them may hide a name: MySQL shows apostrophes within a text as
// they are, so that what stands between two such texts looks like one itself, and a name with
// a backquote, `n“c`, as `nn`cc`.
func (b *Objects) originals(ctx context.Context, l *loader) {
	names := wantedNames{words: map[string]bool{}}
	for _, t := range l.tables {
		names.add(t.Spec.Name)
		names.add(t.Spec.SlotsTable)
		names.quoted = names.quoted || slices.ContainsFunc(t.Columns, func(c *Column) bool { return strings.Contains(c.Name, "`") })
	}
	for _, objects := range [][][]string{b.views, b.routines, b.triggers} {
		for _, v := range objects {
			names.add(v[1])
		}
	}
	asSent := func(v []string, kind, name string) {
		if create := l.original(ctx, kind+" "+sqltext.Qualified(v[0], name)); create != "" {
			v[2] = TriggerBody(create)
		} else {
			v[2] = names.all(v[2])
		}
	}
	for _, v := range b.routines {
		if !l.server.MariaDB && names.hidden(v[2]) {
			asSent(v, v[3], v[1])
		}
	}
	for _, v := range b.triggers {
		if !l.server.MariaDB && names.hidden(v[2]) || ShownOtherwise(v[5], v[2]) {
			asSent(v, "TRIGGER", v[5])
		}
	}
}

// ShownOtherwise reports whether what is shown of a trigger of ours may be another text than
// was sent, to which it is compared: of literals, and of characters that need four bytes.
func ShownOtherwise(name, body string) bool {
	return strings.HasPrefix(name, ownTrigger) && (strings.ContainsAny(body, `'"?`) || torn(body) || strings.ContainsFunc(body, func(r rune) bool { return r >= 0x80 }))
}

// wantedNames are looked for in texts, in lower case.
type wantedNames struct {
	words  map[string]bool
	odd    []string // what is no word unless it is quoted
	quoted bool     // one has a backquote, or a column of theirs
}

func (w *wantedNames) add(name string) {
	w.quoted = w.quoted || strings.Contains(name, "`")
	if name = strings.ToLower(name); !strings.ContainsFunc(name, between) {
		w.words[name] = true
	} else if !slices.Contains(w.odd, name) {
		w.odd = append(w.odd, name)
	}
}

// hidden reports whether a text with literals has one of the names, but not as an identifier, or
// has names that are shown as others.
func (w *wantedNames) hidden(text string) bool {
	if w.quoted || torn(text) {
		return true
	}
	if !strings.ContainsAny(text, `'"`) {
		return false
	}
	lower, seen := strings.ToLower(text), sqltext.Identifiers(text)
	return slices.ContainsFunc(strings.FieldsFunc(lower, between), func(word string) bool { return w.words[word] && !seen[word] }) ||
		slices.ContainsFunc(w.odd, func(name string) bool { return strings.Contains(lower, name) && !seen[name] })
}

// torn reports whether a quoted name goes on behind its end.
func torn(text string) bool {
	if !strings.Contains(text, "`") {
		return false
	}
	toks := sqltext.Tokenize(text, sqltext.Mode{})
	for i := range len(toks) - 1 {
		if toks[i].Kind == sqltext.Name && toks[i+1].Start == toks[i].End && (toks[i+1].Ident() || toks[i+1].Kind == sqltext.Number) {
			return true
		}
	}
	return false
}

// all is a text in which every word of another, quoted or not, is an identifier.
func (w *wantedNames) all(text string) string {
	words := strings.FieldsFunc(text, between)
	for _, name := range w.odd {
		if strings.Contains(strings.ToLower(text), name) {
			words = append(words, sqltext.Quote(name))
		}
	}
	return strings.Join(words, " ")
}

// between reports whether a character is none of a bare name.
func between(r rune) bool {
	return r != '_' && r != '$' && r < 0x80 && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// original is the statement that has made an object; "" where the server does not tell: it may
// be gone, or another's.
func (l *loader) original(ctx context.Context, object string) string {
	rows := l.ask(ctx, "SHOW CREATE "+object)
	if mysqlerr.Number(l.err) != 0 {
		l.err = nil
	}
	if len(rows) != 1 {
		return ""
	}
	return rows[0][2]
}

// TriggerBody is what a trigger does, of the statement that has made it; another statement is
// returned as it is.
func TriggerBody(create string) string {
	toks := sqltext.Tokenize(create, sqltext.Mode{})
	for i := range len(toks) - 3 {
		if toks[i].Is("FOR") && toks[i+1].Is("EACH") && toks[i+2].Is("ROW") {
			at := i + 3
			if toks[at].Is("FOLLOWS") || toks[at].Is("PRECEDES") {
				at += 2
			}
			return create[toks[min(at, len(toks)-1)].Start:]
		}
	}
	return create
}
