package countermysql

import (
	"iter"
	"slices"
	"strings"
)

// lexMode is the part of sql_mode that changes where tokens begin and end.
type lexMode struct {
	ansiQuotes         bool  // "x" is an identifier
	noBackslashEscapes bool  // a backslash is a plain character
	doubles            leads // of the connection's character set, if the second byte of a character may be an ASCII one
}

// leads says which bytes begin a character of two bytes, where the second may be a
// backslash or a backquote. It is a number because it is part of every plan's key.
type leads uint8

const (
	leadsNone leads = iota
	leadsBig5
	leadsChinese
	leadsJapanese
)

var leadsOf = map[string]leads{"big5": leadsBig5, "cp932": leadsJapanese, "gb18030": leadsChinese, "gbk": leadsChinese, "sjis": leadsJapanese}

func (l leads) begin(b byte) bool {
	switch l {
	case leadsBig5:
		return 0xA1 <= b && b <= 0xF9
	case leadsChinese:
		return 0x81 <= b && b <= 0xFE
	case leadsJapanese:
		return 0x81 <= b && b <= 0x9F || 0xE0 <= b && b <= 0xFC
	}
	return false
}

// doubled reports whether the bytes at i and i+1 are one character.
func (m lexMode) doubled(s string, i int) bool {
	return m.doubles != leadsNone && s[i] > 0x80 && i+1 < len(s) && s[i+1] >= 0x40 && s[i+1] != 0x7F && m.doubles.begin(s[i])
}

type tokenKind uint8

const (
	tokWord    tokenKind = iota // a bare identifier or a keyword
	tokName                     // an identifier for sure: `x`, "x" under ANSI_QUOTES, x behind a point
	tokString                   // 'x', "x", x'00', N'x'
	tokNumber                   // 1, 1.5, 1e3, 0x1F
	tokParam                    // ?
	tokVar                      // @v, @@v
	tokPunct                    // any other single byte
	tokHint                     // /*+ … */
	tokVersion                  // /*! … */ and /*M! … */: code for some servers
)

// token is a piece of a statement, text[start:end].
type token struct {
	kind       tokenKind
	start, end int
	name       string // an identifier's name without quotes; a variable's without @@; a number; a punctuation byte; else ""
}

// is reports whether the token is the bare word w, which must be upper case.
func (t token) is(w string) bool { return t.kind == tokWord && strings.EqualFold(t.name, w) }

// punct reports whether the token is the punctuation byte p.
func (t token) punct(p byte) bool { return t.kind == tokPunct && t.name[0] == p }

// ident reports whether the token can be an identifier.
func (t token) ident() bool { return t.kind == tokWord || t.kind == tokName }

// variable is the name of a variable without its scope.
func (t token) variable() string { return t.name[strings.LastIndexByte(t.name, '.')+1:] }

// doubleQuoted is what stands in double quotes: a string here, and a name to a session
// under ANSI_QUOTES.
func (t token) doubleQuoted(text string) (name string, ok bool) {
	if t.kind != tokString || text[t.start] != '"' {
		return "", false
	}
	return strings.ReplaceAll(strings.Trim(text[t.start:t.end], `"`), `""`, `"`), true
}

// wordAt reports whether token i is there, and the bare word.
func wordAt(toks []token, i int, word string) bool { return i < len(toks) && toks[i].is(word) }

// hasWord reports whether one of the bare words is among the tokens.
func hasWord(toks []token, words ...string) bool {
	return slices.ContainsFunc(toks, func(t token) bool { return slices.ContainsFunc(words, t.is) })
}

// twice reports whether the bare word is there more than once.
func twice(toks []token, word string) bool {
	first := slices.IndexFunc(toks, func(t token) bool { return t.is(word) })
	return first >= 0 && hasWord(toks[first+1:], word)
}

// nest is what a scan knows of a text, and of each parenthesis that is open in it.
type nest[T any] []T

func (n nest[T]) top() *T { return &n[len(n)-1] }

// follow reports whether the token opens a parenthesis, of which inner is known, or
// closes one.
func (n *nest[T]) follow(t token, inner T) bool {
	switch {
	case t.punct('('):
		*n = append(*n, inner)
	case t.punct(')') && len(*n) > 1:
		*n = (*n)[:len(*n)-1]
	default:
		return false
	}
	return true
}

// outermost are the tokens outside parentheses, with their places.
func outermost(toks []token) iter.Seq2[int, token] {
	return func(yield func(int, token) bool) {
		depth := 0
		for i, t := range toks {
			switch {
			case t.punct('('):
				depth++
			case t.punct(')'):
				depth--
			case depth <= 0 && !yield(i, t):
				return
			}
		}
	}
}

// assigns reports whether := stands at token i.
func assigns(toks []token, i int) bool {
	return toks[i].punct(':') && i+1 < len(toks) && toks[i+1].punct('=')
}

// tokenize splits a statement as the server's lexer does
// (https://dev.mysql.com/doc/refman/8.4/en/language-structure.html).
// It never fails: what is left open runs to the end of the text.
func tokenize(text string, mode lexMode) []token {
	toks := make([]token, 0, len(text)/4+4)
	for i := 0; i < len(text); {
		if end := skipBlank(text, i); end > i {
			i = end
			continue
		}
		t := nextToken(text, i, mode)
		if n := len(toks); n > 0 && t.kind == tokWord && toks[n-1].punct('.') && toks[n-1].end == t.start {
			t.kind = tokName // even if it is a reserved word
		}
		toks = append(toks, t)
		i = t.end
	}
	return toks
}

// skipBlank returns the end of the white space or ordinary comment at i, or i.
func skipBlank(s string, i int) int {
	switch c := s[i]; {
	case c <= ' ' || c == 0x7f:
		return i + 1
	case c == '#',
		c == '-' && strings.HasPrefix(s[i:], "--") && (i+2 == len(s) || s[i+2] <= ' '):
		if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
			return i + n + 1
		}
		return len(s)
	case c == '/' && strings.HasPrefix(s[i:], "/*"):
		if rest := s[i+2:]; strings.HasPrefix(rest, "!") || strings.HasPrefix(rest, "M!") || strings.HasPrefix(rest, "+") {
			return i
		}
		return closeComment(s, i)
	}
	return i
}

func closeComment(s string, i int) int {
	if n := strings.Index(s[i+2:], "*/"); n >= 0 {
		return i + 2 + n + 2
	}
	return len(s)
}

func nextToken(s string, i int, mode lexMode) token {
	c := s[i]
	switch {
	case c == '/' && strings.HasPrefix(s[i:], "/*"):
		kind := tokVersion
		if s[i+2] == '+' {
			kind = tokHint
		}
		return token{kind: kind, start: i, end: closeComment(s, i)}
	case c == '`' || c == '"' && mode.ansiQuotes:
		end := closeQuote(s, i, true, mode)
		q := string(c)
		inner := strings.TrimSuffix(s[i+1:end], q)
		return token{tokName, i, end, strings.ReplaceAll(inner, q+q, q)}
	case c == '\'' || c == '"':
		return token{kind: tokString, start: i, end: closeQuote(s, i, mode.noBackslashEscapes, mode)}
	case c == '?':
		return token{kind: tokParam, start: i, end: i + 1}
	case c == '@':
		return variable(s, i, mode)
	case isDigit(c), c == '.' && i+1 < len(s) && isDigit(s[i+1]) && (i == 0 || !isWordByte(s[i-1]) && s[i-1] != '`' && s[i-1] != '.'):
		return number(s, i)
	case isWordByte(c):
		end := endOfWord(s, i, mode)
		if end-i == 1 && end < len(s) && s[end] == '\'' && strings.IndexByte("xXbBnN", c) >= 0 {
			return token{kind: tokString, start: i, end: closeQuote(s, end, mode.noBackslashEscapes, mode)}
		}
		return token{tokWord, i, end, s[i:end]}
	}
	return token{tokPunct, i, i + 1, s[i : i+1]}
}

// endOfWord returns the end of the word that begins at i.
func endOfWord(s string, i int, mode lexMode) int {
	for ; i < len(s) && isWordByte(s[i]); i++ {
		if mode.doubled(s, i) {
			i++
		}
	}
	return i
}

// closeQuote returns the end of the quoted text that begins at i.
func closeQuote(s string, i int, literal bool, mode lexMode) int {
	q := s[i]
	for i++; i < len(s); i++ {
		switch {
		case mode.doubled(s, i):
			i++
		case s[i] == '\\' && !literal:
			i++
		case s[i] == q && i+1 < len(s) && s[i+1] == q:
			i++
		case s[i] == q:
			return i + 1
		}
	}
	return len(s)
}

func variable(s string, i int, mode lexMode) token {
	end := i + 1
	if end < len(s) && s[end] == '@' {
		end++
	}
	if end < len(s) && strings.IndexByte("`'\"", s[end]) >= 0 {
		return token{kind: tokVar, start: i, end: closeQuote(s, end, s[end] == '`', mode)}
	}
	for at := -1; at < end; {
		if at = end; end < len(s) && s[end] == '.' {
			end++
		}
		end = endOfWord(s, end, mode)
	}
	return token{tokVar, i, end, strings.TrimPrefix(s[i:end], "@@")}
}

// number reads a number, or an identifier that begins with digits. A point goes with
// digits alone: in 0a.likes it stands behind a table's name.
func number(s string, i int) token {
	end := i
	for end < len(s) && isWordByte(s[end]) {
		if isExponent(s, end, true) && strings.Trim(s[i:end], "0123456789") == "" { // or it is 0x1e-2
			end++
		}
		end++
	}
	if end < len(s) && s[end] == '.' && (i == 0 || s[i-1] != '.') && strings.Trim(s[i:end], "0123456789") == "" {
		end = endOfDigits(s, end+1)
		if isExponent(s, end, true) || isExponent(s, end, false) {
			end = endOfDigits(s, end+2)
		}
	}
	word := s[i:end]
	if strings.Trim(word, "0123456789.") == "" || strings.HasPrefix(word, "0x") || strings.HasPrefix(word, "0b") || exponent(word) {
		return token{tokNumber, i, end, word}
	}
	return token{tokWord, i, end, word}
}

// isExponent reports whether e and digits stand at i, with or without a sign.
func isExponent(s string, i int, signed bool) bool {
	if i+1 >= len(s) || s[i] != 'e' && s[i] != 'E' {
		return false
	}
	if signed {
		return (s[i+1] == '+' || s[i+1] == '-') && i+2 < len(s) && isDigit(s[i+2])
	}
	return isDigit(s[i+1])
}

func endOfDigits(s string, i int) int {
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i
}

func exponent(word string) bool {
	mantissa, exp, ok := strings.Cut(strings.ToLower(word), "e")
	return ok && strings.Trim(mantissa, "0123456789.") == "" && strings.Trim(exp, "0123456789+-") == "" && exp != ""
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || isDigit(c) || c == '_' || c == '$' || c >= 0x80
}
