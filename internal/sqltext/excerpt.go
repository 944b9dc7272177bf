package sqltext

import "fmt"

// Excerpt quotes what a user wrote, shortened if it is long.
func Excerpt(s string) string {
	const limit = 80
	if r := []rune(s); len(r) > limit {
		s = string(r[:limit]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
