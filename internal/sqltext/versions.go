package sqltext

import "strings"

// Opened is a text with what stands in its version comments as code, as for a server that runs them all.
func Opened(text string, mode Mode) string {
	if !strings.Contains(text, "/*") {
		return text
	}
	opened := []byte(text)
	for _, t := range Tokenize(text, mode) {
		if t.Kind == Versioned {
			code := strings.TrimPrefix(strings.TrimPrefix(text[t.Start+2:t.End], "M"), "!")
			code = strings.TrimSuffix(strings.TrimLeft(code, "0123456789"), "*/")
			copy(opened[t.Start:t.End], strings.Repeat(" ", t.End-t.Start-len(code))+code)
		}
	}
	return string(opened)
}
