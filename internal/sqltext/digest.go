package sqltext

import (
	"fmt"
	"strings"
)

// Digest is a statement's text for the log: short, and without its literals.
func Digest(text string) string {
	var b strings.Builder
	at := 0
	for _, t := range Tokenize(text, Mode{}) {
		if b.Len() > 200 {
			return b.String() + "…"
		}
		if t.Start > at && b.Len() > 0 {
			b.WriteByte(' ')
		}
		at = t.End
		if t.Kind == String || t.Kind == Number {
			b.WriteByte('?')
			continue
		}
		fmt.Fprint(&b, text[t.Start:t.End])
	}
	return b.String()
}

// Excerpt quotes what a user wrote, shortened if it is long.
func Excerpt(s string) string {
	const limit = 80
	if r := []rune(s); len(r) > limit {
		s = string(r[:limit]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
