package countermysql

import (
	"context"
	"database/sql/driver"
	"slices"
	"strings"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// typing knows the column types of a prepared query that MySQL is given. There they
// depend on all executions: a parameter stays what an argument has made of it for as
// long as the next ones fit (WL#9384). So a statement of its own gets the same arguments,
// in their order, and is asked again where they are of other kinds than before.
type typing struct {
	stmt  driver.Stmt // the query as it was written, without rows
	ask   question
	kinds string // of the last arguments
	known knownTypes
}

// typed are the column types after the arguments of a call; nil if they can't be asked
// so.
func (s *stmt) typed(ctx context.Context, k *call) []columnType {
	if s.typing == nil {
		toks := sqltext.Tokenize(k.text, k.conn.session.mode)
		if !s.current() || sqltext.ActsWithin(toks) || sqltext.CallsWithin(toks) {
			return nil
		}
		ask := k.question().with(sqltext.Parameters(toks))
		raw, err := s.conn.raw.(driver.ConnPrepareContext).PrepareContext(ctx, ask.text)
		if err != nil {
			s.conn.overlook(err)
			return nil
		}
		s.typing = &typing{stmt: raw, ask: ask}
	}
	t, kinds, ddl := s.typing, kindsOf(k.args), s.conn.connector.ddl.Load()
	if t.known.types != nil && t.kinds == kinds && t.known.ddl == ddl && time.Since(t.known.asked) <= catalog.SchemaAge && !slices.ContainsFunc(k.args, isText) {
		return t.known.types
	}
	t.known = knownTypes{nil, time.Now(), ddl}
	rows, err := t.stmt.(driver.StmtQueryContext).QueryContext(ctx, t.ask.without(k.args))
	if err == nil {
		t.kinds = kinds
		t.known.types, err = t.ask.answered(rows)
	}
	s.conn.overlook(err)
	return t.known.types
}

// with makes room for all parameters, those of a LIMIT included: they, too, can have
// MySQL look at the statement anew.
func (q question) with(params int) question {
	switch params - q.params {
	case 1:
		q.text += " OFFSET ?"
	case 2:
		q.text = strings.TrimSuffix(q.text, "0") + "?, ?"
	}
	q.asksRows = params-q.params == 2
	q.params = params
	return q
}

// without are the arguments that ask for no rows, of the same types.
func (q question) without(args []driver.NamedValue) []driver.NamedValue {
	if !q.asksRows || len(args) < q.params {
		return args
	}
	args = slices.Clone(args)
	switch last := &args[q.params-1]; last.Value.(type) {
	case int64:
		last.Value = int64(0)
	case uint64:
		last.Value = uint64(0)
	case float64:
		last.Value = 0.0
	case string, []byte:
		last.Value = "0"
	}
	return args
}
