package integration_test

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
)

func asError(err error, target any) bool { return errors.As(err, target) }

// recorder is an interceptor that notes what is really sent to the server.
type recorder struct {
	sqlmw.NullInterceptor
	mu   sync.Mutex
	all  []sending
	open int // prepared statements
	off  atomic.Bool

	before atomic.Pointer[func(query string) error] // is called first; with an error nothing is sent
}

// meddle has f called before each statement without arguments, until the end of the test.
func (r *recorder) meddle(t *testing.T, f func(query string) error) {
	r.before.Store(&f)
	t.Cleanup(func() { r.before.Store(nil) })
}

func (r *recorder) asked(query string) error {
	if f := r.before.Load(); f != nil {
		return (*f)(query)
	}
	return nil
}

// sending is one statement on its way: sent on connection on (any two are
// distinct), or prepared.
type sending struct {
	on   any
	text string
}

type onKey struct{}

func newRecorder() *recorder { return &recorder{} }

func (r *recorder) note(on any, text string, err error) {
	if r.off.Load() || errors.Is(err, driver.ErrSkip) {
		return // not sent: it comes again as a prepared statement
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, sending{on, text})
}

// parent is what sqlmw hides in its wrapper of the connection or statement.
func parent(wrapper any) any {
	v := reflect.ValueOf(wrapper)
	if v.Kind() == reflect.Struct && v.NumField() > 0 {
		return v.Field(0).Interface()
	}
	return wrapper
}

func (r *recorder) ConnExecContext(ctx context.Context, c driver.ExecerContext, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := r.asked(query); err != nil {
		return nil, err
	}
	res, err := c.ExecContext(ctx, query, args)
	r.note(parent(c), query, err)
	return res, err
}

func (r *recorder) ConnQueryContext(ctx context.Context, c driver.QueryerContext, query string, args []driver.NamedValue) (context.Context, driver.Rows, error) {
	if err := r.asked(query); err != nil {
		return ctx, nil, err
	}
	rows, err := c.QueryContext(ctx, query, args)
	r.note(parent(c), query, err)
	return ctx, rows, err
}

func (r *recorder) ConnBeginTx(ctx context.Context, c driver.ConnBeginTx, opts driver.TxOptions) (context.Context, driver.Tx, error) {
	tx, err := c.BeginTx(ctx, opts)
	r.note(parent(c), "BEGIN", err)
	return context.WithValue(ctx, onKey{}, parent(c)), tx, err
}

func (r *recorder) TxCommit(ctx context.Context, tx driver.Tx) error {
	err := tx.Commit()
	r.note(ctx.Value(onKey{}), "COMMIT", err)
	return err
}

func (r *recorder) TxRollback(ctx context.Context, tx driver.Tx) error {
	err := tx.Rollback()
	r.note(ctx.Value(onKey{}), "ROLLBACK", err)
	return err
}

func (r *recorder) ConnPrepareContext(ctx context.Context, c driver.ConnPrepareContext, query string) (context.Context, driver.Stmt, error) {
	s, err := c.PrepareContext(ctx, query)
	r.note(parent(c), "PREPARE "+query, err)
	if err == nil {
		r.mu.Lock()
		r.open++
		r.mu.Unlock()
	}
	return context.WithValue(ctx, onKey{}, parent(c)), s, err
}

func (r *recorder) StmtClose(_ context.Context, s driver.Stmt) error {
	r.mu.Lock()
	r.open--
	r.mu.Unlock()
	return s.Close()
}

func (r *recorder) StmtExecContext(ctx context.Context, s driver.StmtExecContext, query string, args []driver.NamedValue) (driver.Result, error) {
	res, err := s.ExecContext(ctx, args)
	r.note(nil, query, err)
	return res, err
}

func (r *recorder) StmtQueryContext(ctx context.Context, s driver.StmtQueryContext, query string, args []driver.NamedValue) (context.Context, driver.Rows, error) {
	rows, err := s.QueryContext(ctx, args)
	r.note(nil, query, err)
	return ctx, rows, err
}

// prepared is how many prepared statements are open.
func (r *recorder) prepared() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open
}

// during returns what is sent while f runs.
func (r *recorder) during(f func()) []sending {
	r.mu.Lock()
	from := len(r.all)
	r.mu.Unlock()
	f()
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]sending(nil), r.all[from:]...)
}

// onlyOn keeps the texts sent on the connection that c holds.
func (r *recorder) onlyOn(t *testing.T, c querier, sent []sending) []string {
	t.Helper()
	marker := fmt.Sprintf("SELECT 'marker %d'", time.Now().UnixNano())
	var on any
	for _, s := range r.during(func() {
		var text string
		require.NoError(t, c.QueryRowContext(t.Context(), marker).Scan(&text))
	}) {
		if s.text == marker {
			on = s.on
		}
	}
	require.NotNil(t, on)
	var texts []string
	for _, s := range sent {
		if s.on == on {
			texts = append(texts, s.text)
		}
	}
	return texts
}

var isQuery = regexp.MustCompile(`(?i)^[\s(]*(SELECT|SHOW|WITH|TABLE|VALUES|EXPLAIN|HANDLER \w+ READ|(CALL|EXECUTE) tell\w*)\b`)

// client is one session of a script.
type client struct {
	conn *sql.Conn
	tx   *sql.Tx
}

// script plays steps on one database.
type script struct {
	db      *sql.DB
	clients map[string]*client
	answers []string
}

// do runs one step, "client: statement", and notes the answer. The statements
// begin LEVEL, commit and rollback, in lower case, go through database/sql.
func (s *script) do(t *testing.T, step string) {
	t.Helper()
	name, stmt, ok := strings.Cut(step, ": ")
	require.True(t, ok, step)
	c := s.clients[name]
	if c == nil {
		conn, err := s.db.Conn(t.Context())
		require.NoError(t, err)
		c = &client{conn: conn}
		s.clients[name] = c
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s.answers = append(s.answers, step+" → "+c.answer(t, ctx, stmt))
}

var levels = map[string]sql.IsolationLevel{
	"": sql.LevelDefault, "RU": sql.LevelReadUncommitted, "RC": sql.LevelReadCommitted, "RR": sql.LevelRepeatableRead, "S": sql.LevelSerializable,
}

func (c *client) answer(t *testing.T, ctx context.Context, stmt string) string {
	switch word, level, _ := strings.Cut(stmt, " "); word {
	case "begin":
		var err error
		c.tx, err = c.conn.BeginTx(context.WithoutCancel(ctx), &sql.TxOptions{Isolation: levels[level]})
		return told(err)
	case "commit":
		tx := c.tx
		c.tx = nil
		return told(tx.Commit())
	case "rollback":
		tx := c.tx
		c.tx = nil
		return told(tx.Rollback())
	}
	var on interface {
		execer
		querier
	} = c.conn
	if c.tx != nil {
		on = c.tx
	}
	if isQuery.MatchString(stmt) {
		return queried(ctx, on, stmt)
	}
	res, err := on.ExecContext(ctx, stmt)
	if err != nil {
		return told(err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return told(err)
	}
	id, err := res.LastInsertId()
	require.NoError(t, err)
	return fmt.Sprintf("affected %d, id %d", n, id)
}

// told is what an error tells an application.
func told(err error) string {
	switch n := errorNumber(err); n {
	case 0:
		return "done"
	case -1:
		return err.Error()
	default:
		return fmt.Sprintf("error %d", n)
	}
}

// queried is the result of a query, with column names and types.
func queried(ctx context.Context, db querier, query string, args ...any) string {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return told(err)
	}
	defer rows.Close()
	var b strings.Builder
	types, err := rows.ColumnTypes()
	if err != nil {
		return told(err)
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
			return told(err)
		}
		for i, v := range cells {
			if bytes, ok := v.([]byte); ok {
				cells[i] = string(bytes)
			}
		}
		fmt.Fprintf(&b, "%v", cells)
	}
	if err := rows.Err(); err != nil {
		return told(err)
	}
	return b.String()
}

func (s *script) end() {
	for _, c := range s.clients {
		if c.tx != nil {
			c.tx.Rollback()
		}
		c.conn.Close()
	}
}

func playOn(t *testing.T, db *sql.DB, steps []string) []string {
	t.Helper()
	s := &script{db: db, clients: map[string]*client{}}
	defer s.end()
	for _, step := range steps {
		s.do(t, step)
	}
	return s.answers
}

// play runs the same steps on both databases and requires the same answers,
// which it returns.
func (tw *twin) play(t *testing.T, steps ...string) []string {
	t.Helper()
	want := playOn(t, tw.plain, steps)
	got := playOn(t, tw.ours, steps)
	require.Equal(t, strings.Join(want, "\n"), strings.Join(got, "\n"))
	return want
}

// same requires that a query gives the same through both drivers.
func (tw *twin) same(t *testing.T, query string, args ...any) string {
	t.Helper()
	want := queried(t.Context(), tw.plain, query, args...)
	require.Equal(t, want, queried(t.Context(), tw.ours, query, args...), query)
	return want
}

// stmtQuerier runs a prepared statement, whatever the text.
type stmtQuerier struct{ stmt *sql.Stmt }

func (q stmtQuerier) QueryContext(ctx context.Context, _ string, args ...any) (*sql.Rows, error) {
	return q.stmt.QueryContext(ctx, args...)
}

func (q stmtQuerier) QueryRowContext(ctx context.Context, _ string, args ...any) *sql.Row {
	return q.stmt.QueryRowContext(ctx, args...)
}
