package harness

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ngrok/sqlmw"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
)

func asError(err error, target any) bool { return errors.As(err, target) }

// Recorder is an interceptor that notes what is really sent to the server.
type Recorder struct {
	sqlmw.NullInterceptor
	Mu   sync.Mutex
	All  []Sending
	open int // prepared statements
	Off  atomic.Bool

	Before atomic.Pointer[func(query string) error] // is called first; with an error nothing is sent
}

// Meddle has f called before each statement, until the end of the test.
func (r *Recorder) Meddle(t *testing.T, f func(query string) error) {
	r.Before.Store(&f)
	t.Cleanup(func() { r.Before.Store(nil) })
}

func (r *Recorder) asked(query string) error {
	if f := r.Before.Load(); f != nil {
		return (*f)(query)
	}
	return nil
}

// Sending is one statement on its way: sent on connection on (any two are
// distinct), or prepared.
type Sending struct {
	on   any
	Text string
}

// Apart reports whether it was sent by a prepared statement.
func (s Sending) Apart() bool { return s.on == nil }

type onKey struct{}

func NewRecorder() *Recorder { return &Recorder{} }

func (r *Recorder) note(on any, text string, err error) {
	if r.Off.Load() || errors.Is(err, driver.ErrSkip) {
		return // not sent: it comes again as a prepared statement
	}
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.All = append(r.All, Sending{on, text})
}

// Parent is what sqlmw hides in its wrapper of the connection or statement.
func Parent(wrapper any) any {
	v := reflect.ValueOf(wrapper)
	if v.Kind() == reflect.Struct && v.NumField() > 0 {
		return v.Field(0).Interface()
	}
	return wrapper
}

func (r *Recorder) ConnExecContext(ctx context.Context, c driver.ExecerContext, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := r.asked(query); err != nil {
		return nil, err
	}
	res, err := c.ExecContext(ctx, query, args)
	r.note(Parent(c), query, err)
	return res, err
}

func (r *Recorder) ConnQueryContext(ctx context.Context, c driver.QueryerContext, query string, args []driver.NamedValue) (context.Context, driver.Rows, error) {
	if err := r.asked(query); err != nil {
		return ctx, nil, err
	}
	rows, err := c.QueryContext(ctx, query, args)
	r.note(Parent(c), query, err)
	return ctx, rows, err
}

func (r *Recorder) ConnBeginTx(ctx context.Context, c driver.ConnBeginTx, opts driver.TxOptions) (context.Context, driver.Tx, error) {
	tx, err := c.BeginTx(ctx, opts)
	r.note(Parent(c), "BEGIN", err)
	return context.WithValue(ctx, onKey{}, Parent(c)), tx, err
}

func (r *Recorder) TxCommit(ctx context.Context, tx driver.Tx) error {
	err := tx.Commit()
	r.note(ctx.Value(onKey{}), "COMMIT", err)
	return err
}

func (r *Recorder) TxRollback(ctx context.Context, tx driver.Tx) error {
	err := tx.Rollback()
	r.note(ctx.Value(onKey{}), "ROLLBACK", err)
	return err
}

func (r *Recorder) ConnPrepareContext(ctx context.Context, c driver.ConnPrepareContext, query string) (context.Context, driver.Stmt, error) {
	s, err := c.PrepareContext(ctx, query)
	r.note(Parent(c), "PREPARE "+query, err)
	if err == nil {
		r.Mu.Lock()
		r.open++
		r.Mu.Unlock()
	}
	return context.WithValue(ctx, onKey{}, Parent(c)), s, err
}

func (r *Recorder) StmtClose(_ context.Context, s driver.Stmt) error {
	r.Mu.Lock()
	r.open--
	r.Mu.Unlock()
	return s.Close()
}

func (r *Recorder) StmtExecContext(ctx context.Context, s driver.StmtExecContext, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := r.asked(query); err != nil {
		return nil, err
	}
	res, err := s.ExecContext(ctx, args)
	r.note(nil, query, err)
	return res, err
}

func (r *Recorder) StmtQueryContext(ctx context.Context, s driver.StmtQueryContext, query string, args []driver.NamedValue) (context.Context, driver.Rows, error) {
	if err := r.asked(query); err != nil {
		return ctx, nil, err
	}
	rows, err := s.QueryContext(ctx, args)
	r.note(nil, query, err)
	return ctx, rows, err
}

// Prepared is how many prepared statements are open.
func (r *Recorder) Prepared() int {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return r.open
}

// During returns what is sent while f runs.
func (r *Recorder) During(f func()) []Sending {
	r.Mu.Lock()
	from := len(r.All)
	r.Mu.Unlock()
	f()
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return append([]Sending(nil), r.All[from:]...)
}

// OfPrepared are the texts of what was sent by prepared statements, on whichever connection.
func OfPrepared(sent []Sending) (texts []string) {
	for _, s := range sent {
		if s.on == nil {
			texts = append(texts, s.Text)
		}
	}
	return texts
}

// OnlyOn keeps the texts sent on the connection that c holds.
func (r *Recorder) OnlyOn(t *testing.T, c Querier, sent []Sending) []string {
	t.Helper()
	marker := fmt.Sprintf("SELECT 'marker %d'", time.Now().UnixNano())
	var on any
	for _, s := range r.During(func() {
		var text string
		require.NoError(t, c.QueryRowContext(t.Context(), marker).Scan(&text))
	}) {
		if s.Text == marker {
			on = s.on
		}
	}
	require.NotNil(t, on)
	var texts []string
	for _, s := range sent {
		if s.on == on {
			texts = append(texts, s.Text)
		}
	}
	return texts
}

var IsQuery = regexp.MustCompile(`(?i)^[\s(]*(SELECT|SHOW|WITH|TABLE|VALUES|EXPLAIN|HANDLER \w+ READ|(CALL|EXECUTE) tell\w*)\b`)

// Client is one session of a script.
type Client struct {
	Conn *sql.Conn
	Tx   *sql.Tx
}

// Script plays steps on one database.
type Script struct {
	Db      *sql.DB
	Clients map[string]*Client
	Answers []string
}

// Do runs one step, "client: statement", and notes the answer. The statements
// begin LEVEL, commit and rollback, in lower case, go through database/sql.
func (s *Script) Do(t *testing.T, step string) {
	t.Helper()
	name, stmt, ok := strings.Cut(step, ": ")
	require.True(t, ok, step)
	c := s.Clients[name]
	if c == nil {
		conn, err := s.Db.Conn(t.Context())
		require.NoError(t, err)
		c = &Client{Conn: conn}
		s.Clients[name] = c
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s.Answers = append(s.Answers, step+" → "+c.Answer(t, ctx, stmt))
	require.NoError(t, ctx.Err(), "%s has no answer", step) // or what waits would pass for what was done
}

var levels = map[string]sql.IsolationLevel{
	"": sql.LevelDefault, "RU": sql.LevelReadUncommitted, "RC": sql.LevelReadCommitted, "RR": sql.LevelRepeatableRead, "S": sql.LevelSerializable,
}

func (c *Client) Answer(t *testing.T, ctx context.Context, stmt string) string {
	switch word, level, _ := strings.Cut(stmt, " "); word {
	case "begin":
		var err error
		c.Tx, err = c.Conn.BeginTx(context.WithoutCancel(ctx), &sql.TxOptions{Isolation: levels[level]})
		return Told(err)
	case "commit":
		tx := c.Tx
		c.Tx = nil
		return Told(tx.Commit())
	case "rollback":
		tx := c.Tx
		c.Tx = nil
		return Told(tx.Rollback())
	}
	var on interface {
		Execer
		Querier
	} = c.Conn
	if c.Tx != nil {
		on = c.Tx
	}
	if IsQuery.MatchString(stmt) {
		return Queried(ctx, on, stmt)
	}
	res, err := on.ExecContext(ctx, stmt)
	if err != nil {
		return Told(err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return Told(err)
	}
	id, err := res.LastInsertId()
	require.NoError(t, err)
	return fmt.Sprintf("affected %d, id %d", n, id)
}

// Told is what an error tells an application.
func Told(err error) string {
	var refused *countermysql.RefusedError
	switch n := ErrorNumber(err); {
	case n == 0:
		return "done"
	case errors.As(err, &refused):
		return "refused"
	case n == -1:
		return err.Error()
	default:
		return fmt.Sprintf("error %d", n)
	}
}

// Queried is the result of a query, with column names and types.
func Queried(ctx context.Context, db Querier, query string, args ...any) string {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return Told(err)
	}
	defer rows.Close()
	var b strings.Builder
	types, err := rows.ColumnTypes()
	if err != nil {
		return Told(err)
	}
	for _, c := range types {
		fmt.Fprintf(&b, "%s %s, ", c.Name(), c.DatabaseTypeName())
	}
	for rows.Next() {
		cells, dest := make([]any, len(types)), make([]any, len(types))
		for i := range cells {
			dest[i] = &cells[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return Told(err)
		}
		for i, v := range cells {
			if bytes, ok := v.([]byte); ok {
				cells[i] = string(bytes)
			}
		}
		fmt.Fprintf(&b, "%v", cells)
	}
	if err := rows.Err(); err != nil {
		return Told(err)
	}
	return b.String()
}

func (s *Script) End() {
	for _, c := range s.Clients {
		if c.Tx != nil {
			c.Tx.Rollback()
		}
		c.Conn.Close()
	}
}

func PlayOn(t *testing.T, db *sql.DB, steps []string) []string {
	t.Helper()
	s := &Script{Db: db, Clients: map[string]*Client{}}
	defer s.End()
	for _, step := range steps {
		s.Do(t, step)
	}
	return s.Answers
}

// PlayFolded is Play for a transaction under REPEATABLE READ that may fold rows which it does
// not change: it sees such a row as it is now, and no longer as of its snapshot. now has the
// same tables, on which plain MySQL runs the transaction under READ COMMITTED: each row of an
// answer has to be one of the two.
func (tw *Twin) PlayFolded(t *testing.T, now *Twin, steps ...string) {
	t.Helper()
	then, got := PlayOn(t, tw.Plain, steps), PlayOn(t, tw.Ours, steps)
	for i, step := range steps {
		steps[i] = strings.ReplaceAll(step, "begin RR", "begin RC")
	}
	for i, latest := range PlayOn(t, now.Plain, steps) {
		rows, snapshot, present := strings.SplitAfter(got[i], "["), strings.SplitAfter(then[i], "["), strings.SplitAfter(latest, "[")
		require.Len(t, rows, len(snapshot), "%s, not %s", got[i], then[i])
		for n, row := range rows {
			if row != snapshot[n] {
				require.Equal(t, present[n], row, "%s, and neither %s nor %s", got[i], then[i], latest)
			}
		}
	}
}

// Play runs the same steps on both databases and requires the same answers,
// which it returns.
func (tw *Twin) Play(t *testing.T, steps ...string) []string {
	t.Helper()
	want := PlayOn(t, tw.Plain, steps)
	got := PlayOn(t, tw.Ours, steps)
	require.Equal(t, strings.Join(want, "\n"), strings.Join(got, "\n"))
	return want
}

// Same requires that a query gives the same through both drivers.
func (tw *Twin) Same(t *testing.T, query string, args ...any) string {
	t.Helper()
	want := Queried(t.Context(), tw.Plain, query, args...)
	require.Equal(t, want, Queried(t.Context(), tw.Ours, query, args...), query)
	return want
}

// StmtQuerier runs a prepared statement, whatever the text.
type StmtQuerier struct{ Stmt *sql.Stmt }

func (q StmtQuerier) QueryContext(ctx context.Context, _ string, args ...any) (*sql.Rows, error) {
	return q.Stmt.QueryContext(ctx, args...)
}

func (q StmtQuerier) QueryRowContext(ctx context.Context, _ string, args ...any) *sql.Row {
	return q.Stmt.QueryRowContext(ctx, args...)
}
