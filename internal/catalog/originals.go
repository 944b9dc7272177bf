package catalog

import (
	"context"
	"strings"
	"unicode"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// originals takes the texts of triggers and routines as they were sent, where what
// information_schema shows of them may hide a name: MySQL shows apostrophes within a text as
// they are, so that what stands between two such texts looks like one itself.
func (b *Objects) originals(ctx context.Context, l *loader) {
	names := map[string]bool{}
	for _, t := range l.tables {
		names[strings.ToLower(t.Spec.Name)], names[strings.ToLower(t.Spec.SlotsTable)] = true, true
	}
	for _, objects := range [][][]string{b.views, b.routines, b.triggers} {
		for _, v := range objects {
			names[strings.ToLower(v[1])] = true
		}
	}
	for _, v := range b.routines {
		if !l.server.MariaDB && hides(v[2], names) {
			v[2] = l.original(ctx, v[3]+" "+sqltext.Quote(v[0])+"."+sqltext.Quote(v[1]), v[2])
		}
	}
	for _, v := range b.triggers {
		if !l.server.MariaDB && hides(v[2], names) || ShownOtherwise(v[5], v[2]) {
			v[2] = TriggerBody(l.original(ctx, "TRIGGER "+sqltext.Quote(v[0])+"."+sqltext.Quote(v[5]), v[2]))
		}
	}
}

// ShownOtherwise reports whether what is shown of a trigger of ours may be another text than
// was sent, to which it is compared: of literals, and of characters that need four bytes.
func ShownOtherwise(name, body string) bool {
	return strings.HasPrefix(name, OwnTrigger) && (strings.ContainsAny(body, `'"?`) || strings.ContainsFunc(body, func(r rune) bool { return r >= 0x80 }))
}

// hides reports whether a text has one of the names as a word, in lower case, but not as an
// identifier.
func hides(text string, names map[string]bool) bool {
	if !strings.ContainsAny(text, `'"`) {
		return false
	}
	lower, words := strings.ToLower(text), sqltext.Identifiers(text)
	for _, w := range strings.FieldsFunc(lower, between) {
		if names[w] && !words[w] {
			return true
		}
	}
	for name := range names {
		if strings.ContainsFunc(name, between) && strings.Contains(lower, name) && !words[name] {
			return true
		}
	}
	return false
}

// between reports whether a character is none of a bare name.
func between(r rune) bool {
	return r != '_' && r != '$' && r < 0x80 && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// original is the statement that has made an object. Where the server does not tell, all words
// of what it shows count as names.
func (l *loader) original(ctx context.Context, object, shown string) string {
	if rows := l.ask(ctx, "SHOW CREATE "+object); len(rows) == 1 && rows[0][2] != "" {
		return rows[0][2]
	}
	l.err = nil // it may be gone, or another's
	return strings.Join(strings.FieldsFunc(shown, between), " ")
}

// TriggerBody is what a trigger does, of the statement that has made it.
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
