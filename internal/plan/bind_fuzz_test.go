package plan

import (
	"bytes"
	"database/sql/driver"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/catalogtest"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// hostile are values that try to be more than values.
var hostile = []string{"", "a", "it's", `\`, `\'`, `x\' OR 1=1 -- `, `" OR ""="`, "'; DROP TABLE post; --", "/*! SELECT 1 */", "a\x00b", "é", "ａ", "\xff\xfe", "?", "`", "'", "''", "x' COLLATE utf8mb4_bin #",
	"\u2028", "\xbf'", "\xbf\\'", "1e5", "0x41", "NULL", "CURRENT_DATE", "CURRENT_DATE()", "9007199254740993", "-1", "2026-01-02"}

// FuzzLiteral proves that a value written into SQL text is one token that says
// exactly the value, whatever it holds.
func FuzzLiteral(f *testing.F) {
	for _, s := range hostile {
		f.Add(s, "utf8mb4", false)
		f.Add(s, "latin1", true)
	}
	f.Fuzz(func(t *testing.T, s, charset string, literal bool) {
		if charset != "utf8mb4" && charset != "utf8mb3" {
			charset = "latin1"
		}
		mode := sqltext.Mode{NoBackslashEscapes: literal}
		text := string(sqltext.Encoder{Charset: charset, NoBackslashEscapes: literal}.String(nil, s))
		toks := sqltext.Tokenize(text, mode)
		last := toks[len(toks)-1]
		if len(toks) > 2 || last.Kind != sqltext.String || last.End != len(text) || len(toks) == 2 && (toks[0].Kind != sqltext.Word || toks[0].Name[0] != '_') {
			t.Fatalf("%q is written as %q: %v", s, text, toks)
		}
		got := text[last.Start+1 : last.End-1]
		if strings.HasPrefix(text[last.Start:], "x'") {
			raw, err := hex.DecodeString(got[1:])
			if err != nil {
				t.Fatal(err)
			}
			got = string(raw)
		} else {
			got = strings.ReplaceAll(got, "''", "'")
			if !literal {
				got = strings.NewReplacer(`\\`, `\`, `\0`, "\x00").Replace(got)
			}
		}
		if got != s {
			t.Fatalf("%q is written as %q, which says %q", s, text, got)
		}
	})
}

// FuzzIdent proves that a name written into SQL text is one token that says
// exactly the name.
func FuzzIdent(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if s == "" {
			return
		}
		text := sqltext.Quote(s)
		toks := sqltext.Tokenize(text, sqltext.Mode{})
		if len(toks) != 1 || toks[0].Kind != sqltext.Name || toks[0].Name != s || toks[0].End != len(text) {
			t.Fatalf("%q is written as %q: %v", s, text, toks)
		}
	})
}

// bindTexts are increments with a string, a number and a time among their parameters.
var bindTexts = []string{
	"UPDATE post SET likes = likes + ? WHERE slug = ? AND deleted_at = ?",
	"UPDATE post SET likes = likes + ? WHERE title = ? AND id = 3 AND deleted_at < ?",
	"UPDATE post SET views = views - ? WHERE slug IN (?, 'a', ?)",
	"UPDATE page SET hits = hits + ? WHERE page = ? AND day = ?",
	"UPDATE item SET stock = stock + ? WHERE name = ? AND id = 1 AND ? IS NOT NULL",
	"INSERT INTO page (hits, page, day) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE hits = hits + VALUES(hits)",
}

// FuzzBind proves that arguments never change what a statement of ours is: with
// any of them it has the tokens that it has with harmless ones.
func FuzzBind(f *testing.F) {
	for i, s := range hostile {
		f.Add(uint8(i), s, int64(i-3), int64(i*1e9), false, i%2 == 0, uint8(i))
	}
	schemas := []*catalog.Schema{catalogtest.Forum(false), catalogtest.Forum(true)}
	f.Fuzz(func(t *testing.T, which uint8, s string, n, at int64, literal, interpolated bool, how uint8) {
		mode := sqltext.Mode{NoBackslashEscapes: literal}
		text := bindTexts[int(which)%len(bindTexts)]
		third := []driver.Value{time.Unix(at%1e11, at%1000*1000).UTC(), s, []byte(s), n, nil, true, 1.5, uint64(n)}[int(how)%8]
		second := []driver.Value{s, []byte(s)}[int(how)/8%2]
		for _, sc := range schemas {
			p := NewPlan(sc, text, mode, "forum")
			inc := p.Increment()
			if inc == nil {
				t.Fatalf("no increment: %s", text)
			}
			bind := func(args ...driver.Value) (string, bool) {
				b := Binder{Encoder: sqltext.Encoder{Charset: "utf8mb4", Loc: time.UTC, NoBackslashEscapes: literal, Interpolated: interpolated}, Args: numbered(args)}
				out, ok := inc.Bind(b)
				if !ok || out.Zero {
					return "", false
				}
				all := strings.Join(out.Conditions, " AND ")
				var fill Filler
				if inc.One {
					if !fill.Bind(inc, b) {
						return "", false
					}
					stmt, ok := fill.Statement("", catalog.ShareMode, 3)
					if !ok {
						return "", false
					}
					all += ";" + stmt
				}
				if !inc.Joins {
					return all, true
				}
				e, ok := fill.Entry()
				if !ok {
					return all, true
				}
				u := &slotsql.Upsert{Table: inc.Table, Name: inc.Name, Columns: inc.Keys[0].Columns, Entries: []*slotsql.RowIncrement{e, e}, Lock: catalog.ShareMode, Slot: 3}
				_ = u.Culprits(u.Table.SkipLocked())
				return all + ";" + u.Many(), true
			}
			got, ok := bind(n, second, third)
			if !ok {
				return
			}
			shape := func(text string) string {
				var b bytes.Buffer
				for _, tok := range sqltext.Tokenize(text, mode) {
					switch {
					case tok.Kind == sqltext.String, tok.Kind == sqltext.Number, tok.Kind == sqltext.Word && (tok.Name[0] == '_' || tok.Is("NULL") || tok.Is("TRUE")), tok.Punct('-'):
						continue // values
					case tok.Kind == sqltext.Versioned, tok.Kind == sqltext.Param, tok.Kind == sqltext.Variable:
						t.Fatalf("%q came into %q", text[tok.Start:tok.End], text)
					}
					b.WriteString(text[tok.Start:tok.End] + " ")
				}
				return b.String()
			}
			harmless := third
			switch third.(type) {
			case string:
				harmless = "2026-01-02"
			case []byte:
				harmless = []byte("2026-01-02")
			}
			want, ok := bind(int64(1), []driver.Value{"a", []byte("a")}[int(how)/8%2], harmless)
			if !ok {
				return
			}
			a, b := shape(got), shape(want)
			if strings.Contains(got, "UNION ALL") == strings.Contains(want, "UNION ALL") && a != b {
				t.Fatalf("%q %q %v:\n%s\ninstead of\n%s", text, s, third, got, want)
			}
		}
	})
}

// numbered are arguments as database/sql hands them on.
func numbered(args []driver.Value) []driver.NamedValue {
	all := make([]driver.NamedValue, len(args))
	for i, v := range args {
		all[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return all
}
