package read

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"time"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/lookups"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// asPlain gives the rows of a rewritten query the column types of the original, those that
// are known or those that it is asked for.
func (r *Reader) asPlain(rows driver.Rows, x *Execution, known answer.Types) driver.Rows {
	out, w := answer.Over(rows), x.written(r)
	out.Plain = answer.Plain{
		Types:    w.types,
		Renamed:  x.Plan.Sum().Renamed || r.Config.ColumnsWithAlias,
		Binary:   w.binary,
		Computed: x.Plan.Sum().Computes(),
		Whole:    w.whole,
	}
	if known != nil {
		out.Types = func() answer.Types { return known }
	}
	return out
}

// written is a query as it was written, which the server is asked about.
type written struct {
	reader   *Reader
	text     string
	args     []driver.NamedValue
	prepared bool
	binary   bool              // the answer comes in the binary protocol
	kept     *answer.KeptTypes // of its plan; nil: they depend on the arguments
}

func (x *Execution) written(r *Reader) *written {
	w := &written{reader: r, text: x.Text, args: x.Args, prepared: x.Prepared, binary: x.Arguments.Binary}
	if w.binary || !x.Plan.Sum().NamedByArgs {
		w.kept = &x.State.types
	}
	return w
}

// whole reports whether the query has parameters, and its arguments are integers. A variable
// of the user's may be anything.
func (w *written) whole() bool {
	return len(w.args) > 0 && !slices.ContainsFunc(w.args, func(v driver.NamedValue) bool { return !isInteger(v) }) &&
		!slices.ContainsFunc(sqltext.Tokenize(w.text, w.reader.Settings.Mode), func(t sqltext.Token) bool { return t.Kind == sqltext.Variable })
}

func isInteger(v driver.NamedValue) bool {
	switch v.Value.(type) {
	case int64, uint64, bool:
		return true
	}
	return false
}

// types are those of the query as it was written; the first who needs
// them asks the server. nil: it can't be asked.
func (w *written) types() answer.Types {
	if w.kept == nil {
		return w.ask()
	}
	return w.kept.Get(w.reader.Watcher.DDL(), w.reader.Settings.SQLMode, w.ask)
}

// temporaryTypes are those of a query that names a temporary table, which its session
// alone knows: asked before it is sent, as nothing can be while its rows are read.
func (r *Reader) temporaryTypes(ctx context.Context, x *Execution) answer.Types {
	switch {
	case x.Plan.Sum().Into || !x.Rows || !x.Temporary:
		return nil
	case r.Next != "" && !r.InTransaction():
		return nil // SET TRANSACTION is for the query itself
	case sqltext.AssignsWithin(sqltext.Tokenize(x.Text, r.Settings.Mode)):
		return nil // a derived table is evaluated even if no row is returned
	}
	types, err := x.written(r).on(ctx, r.Raw)
	r.Overlook(err)
	return types
}

// asking bounds the time that the application waits for types, and askedTimes how often
// the server is asked: it may have no answer for a moment (1615, a statement that was
// prepared while definitions went out of its cache), or the connection may be dead.
const (
	asking     = 5 * time.Second
	askedTimes = 3
)

// ask asks on a look-up connection.
func (w *written) ask() (types answer.Types) {
	ctx, cancel := context.WithTimeout(context.Background(), asking)
	defer cancel()
	for range askedTimes {
		var err error
		if types, err = w.lookedUp(ctx); err == nil {
			break
		}
	}
	return types
}

func (w *written) lookedUp(ctx context.Context) (types answer.Types, err error) {
	r := w.reader
	look, err := r.Lookups.DB()
	if err != nil {
		return nil, err
	}
	conn, err := look.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if r.Settings.DB != r.Initial.DB || r.Settings.SQLMode != r.Initial.SQLMode {
		defer func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }() // nobody else may have it
		for _, set := range []string{"SET SESSION sql_mode = '" + r.Settings.SQLMode + "'", "USE " + sqltext.Quote(r.Settings.DB)} {
			if _, err := conn.ExecContext(ctx, set); err != nil {
				return nil, err
			}
		}
	}
	if sqltext.CallsWithin(sqltext.Tokenize(w.text, r.Settings.Mode)) { // a function of the application's may write
		if _, err := conn.ExecContext(ctx, "START TRANSACTION READ ONLY"); err != nil {
			return nil, err
		}
		defer func() { _, _ = conn.ExecContext(ctx, session.RollbackOnly) }()
	}
	err = conn.Raw(func(raw any) error {
		types, err = w.on(ctx, raw.(*lookups.Conn).Conn)
		return err
	})
	return types, err
}

// on asks what the server would answer to the query as it was written,
// without a row of it.
func (w *written) on(ctx context.Context, conn driver.Conn) (answer.Types, error) {
	if sqltext.ActsWithin(sqltext.Tokenize(w.text, w.reader.Settings.Mode)) {
		return nil, nil
	}
	ask := answer.NewQuestion(w.text, w.reader.Settings.Mode)
	args := w.args[:min(ask.Params, len(w.args))]
	var rows driver.Rows
	err := driver.ErrSkip
	if !w.prepared {
		rows, err = conn.(driver.QueryerContext).QueryContext(ctx, ask.Text, args)
	}
	if errors.Is(err, driver.ErrSkip) {
		var s driver.Stmt
		if s, err = conn.(driver.ConnPrepareContext).PrepareContext(ctx, ask.Text); err != nil {
			return nil, err
		}
		defer s.Close()
		rows, err = s.(driver.StmtQueryContext).QueryContext(ctx, args)
	}
	if err != nil {
		return nil, err
	}
	return ask.Answered(rows)
}
