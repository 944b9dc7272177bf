package sqltext

import (
	"iter"
	"slices"
	"strings"
)

// Mode is the part of sql_mode that changes where tokens begin and end.
type Mode struct {
	AnsiQuotes         bool // "x" is an identifier
	NoBackslashEscapes bool // a backslash is a plain character
}

type TokenKind uint8

const (
	Word        TokenKind = iota // a bare identifier or a keyword
	Name                         // an identifier for sure: `x`, "x" under ANSI_QUOTES, x behind a point
	String                       // 'x', "x", x'00', N'x'
	Number                       // 1, 1.5, 1e3, 0x1F
	Param                        // ?
	Variable                     // @v, @@v
	Punctuation                  // any other single byte
	Hint                         // /*+ … */ behind a word that it is for; elsewhere that is a comment
	Versioned                    // /*! … */ and /*M! … */: code for some servers
)

// Token is a piece of a statement, text[start:end].
type Token struct {
	Kind       TokenKind
	Start, End int
	Name       string // an identifier's name without quotes; a variable's without @@; a number; a punctuation byte; else ""
}

// Is reports whether the token is the bare word w, which must be upper case.
func (t Token) Is(w string) bool { return t.Kind == Word && strings.EqualFold(t.Name, w) }

// Punct reports whether the token is the punctuation byte p.
func (t Token) Punct(p byte) bool { return t.Kind == Punctuation && t.Name[0] == p }

// Ident reports whether the token can be an identifier.
func (t Token) Ident() bool { return t.Kind == Word || t.Kind == Name }

// Variable is the name of a variable without its scope.
func (t Token) Variable() string { return t.Name[strings.LastIndexByte(t.Name, '.')+1:] }

// DoubleQuoted is what stands in double quotes: a string here, and a name to a session
// under ANSI_QUOTES.
func (t Token) DoubleQuoted(text string) (name string, ok bool) {
	if t.Kind != String || text[t.Start] != '"' {
		return "", false
	}
	return strings.ReplaceAll(strings.Trim(text[t.Start:t.End], `"`), `""`, `"`), true
}

// WordAt reports whether token i is there, and the bare word.
func WordAt(toks []Token, i int, word string) bool { return i < len(toks) && toks[i].Is(word) }

// HasWord reports whether one of the bare words is among the tokens.
func HasWord(toks []Token, words ...string) bool {
	return slices.ContainsFunc(toks, func(t Token) bool { return slices.ContainsFunc(words, t.Is) })
}

// Twice reports whether the bare word is there more than once.
func Twice(toks []Token, word string) bool {
	first := slices.IndexFunc(toks, func(t Token) bool { return t.Is(word) })
	return first >= 0 && HasWord(toks[first+1:], word)
}

// Nest is what a scan knows of a text, and of each parenthesis that is open in it.
type Nest[T any] []T

func (n Nest[T]) Top() *T { return &n[len(n)-1] }

// Follow reports whether the token opens a parenthesis, of which inner is known, or
// closes one.
func (n *Nest[T]) Follow(t Token, inner T) bool {
	switch {
	case t.Punct('('):
		*n = append(*n, inner)
	case t.Punct(')') && len(*n) > 1:
		*n = (*n)[:len(*n)-1]
	default:
		return false
	}
	return true
}

// Outermost are the tokens outside parentheses, with their places.
func Outermost(toks []Token) iter.Seq2[int, Token] {
	return func(yield func(int, Token) bool) {
		depth := 0
		for i, t := range toks {
			switch {
			case t.Punct('('):
				depth++
			case t.Punct(')'):
				depth--
			case depth <= 0 && !yield(i, t):
				return
			}
		}
	}
}

// Assigns reports whether := stands at token i.
func Assigns(toks []Token, i int) bool {
	return toks[i].Punct(':') && i+1 < len(toks) && toks[i+1].Punct('=')
}

// AssignsAny reports whether a statement assigns variables.
func AssignsAny(toks []Token) bool {
	for i := range toks {
		if Assigns(toks, i) {
			return true
		}
	}
	return false
}

// Tokenize splits a statement as the server's lexer does
// (https://dev.mysql.com/doc/refman/8.4/en/language-structure.html).
// It never fails: what is left open runs to the end of the text.
func Tokenize(text string, mode Mode) []Token {
	toks := make([]Token, 0, len(text)/4+4)
	for i := 0; i < len(text); {
		if end := skipBlank(text, i); end > i {
			i = end
			continue
		}
		t := nextToken(text, i, mode)
		if n := len(toks); t.Kind == Hint && (n == 0 || !toks[n-1].In(hinted)) {
			i = t.End
			continue
		}
		if n := len(toks); n > 0 && t.Kind == Word && toks[n-1].Punct('.') && toks[n-1].End == t.Start {
			t.Kind = Name // even if it is a reserved word
		}
		toks = append(toks, t)
		i = t.End
	}
	return toks
}

// hinted are the words behind which MySQL's lexer looks for hints
// (https://dev.mysql.com/doc/refman/8.4/en/optimizer-hints.html).
var hinted = WordSet(`SELECT INSERT REPLACE UPDATE DELETE`)

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

func nextToken(s string, i int, mode Mode) Token {
	c := s[i]
	switch {
	case c == '/' && strings.HasPrefix(s[i:], "/*"):
		kind := Versioned
		if s[i+2] == '+' {
			kind = Hint
		}
		return Token{Kind: kind, Start: i, End: closeComment(s, i)}
	case c == '`' || c == '"' && mode.AnsiQuotes:
		end := closeQuote(s, i, true)
		q := string(c)
		inner := strings.TrimSuffix(s[i+1:end], q)
		return Token{Name, i, end, strings.ReplaceAll(inner, q+q, q)}
	case c == '\'' || c == '"':
		return Token{Kind: String, Start: i, End: closeQuote(s, i, mode.NoBackslashEscapes)}
	case c == '?':
		return Token{Kind: Param, Start: i, End: i + 1}
	case c == '@':
		return variable(s, i)
	case isDigit(c), c == '.' && i+1 < len(s) && isDigit(s[i+1]) && (i == 0 || !isWordByte(s[i-1]) && s[i-1] != '`' && s[i-1] != '.'):
		return number(s, i)
	case isWordByte(c):
		end := endOfWord(s, i)
		if end-i == 1 && end < len(s) && s[end] == '\'' && strings.IndexByte("xXbBnN", c) >= 0 {
			return Token{Kind: String, Start: i, End: closeQuote(s, end, mode.NoBackslashEscapes)}
		}
		return Token{Word, i, end, s[i:end]}
	}
	return Token{Punctuation, i, i + 1, s[i : i+1]}
}

// endOfWord returns the end of the word that begins at i.
func endOfWord(s string, i int) int {
	for i < len(s) && isWordByte(s[i]) {
		i++
	}
	return i
}

// closeQuote returns the end of the quoted text that begins at i.
func closeQuote(s string, i int, literal bool) int {
	q := s[i]
	for i++; i < len(s); i++ {
		switch {
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

func variable(s string, i int) Token {
	end := i + 1
	if end < len(s) && s[end] == '@' {
		end++
	}
	if end < len(s) && strings.IndexByte("`'\"", s[end]) >= 0 {
		return Token{Kind: Variable, Start: i, End: closeQuote(s, end, s[end] == '`')}
	}
	for at := -1; at < end; {
		if at = end; end < len(s) && s[end] == '.' {
			end++
		}
		end = endOfWord(s, end)
	}
	return Token{Variable, i, end, strings.TrimPrefix(s[i:end], "@@")}
}

// number reads a number, or an identifier that begins with digits. A point goes with
// digits alone: in 0a.likes it stands behind a table's name.
func number(s string, i int) Token {
	if end := endOfDigits(s, i); end > i && (i == 0 || s[i-1] != '.') && isExponent(s, end) { // 1e0WHERE is two
		end = endOfDigits(s, end+2)
		return Token{Number, i, end, s[i:end]}
	}
	end := endOfWord(s, i)
	if end < len(s) && s[end] == '.' && (i == 0 || s[i-1] != '.') && strings.Trim(s[i:end], "0123456789") == "" {
		end = endOfDigits(s, end+1)
		if isExponent(s, end) {
			end = endOfDigits(s, end+2)
		}
	}
	word := s[i:end]
	if strings.Trim(word, "0123456789.") == "" || strings.HasPrefix(word, "0x") || strings.HasPrefix(word, "0b") || exponent(word) {
		return Token{Number, i, end, word}
	}
	return Token{Word, i, end, word}
}

// isExponent reports whether e and digits stand at i, with or without a sign.
func isExponent(s string, i int) bool {
	if i+1 >= len(s) || s[i] != 'e' && s[i] != 'E' {
		return false
	}
	if s[i+1] == '+' || s[i+1] == '-' {
		i++
	}
	return i+1 < len(s) && isDigit(s[i+1])
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
