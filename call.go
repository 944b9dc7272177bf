package countermysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/exact"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/read"
	"github.com/countermysql/countermysql/internal/sqltext"
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

	looking   bool // a look is sent in its place
	explained bool // nothing is sent
	met       bool // it has met what was absent
}

// planAgain plans the statement by the schema as it is known now.
func (k *call) planAgain(ctx context.Context) error {
	p, err := k.conn.planOf(ctx, k.text, k.stmt)
	if err == nil {
		k.planUse, k.merged = p, nil
	}
	return err
}

func (k *call) binder() plan.Binder {
	l := k.conn.Literals
	l.Interpolated = l.Interpolated && k.stmt == nil
	if k.lits != nil && k.merged == nil {
		k.merged = k.lits.Merge(k.args)
	}
	if k.merged != nil {
		return plan.Binder{Encoder: l, Args: k.merged}
	}
	return plan.Binder{Encoder: l, Args: k.args}
}

// exactly is the execution the exact way.
func (k *call) exactly() exact.Execution {
	return exact.Execution{Statement: k, Exact: k.Plan.Exactly(), Plan: k.Plan, Takes: &k.state.takes, Text: k.text, Arguments: k.arguments(), Asked: k.rows}
}

// query is the execution as that of a query.
func (k *call) query() read.Execution {
	return read.Execution{
		Statement: k, Plan: k.Plan, State: &k.state.query, Text: k.text, Args: k.args, Arguments: k.arguments(),
		Rows: k.rows, Prepared: k.stmt != nil, Temporary: k.rows && k.conn.ddl.NamesTemporary(k.text),
	}
}

// arguments are what this execution brings to its plan.
func (k *call) arguments() plan.Arguments {
	return plan.Arguments{Binder: k.binder(), Given: len(k.args), Literals: k.lits, Binary: k.binary(), Sticky: k.stmt != nil && k.stmt.sticks(k.args)}
}

// interpolated reports whether go-sql-driver sends the text without parameters:
// there are no arguments, or it writes them in, which it does only for as many as
// the text has places.
func (k *call) interpolated() bool {
	return len(k.args) == 0 || k.conn.connector.cfg.InterpolateParams && len(k.args) == sqltext.Parameters(sqltext.Tokenize(k.text, k.conn.Settings.Mode))
}

// binary reports whether the answer comes in the binary protocol.
func (k *call) binary() bool {
	return k.stmt != nil || len(k.args) > 0 && !k.conn.connector.cfg.InterpolateParams
}

// Own gives a text made from the plan's the literals of the user's.
func (k *call) Own(text string) string {
	if k.lits == nil {
		return text
	}
	return k.lits.Fill(text, k.conn.Settings.Mode)
}

// parses has the server look whether the text is a statement at all.
func (k *call) parses(ctx context.Context) error {
	s, err := k.conn.Raw.(driver.ConnPrepareContext).PrepareContext(ctx, k.text)
	if err == nil {
		err = s.Close()
	}
	k.conn.Overlook(err)
	if mysqlerr.Number(err) == mysqlerr.ErrSyntax {
		return err
	}
	return nil // what else is wrong with it comes after the COMMIT
}

// Send sends the user's statement, or what stands in its place, the way the
// user sent it: as text, with arguments, or prepared.
func (k *call) Send(ctx context.Context, text string) (answer.Outcome, error) {
	return k.SendWith(ctx, text, k.args)
}

// SendLook sends a text made from the plan's in place of a query that is to be answered at once,
// if it may be.
func (k *call) SendLook(ctx context.Context, text string) (answer.Outcome, error) {
	k.looking = true
	defer func() { k.looking = false }()
	if out, sent, err := k.sendApart(ctx, text, k.binder().Args); sent || err != nil {
		return out, err
	}
	return k.SendWith(ctx, k.Own(text), k.args)
}

// SendSums is SendWith for a text that is the same for all such calls.
func (k *call) SendSums(ctx context.Context, text string, args []driver.NamedValue) (answer.Outcome, error) {
	if out, sent, err := k.sendApart(ctx, text, args); sent || err != nil {
		return out, err
	}
	return k.SendWith(ctx, text, args)
}

// sendApart sends such a text by a statement that the session has prepared for all such calls; sent
// is false where that would not be the same.
func (k *call) sendApart(ctx context.Context, text string, args []driver.NamedValue) (out answer.Outcome, sent bool, err error) {
	c, q := k.conn, k.Plan.Sum()
	if k.stmt != nil || !k.rows || q.Once && !k.looking || !c.AsOpened() || k.arguments().Count() != len(k.binder().Args) || !q.Apart.Takes(k.binder().Args) || c.ddl.NamesTemporary(k.text) {
		return out, false, nil
	}
	as := answer.Textual
	if k.binary() {
		as = nil
	}
	out.Rows, sent, err = c.QueryPrepared(ctx, text, args, as)
	if sent {
		out.Rows = c.Watched(out.Rows)
	}
	return out, sent, c.noted(err)
}

// SendWith is Send with arguments that may be others. The server would close the connection behind
// a text that is larger than it takes, which one of the application's may be, and not one of ours.
func (k *call) SendWith(ctx context.Context, text string, args []driver.NamedValue) (answer.Outcome, error) {
	if len(text) >= k.conn.Settings.Packet && len(text) > len(k.text) {
		return answer.Outcome{}, mysql.ErrPktTooLarge
	}
	out, err := k.try(ctx, text, args)
	if errors.Is(err, driver.ErrSkip) {
		out, err = k.prepared(ctx, text, args)
	}
	out.Rows = k.conn.Watched(out.Rows)
	return out, k.conn.noted(err)
}

func (k *call) try(ctx context.Context, text string, args []driver.NamedValue) (out answer.Outcome, err error) {
	switch {
	case k.stmt != nil && k.once():
		return out, driver.ErrSkip
	case k.stmt != nil:
		physical, err := k.stmt.physical(ctx, text)
		if err != nil {
			return out, err
		}
		return run(ctx, physical, args, k.rows)
	case k.rows:
		out.Rows, err = k.conn.Queryer.QueryContext(ctx, text, args)
	default:
		out.Result, err = k.conn.Execer.ExecContext(ctx, text, args)
	}
	return out, err
}

// once reports whether what was prepared can't be executed: the statement is prepared for
// this call alone. On MySQL a parameter that has had a floating-point argument stays one
// (WL#9384), and the integers that it adds later would be rounded.
func (k *call) once() bool {
	q := k.Plan.Sum()
	return q != nil && q.Once && !k.looking || k.Plan.Increment() != nil && slices.ContainsFunc(k.args, isFloat)
}

func isFloat(v driver.NamedValue) bool {
	_, is := v.Value.(float64)
	return is
}

func run(ctx context.Context, s driver.Stmt, args []driver.NamedValue, rows bool) (out answer.Outcome, err error) {
	if rows {
		out.Rows, err = s.(driver.StmtQueryContext).QueryContext(ctx, args)
	} else {
		out.Result, err = s.(driver.StmtExecContext).ExecContext(ctx, args)
	}
	return out, err
}

// prepared does what database/sql does after ErrSkip, so that nothing that
// went before is done a second time.
func (k *call) prepared(ctx context.Context, text string, args []driver.NamedValue) (answer.Outcome, error) {
	s, err := k.conn.Raw.(driver.ConnPrepareContext).PrepareContext(ctx, text)
	if err != nil {
		return answer.Outcome{}, err
	}
	if n := s.NumInput(); n >= 0 && n != len(args) {
		s.Close()
		return answer.Outcome{}, fmt.Errorf("sql: expected %d arguments, got %d", n, len(args))
	}
	out, err := run(ctx, s, args, k.rows)
	if err != nil || !k.rows {
		s.Close()
		return out, err
	}
	out.Rows = answer.Over(out.Rows).Then(func(error) error { return s.Close() })
	return out, nil
}
