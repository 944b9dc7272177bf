package random

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql"
)

// Runner runs scripts on one server.
type Runner struct {
	Base    string                                   // prefix of the databases' names
	DSN     func(db string, params ...string) string // of the server
	MariaDB bool
	Slow    func(string) // told of calls that took long
	admin   *sql.DB
	Steps   int // statements run so far
	Failed  int // of which gave an error
	Own     int // differences that were the server's own
}

// NewRunner connects to the server.
func NewRunner(base string, dsn func(db string, params ...string) string) (*Runner, error) {
	admin, err := sql.Open("mysql", dsn(""))
	if err != nil {
		return nil, err
	}
	admin.SetMaxOpenConns(2)
	return &Runner{Base: base, DSN: dsn, admin: admin}, nil
}

// Close removes the databases.
func (r *Runner) Close() error {
	ctx := context.Background()
	conn, err := r.admin.Conn(ctx)
	if err != nil {
		return err
	}
	errs := []error{endPrepared(ctx, conn, r.Base), conn.Close()}
	for _, side := range []string{"_a", "_b", "_a" + elsewhere, "_b" + elsewhere} {
		_, err := r.admin.ExecContext(ctx, "DROP DATABASE IF EXISTS "+r.Base+side)
		errs = append(errs, err)
	}
	return errors.Join(append(errs, r.admin.Close())...)
}

// Difference is what an application would notice.
type Difference struct {
	Step        int // -1: in the tables at the end
	Kind        string
	What        string
	Plain, Ours string
	Statement   string
}

func (d *Difference) String() string {
	return fmt.Sprintf("step %d, %s: %s\n  %s\n  plain: %s\n  ours:  %s", d.Step, d.Kind, d.What, d.Statement, d.Plain, d.Ours)
}

// timeout bounds one statement; the locks' own timeout is shorter.
const timeout = 12 * time.Second

// side is one of the twins.
type side struct {
	db    string
	pool  *sql.DB
	conn  *sql.Conn
	tx    *sql.Tx
	other *sql.Conn
	stmts map[string]*sql.Stmt
	anew  bool // they are prepared for each execution

	late  bool         // see Script
	asked []sql.Result // when the transaction is over

	rollsUp  bool    // it has slots
	reopener *sql.DB // runs reopen before each statement
	reopen   string
}

// Compare runs a script on both sides and returns the first difference that is
// not the server's own.
func (r *Runner) Compare(ctx context.Context, s *Script) (*Difference, error) {
	d, err := r.compare(ctx, s, countermysqls, 0)
	if d == nil || err != nil || !r.owned(ctx, s, d) {
		return d, err
	}
	r.Own++
	return nil, nil
}

// compare runs a script on plain go-sql-driver and on another side. A viewing one reads
// views in the given step, a replanning one has no semi-joins from there on.
func (r *Runner) compare(ctx context.Context, s *Script, other kind, viewed int) (*Difference, error) {
	sides := make([]*side, 2)
	errs := make([]error, 2)
	for i, k := range []kind{plains, other} { // one after the other: MySQL's DDL deadlocks
		sides[i], errs[i] = r.prepare(ctx, s, k)
	}
	defer func() {
		for _, x := range sides {
			if x != nil {
				x.close()
			}
		}
	}()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	plain, ours := sides[0], sides[1]
	failed, changed := false, false // the last statement; the session's settings
	last, refused := 0, false       // the last statement's error; one has perhaps begun a transaction by which the server began none
	executed := map[string]bool{}   // texts with arguments
	var blurred untold
	for i, step := range s.Steps {
		if step.SQL == "SELECT FOUND_ROWS()" && (failed || i == 0 || !strings.Contains(s.Steps[i-1].SQL, "SQL_CALC_FOUND_ROWS")) {
			continue // the number is of no statement
		}
		if blurred.waits(step) {
			continue
		}
		if other.views() && i == viewed {
			if err := ours.view(ctx, s, other); err != nil {
				return nil, err
			}
			step.Lax = "types"
		}
		if other == replanning && i == viewed {
			if _, err := ours.conn.ExecContext(ctx, "SET optimizer_switch = 'semijoin=off'"); err != nil {
				return nil, err
			}
		}
		if step.Lax == "" && len(step.Args) > 0 {
			if executed[step.SQL] || len(step.Args) > 1 {
				step.Lax = "numbers" // TestAcceptedEarlierTypes, TestAcceptedOtherArguments
			}
			executed[step.SQL] = true
		}
		if step.Lax == "" && changed {
			step.Lax = "types" // TestAcceptedPrecision
		}
		changed = changed || changing.MatchString(step.SQL)
		calls := len(step.Args)
		if calls == 0 {
			calls = 1
		}
		for call := range calls {
			var args []any
			if len(step.Args) > 0 {
				args = step.Args[call]
			}
			start := time.Now()
			x, y := plain.do(ctx, step, args), ours.do(ctx, step, args)
			if d := time.Since(start); d > 2*time.Second && r.Slow != nil {
				r.Slow(fmt.Sprintf("%s: seed %d step %d %s: %d and %d", d, s.Seed, i, step.GoString(), x.err, y.err))
			}
			x.rename(plain.db)
			y.rename(ours.db)
			r.Steps++
			refused = refused || last == 1364 || !r.MariaDB && (last == 1093 || last == 1052 || last == 1054)
			last = x.err
			failed = x.err != 0
			if failed {
				r.Failed++
			}
			if s.begins(r.MariaDB, refused, x, y) || !r.MariaDB && takesEarlier(s.Steps[:i+1], args, x, y) || s.folded(ctx, ours, step, args, x, y) {
				return nil, nil
			}
			blurred.note(s, step, x)
			if d := differ(x, y, step, r.MariaDB); d != nil {
				if blurred.refuses(step, y) {
					return nil, nil
				}
				if blurred.explains(ctx, d, step, plain, x, y, args) {
					continue
				}
				d.Step = i
				d.Statement = step.GoString()
				if calls > 1 {
					d.Statement += fmt.Sprintf(" // call %d", call)
				}
				return d, nil
			}
			if failed && s.skipsIDs(step, x.err) {
				return nil, nil
			}
		}
	}
	for _, x := range sides {
		x.end(ctx)
	}
	for _, when := range []string{"final ", "rolled up "} {
		for _, name := range s.Tables {
			step := Step{Do: "query", SQL: "SELECT * FROM `" + name + "`"}
			if other.views() {
				step.Lax = "types"
			}
			if d := differ(plain.do(ctx, step, nil), ours.do(ctx, step, nil), step, r.MariaDB); d != nil {
				d.Step, d.Kind, d.Statement = -1, when+d.Kind, step.SQL
				return d, nil
			}
		}
		if out := ours.do(ctx, Step{Do: "rollup"}, nil); out.err != 0 {
			return &Difference{Step: -1, Kind: "error", What: "rollup", Ours: out.summary()}, nil
		}
	}
	return nil, nil
}

func (r *Runner) prepare(ctx context.Context, s *Script, k kind) (*side, error) {
	x := &side{db: r.Base + "_a", stmts: map[string]*sql.Stmt{}, late: s.Late}
	if k != plains {
		x.db = r.Base + "_b"
	}
	admin, err := r.admin.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	if err := endPrepared(ctx, admin, x.db); err != nil {
		return nil, err
	}
	setup := append([]string{"DROP DATABASE IF EXISTS {db}", "CREATE DATABASE {db} CHARACTER SET utf8mb4", "USE {db}"}, s.Setup...)
	if q := r.reopen(s); q != "" {
		setup = append(setup, q)
	}
	for _, q := range append(setup, "USE information_schema") { // who is connected to the database is the script, see endPrepared
		if _, err := admin.ExecContext(ctx, strings.ReplaceAll(q, "{db}", x.db)); err != nil {
			return nil, fmt.Errorf("setup: %s: %w", q, err)
		}
	}
	cfg, err := mysql.ParseDSN(r.DSN(x.db, append([]string{"innodb_lock_wait_timeout=3", "lock_wait_timeout=5"}, s.Options...)...))
	if err != nil {
		return nil, err
	}
	cfg.Logger = &mysql.NopLogger{}
	raw, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	opened := driver.Connector(raw)
	switch k {
	case reopening:
		wait := "lock_wait_timeout=1" // LOCK TABLES, or a transaction, may be in the way
		if r.MariaDB {
			wait = "lock_wait_timeout=0" // to MySQL that is 1
		}
		if x.reopener, err = sql.Open("mysql", r.DSN(x.db, wait)); err != nil {
			return nil, err
		}
		x.reopen = r.reopen(s)
	case repreparing:
		x.anew = true
	case countermysqls:
		config := &countermysql.Config{CreateSlots: true, Slots: s.Slots, Rollup: countermysql.RollupNever, ReadOwn: countermysql.ReadOwn(s.ReadOwn), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
		if s.Cools {
			config.Rollup = time.Hour
		}
		for _, c := range s.Counters {
			config.Tables = append(config.Tables, countermysql.TableConfig{Table: c.Table, Counters: c.Columns, Touch: c.Touch})
		}
		if opened, err = countermysql.NewConnector(cfg, config); err != nil {
			return nil, err
		}
		x.rollsUp = true
	}
	x.pool = sql.OpenDB(opened)
	x.conn, err = x.pool.Conn(ctx)
	if err != nil {
		x.close()
		return nil, err
	}
	return x, nil
}

func (x *side) close() {
	if x.tx != nil {
		_ = x.tx.Rollback()
	}
	for _, s := range x.stmts {
		s.Close()
	}
	if x.conn != nil {
		x.conn.Close()
	}
	if x.other != nil {
		x.other.Close()
	}
	for _, db := range []*sql.DB{x.pool, x.reopener} {
		if db != nil {
			db.Close()
		}
	}
}

// end commits what the script left open.
func (x *side) end(ctx context.Context) {
	if x.tx != nil {
		_ = x.tx.Commit()
		x.tx = nil
	}
	_, _ = x.conn.ExecContext(ctx, "COMMIT")
}

// do runs one call.
func (x *side) do(ctx context.Context, s Step, args []any) *outcome {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	out := &outcome{}
	if x.reopener != nil {
		_, _ = x.reopener.ExecContext(ctx, strings.ReplaceAll(x.reopen, "{db}", x.db))
	}
	switch s.Do {
	case "rollup":
		if x.rollsUp {
			_, err := countermysql.Rollup(ctx, x.pool, nil)
			return out.fail(err)
		}
		return out
	case "begin":
		if x.tx != nil {
			return out
		}
		// the transaction must outlive the statement's context
		tx, err := x.conn.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.IsolationLevel(s.Level), ReadOnly: s.ReadOnly})
		if err == nil {
			x.tx = tx
		}
		return out.fail(err)
	case "commit", "rollback":
		if x.tx == nil {
			return out
		}
		tx := x.tx
		x.tx = nil
		results := x.asked
		x.asked = nil
		if s.Do == "rollback" {
			return out.fail(tx.Rollback())
		}
		if err := tx.Commit(); err != nil {
			return out.fail(err)
		}
		for i, res := range results {
			n, err := res.RowsAffected()
			if err != nil {
				return out.fail(err)
			}
			out.affected += n * int64(i+1)
		}
		return out
	}
	text := strings.ReplaceAll(s.SQL, "{db}", x.db)
	if s.Do == "other" || s.Do == "otherquery" {
		return x.byOther(ctx, s.Do == "otherquery", text, args)
	}
	if s.Prepared {
		return x.prepared(ctx, s, text, args)
	}
	var on interface {
		ExecContext(context.Context, string, ...any) (sql.Result, error)
		QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	} = x.conn
	if x.tx != nil {
		on = x.tx
	}
	if s.Do == "exec" {
		res, err := on.ExecContext(ctx, text, args...)
		return x.result(s, res, err)
	}
	return out.rows(on.QueryContext(ctx, text, args...))
}

// result is the outcome of an exec; how many rows it affected may be asked later.
func (x *side) result(s Step, res sql.Result, err error) *outcome {
	out := &outcome{}
	if err != nil || rollsBack.MatchString(s.SQL) {
		x.asked = nil // ours does not know behind a rollback
	}
	if !x.late || x.tx == nil || err != nil || touchesAlone.MatchString(s.SQL) {
		return out.result(res, err)
	}
	x.asked = append(x.asked, res)
	out.id, err = res.LastInsertId()
	return out.fail(err)
}

// byOther runs a statement on a second connection.
func (x *side) byOther(ctx context.Context, query bool, text string, args []any) *outcome {
	out := &outcome{}
	if x.other == nil {
		var err error
		if x.other, err = x.pool.Conn(ctx); err != nil {
			return out.fail(err)
		}
	}
	if query {
		return out.rows(x.other.QueryContext(ctx, text, args...))
	}
	return out.result(x.other.ExecContext(ctx, text, args...))
}

func (x *side) prepared(ctx context.Context, s Step, text string, args []any) *outcome {
	out := &outcome{}
	x.prepareAnew(text)
	stmt := x.stmts[text]
	if stmt == nil {
		var err error
		if stmt, err = x.conn.PrepareContext(ctx, text); err != nil {
			return out.fail(err)
		}
		x.stmts[text] = stmt
	}
	if x.tx != nil {
		stmt = x.tx.StmtContext(ctx, stmt)
	}
	if s.Do == "exec" {
		res, err := stmt.ExecContext(ctx, args...)
		return x.result(s, res, err)
	}
	return out.rows(stmt.QueryContext(ctx, args...))
}
