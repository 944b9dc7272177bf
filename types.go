package countermysql

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
func (c *conn) asPlain(rows driver.Rows, k *call, known answer.Types) driver.Rows {
	r := answer.Over(rows)
	r.Plain = answer.Plain{
		Types:    func() answer.Types { return known },
		Renamed:  k.Plan.Sum().Renamed || c.connector.cfg.ColumnsWithAlias,
		Binary:   k.binary(),
		Computed: k.Plan.Sum().Computes(),
		Whole:    k.whole,
	}
	if known == nil {
		r.Types = func() answer.Types { return c.columnTypes(k) }
	}
	return r
}

// whole reports whether the query has parameters, and its arguments are integers. A variable
// of the user's may be anything.
func (k *call) whole() bool {
	return len(k.args) > 0 && !slices.ContainsFunc(k.args, func(v driver.NamedValue) bool { return !isInteger(v) }) &&
		!slices.ContainsFunc(sqltext.Tokenize(k.text, k.conn.Settings.Mode), func(t sqltext.Token) bool { return t.Kind == sqltext.Variable })
}

// columnTypes are those of the query as it was written; the first who needs
// them asks the server. nil: it can't be asked.
func (c *conn) columnTypes(k *call) answer.Types {
	if k.Plan.Sum().NamedByArgs && !k.binary() {
		return c.askTypes(k)
	}
	return k.state.types.Get(c.connector.watcher.DDL(), c.Settings.SQLMode, func() answer.Types { return c.askTypes(k) })
}

// temporaryTypes are those of a query that names a temporary table, which its session
// alone knows: asked before it is sent, as nothing can be while its rows are read.
func (c *conn) temporaryTypes(ctx context.Context, k *call) answer.Types {
	switch q := k.Plan.Sum(); {
	case q == nil || q.Into || !k.rows || !c.ddl.NamesTemporary(k.text):
		return nil
	case c.Next != "" && !c.InTransaction():
		return nil // SET TRANSACTION is for the query itself
	case sqltext.AssignsWithin(sqltext.Tokenize(k.text, c.Settings.Mode)):
		return nil // a derived table is evaluated even if no row is returned
	}
	types, err := k.typesOn(ctx, c.Raw)
	c.Overlook(err)
	return types
}

// askTypes asks on a look-up connection.
func (c *conn) askTypes(k *call) (types answer.Types) {
	look, err := c.connector.lookups.DB()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := look.Conn(ctx)
	if err != nil {
		return nil
	}
	defer conn.Close()
	if c.Settings.DB != c.Initial.DB || c.Settings.SQLMode != c.Initial.SQLMode {
		defer func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }() // nobody else may have it
		for _, set := range []string{"SET SESSION sql_mode = '" + c.Settings.SQLMode + "'", "USE " + sqltext.Quote(c.Settings.DB)} {
			if _, err := conn.ExecContext(ctx, set); err != nil {
				return nil
			}
		}
	}
	if sqltext.CallsWithin(sqltext.Tokenize(k.text, c.Settings.Mode)) { // a function of the application's may write
		if _, err := conn.ExecContext(ctx, "START TRANSACTION READ ONLY"); err != nil {
			return nil
		}
		defer func() { _, _ = conn.ExecContext(ctx, session.RollbackOnly) }()
	}
	_ = conn.Raw(func(raw any) error {
		types, _ = k.typesOn(ctx, raw.(*lookups.Conn).Conn)
		return nil
	})
	return types
}

// typesOn asks what the server would answer to the query as it was written,
// without a row of it.
func (k *call) typesOn(ctx context.Context, conn driver.Conn) (answer.Types, error) {
	if sqltext.ActsWithin(sqltext.Tokenize(k.text, k.conn.Settings.Mode)) {
		return nil, nil
	}
	ask := answer.NewQuestion(k.text, k.conn.Settings.Mode)
	args := k.args[:min(ask.Params, len(k.args))]
	var rows driver.Rows
	err := driver.ErrSkip
	if k.stmt == nil {
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
