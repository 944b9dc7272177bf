package plan

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// statement is a statement as text: its tokens and its parameters.
type statement struct {
	server catalog.Server // which is to read it
	text   string
	mode   sqltext.Mode
	toks   []sqltext.Token
	params parameters
}

func newStatement(server catalog.Server, text string, mode sqltext.Mode) *statement {
	st := &statement{server: server, text: text, mode: mode, toks: sqltext.Tokenize(text, mode), params: parameters{}}
	for _, t := range st.toks {
		if t.Kind == sqltext.Param {
			st.params[t.Start] = len(st.params)
		}
	}
	return st
}

// onlyReads reports whether the first word tells a query.
func (st *statement) onlyReads() bool {
	for _, t := range st.toks {
		if !t.Punct('(') {
			return t.Is("SELECT") || t.Is("TABLE") || t.Is("VALUES")
		}
	}
	return true
}

// fromQuery reports whether CREATE TABLE fills the table: from SELECT, or from TABLE t.
func (st *statement) fromQuery() bool {
	return sqltext.HasWord(st.toks, "SELECT") || sqltext.Twice(st.toks, "TABLE")
}

// returns reports whether RETURNING may give a counter or touch column of the base row.
func (st *statement) returns(t *catalog.Table) bool {
	at := slices.IndexFunc(st.toks, func(tok sqltext.Token) bool { return tok.Is("RETURNING") })
	return at >= 0 && slices.ContainsFunc(st.toks[at:], func(tok sqltext.Token) bool {
		return tok.Punct('*') || tok.Ident() && t.Virtual(tok.Name)
	})
}

// mayIgnore reports whether the statement may cut what the session would refuse:
// by IGNORE, or by a hint that sets variables for it.
func (st *statement) mayIgnore(ignore bool) bool {
	return ignore || slices.ContainsFunc(st.toks, func(t sqltext.Token) bool {
		return t.Kind == sqltext.Hint && strings.Contains(strings.ToUpper(st.text[t.Start:t.End]), "SET_VAR")
	})
}

// actsTwice reports whether it makes a difference that a query is sent twice, or what was
// sent before it: it may change something, or ask for that. What is locked must be locked
// once.
func (st *statement) actsTwice() bool {
	for i := range st.toks {
		if sqltext.Locks(st.toks, i) {
			return true
		}
	}
	return st.acts()
}

// acts reports whether a query may do more than to read and lock. PROCEDURE makes other columns.
func (st *statement) acts() bool {
	return slices.ContainsFunc(st.toks, func(t sqltext.Token) bool {
		return t.Is("PROCEDURE") || t.Kind == sqltext.Variable
	}) || sqltext.ActsSomewhere(st.toks) || sqltext.Calls(st.toks)
}

// star reports whether a select list takes all columns: t.*, or * at its beginning.
func (st *statement) star() bool {
	for i, t := range st.toks[1:] {
		if before := st.toks[i]; t.Punct('*') && (before.Punct('.') || before.Is("SELECT") || before.In(selectOptions) || before.Kind == sqltext.Hint) {
			return true
		}
	}
	return false
}

// mayFailPerRow reports whether the query may fail for a row's sake: what it computes is out
// of range, a subquery has several rows. Where sums are sorted or joined the servers
// compute that for rows, too, that a LIMIT, a HAVING or another condition leaves out.
func (st *statement) mayFailPerRow(stmt ast.Node) bool {
	for i := range st.toks {
		if sqltext.Acts(st.toks, i) || sqltext.Assigns(st.toks, i) {
			return false // to be done once
		}
	}
	return !every(stmt, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryOperationExpr:
			return !slices.Contains(arithmetic, n.Op)
		case *ast.UnaryOperationExpr:
			return n.Op != opcode.Minus
		case *ast.FuncCallExpr, *ast.FuncCastExpr, *ast.SubqueryExpr:
			return false
		}
		return true
	})
}

var arithmetic = []opcode.Op{opcode.Plus, opcode.Minus, opcode.Mul, opcode.Div, opcode.IntDiv, opcode.Mod}

// template cuts text[start:end] at its parameters.
func (st *statement) template(start, end int) Template {
	var f Template
	at := start
	for _, t := range st.toks {
		if t.Kind == sqltext.Param && t.Start >= start && t.End <= end {
			f.pieces = append(f.pieces, st.text[at:t.Start])
			f.params = append(f.params, st.params[t.Start])
			at = t.End
		}
	}
	f.pieces = append(f.pieces, st.text[at:end])
	return f
}

// restate makes a text of the statement's arguments.
func (st *statement) restate(text string, params []int) *restated {
	return &restated{cut(text, st.mode, params), len(st.params)}
}

// lastToken is the last but for semicolons.
func (st *statement) lastToken() int {
	last := len(st.toks) - 1
	for st.toks[last].Punct(';') {
		last--
	}
	return last
}

// tokensIn are the tokens of text[start:end].
func (st *statement) tokensIn(start, end int) []sqltext.Token {
	first, last := 0, len(st.toks)-1
	for st.toks[first].Start < start {
		first++
	}
	for st.toks[last].End > end {
		last--
	}
	return st.toks[first : last+1]
}
