package countermysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
)

// call is one execution of a user's statement.
type call struct {
	conn *conn
	planUse
	text string
	args []driver.NamedValue

	merged []driver.NamedValue // with the literals that are parameters of the plan

	stmt *stmt // nil: sent as text
	rows bool  // asked through Query

	tables  bool // views have to be tables
	looking bool // a look is sent in its place
}

func (k *call) binder() binder {
	l := k.conn.literals
	l.interpolated = l.interpolated && k.stmt == nil
	if k.lits != nil && k.merged == nil {
		k.merged = k.lits.merge(k.args)
	}
	if k.merged != nil {
		return binder{l, k.merged}
	}
	return binder{l, k.args}
}

// miscounted reports whether the server will refuse the number of arguments.
func (k *call) miscounted() bool {
	given := len(k.args)
	if k.lits != nil {
		given += len(k.lits.at)
	}
	return given != k.plan.params
}

// interpolated reports whether go-sql-driver sends the text without parameters:
// there are no arguments, or it writes them in, which it does only for as many as
// the text has places.
func (k *call) interpolated() bool {
	return len(k.args) == 0 || k.conn.connector.cfg.InterpolateParams && len(k.args) == parameters(tokenize(k.text, k.conn.session.mode))
}

// floats reports whether the statement is prepared and has had floating-point arguments:
// then it is sent as it is, as another text's parameters would be integers again.
func (k *call) floats() bool { return k.stmt != nil && k.stmt.floating != nil }

// addsFloats reports whether the statement adds one of these to something. Then it is sent
// as it is also at the price of locking more rows than its limit leaves.
func (k *call) addsFloats() bool {
	if now := k.conn.connector.current.Load(); !k.floats() || now == nil || now.server.mariaDB {
		return false
	}
	toks, n := tokenize(k.text, k.conn.session.mode), 0
	sign := func(i, step int) bool {
		for i += step; i >= 0 && i < len(toks) && (toks[i].punct('(') || toks[i].punct(')')); i += step {
		}
		return i >= 0 && i < len(toks) && (toks[i].punct('+') || toks[i].punct('-'))
	}
	for i, t := range toks {
		if t.is("WHERE") || n >= len(k.stmt.floating) {
			break
		}
		if t.kind != tokParam {
			continue
		}
		if _, float := k.stmt.floating[n].Value.(float64); float && (sign(i, -1) || sign(i, 1)) {
			return true
		}
		n++
	}
	return false
}

// binary reports whether the answer comes in the binary protocol.
func (k *call) binary() bool {
	return k.stmt != nil || len(k.args) > 0 && !k.conn.connector.cfg.InterpolateParams
}

// own gives a text made from the plan's the literals of the user's.
func (k *call) own(text string) string {
	if k.lits == nil {
		return text
	}
	return k.lits.fill(text, k.conn.session.mode)
}

// summed is the text that reads sums outside transactions, and its arguments.
func (k *call) summed() (string, []driver.NamedValue) {
	if k.tables {
		return k.own(k.query.render(func(viewUse) sight { return sight{} }, true)), k.args
	}
	if top := k.query.top; top != nil {
		if text, args, ok := top.bind(k); ok {
			return text, args
		}
	}
	if short := k.query.short; short != nil {
		if text, args, ok := short.bind(k); ok {
			return text, args
		}
	}
	return k.own(k.query.sql), k.args
}

// makesSense has the server look at the user's statement before rows are locked for
// it: one that is wrong locks nothing.
func (k *call) makesSense(ctx context.Context) error {
	if k.stmt != nil || !k.rows && !k.conn.implies() || k.conn.connector.cfg.MultiStatements { // several can't be prepared
		return nil
	}
	err := k.prepares(ctx)
	if errorNumber(err) == errNotPreparable {
		return nil
	}
	return err
}

// prepares has the server prepare the user's statement.
func (k *call) prepares(ctx context.Context) error {
	s, err := k.conn.raw.(driver.ConnPrepareContext).PrepareContext(ctx, k.text)
	if err != nil {
		return err
	}
	return s.Close()
}

// explained is the error that the server has for the statement itself, after error n for
// what was sent; nil if it has none.
func (k *call) explained(ctx context.Context, n uint16) error {
	if k.rows && k.stmt == nil && (n == errNotSupported || k.conn.readOnly() || k.conn.session.readOnly) { // MariaDB may crash when it has prepared one that it does not support; the exact way is barred
		return k.told(ctx, nil)
	}
	err := k.makesSense(ctx)
	if k.rows && notResolved[errorNumber(err)] {
		return k.told(ctx, err)
	}
	return k.conn.noted(err)
}

// refused has the server refuse the statement itself where that may begin a
// transaction, which to lock rows for it would always do.
func (k *call) refused(ctx context.Context, why error) error {
	if !k.conn.implies() {
		return why
	}
	return k.told(ctx, why)
}

// told sends the statement itself for its error: of several mistakes MariaDB tells
// another of one that is prepared.
func (k *call) told(ctx context.Context, why error) error {
	out, err := k.forward(ctx, k.text)
	if err != nil {
		return err
	}
	if err := out.close(); err != nil {
		return err
	}
	return why
}

// parses has the server look whether the text is a statement at all.
func (k *call) parses(ctx context.Context) error {
	err := k.prepares(ctx)
	k.conn.overlook(err)
	if errorNumber(err) == errSyntax {
		return err
	}
	return nil // what else is wrong with it comes after the COMMIT
}

// misspelt is the error that comes before the one that says that nothing may be
// written: of a text that is no statement at all, so that it was taken for one that writes.
func (k *call) misspelt(ctx context.Context, err error) error {
	n := errorNumber(err)
	if n == 0 || n != errReadOnly && n != errReadOnlyServer && !denied[n] || k.plan.class != exact || k.stmt != nil ||
		len(statements(k.text, tokenize(k.text, k.conn.session.mode))) > 1 { // several can't be prepared
		return nil
	}
	return k.parses(ctx)
}

// forward sends the user's statement, or what stands in its place, the way the
// user sent it: as text, with arguments, or prepared.
func (k *call) forward(ctx context.Context, text string) (outcome, error) {
	return k.forwardWith(ctx, text, k.args)
}

func (k *call) forwardWith(ctx context.Context, text string, args []driver.NamedValue) (outcome, error) {
	out, err := k.try(ctx, text, args)
	if errors.Is(err, driver.ErrSkip) {
		out, err = k.prepared(ctx, text, args)
	}
	out.rows = k.conn.watched(out.rows)
	return out, k.conn.noted(err)
}

func (k *call) try(ctx context.Context, text string, args []driver.NamedValue) (out outcome, err error) {
	switch {
	case k.stmt != nil && k.query != nil && k.query.once && !k.looking:
		return out, driver.ErrSkip
	case k.stmt != nil:
		physical, err := k.stmt.physical(ctx, text)
		if err != nil {
			return out, err
		}
		return run(ctx, physical, args, k.rows)
	case k.rows:
		out.rows, err = k.conn.queryer.QueryContext(ctx, text, args)
	default:
		out.res, err = k.conn.execer.ExecContext(ctx, text, args)
	}
	return out, err
}

func run(ctx context.Context, s driver.Stmt, args []driver.NamedValue, rows bool) (out outcome, err error) {
	if rows {
		out.rows, err = s.(driver.StmtQueryContext).QueryContext(ctx, args)
	} else {
		out.res, err = s.(driver.StmtExecContext).ExecContext(ctx, args)
	}
	return out, err
}

// prepared does what database/sql does after ErrSkip, so that nothing that
// went before is done a second time.
func (k *call) prepared(ctx context.Context, text string, args []driver.NamedValue) (outcome, error) {
	s, err := k.conn.raw.(driver.ConnPrepareContext).PrepareContext(ctx, text)
	if err != nil {
		return outcome{}, err
	}
	if n := s.NumInput(); n >= 0 && n != len(args) {
		s.Close()
		return outcome{}, fmt.Errorf("sql: expected %d arguments, got %d", n, len(args))
	}
	out, err := run(ctx, s, args, k.rows)
	if err != nil || !k.rows {
		s.Close()
		return out, err
	}
	out.rows = &countedRows{physicalRows: out.rows.(physicalRows), finish: closing(s)}
	return out, nil
}
