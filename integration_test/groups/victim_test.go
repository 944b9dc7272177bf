package groups

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/ngrok/sqlmw"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// victim is an interceptor that has the server roll a session's transaction back and
// answer 1213 in the place of a statement, as a node of a cluster does at whatever the
// session sends next when another node's transaction came before it.
type victim struct {
	sqlmw.NullInterceptor
	mu    sync.Mutex
	on    any // the connection; nil: none
	left  int // statements up to the one that is hit
	hit   string
	stmts map[any]any // connections of prepared statements
}

const isVictim = "SELECT 'victim'"

// lost is the server's answer in the place of a statement; nil if that is to be sent.
func (v *victim) lost(on any, text string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if on != v.on || v.on == nil {
		return nil
	}
	if v.left--; v.left != 0 {
		return nil
	}
	v.hit = text
	_, err := on.(driver.ExecerContext).ExecContext(context.Background(), "CALL lost()", nil)
	return err
}

func (v *victim) ConnQueryContext(ctx context.Context, c driver.QueryerContext, query string, args []driver.NamedValue) (context.Context, driver.Rows, error) {
	if query == isVictim {
		v.mu.Lock()
		v.on = harness.Parent(c)
		v.mu.Unlock()
	} else if err := v.lost(harness.Parent(c), query); err != nil {
		return ctx, nil, err
	}
	rows, err := c.QueryContext(ctx, query, args)
	return ctx, rows, err
}

func (v *victim) ConnExecContext(ctx context.Context, c driver.ExecerContext, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := v.lost(harness.Parent(c), query); err != nil {
		return nil, err
	}
	return c.ExecContext(ctx, query, args)
}

func (v *victim) ConnPing(ctx context.Context, c driver.Pinger) error {
	if err := v.lost(harness.Parent(c), "ping"); err != nil {
		return err
	}
	return c.Ping(ctx)
}

func (v *victim) ConnPrepareContext(ctx context.Context, c driver.ConnPrepareContext, query string) (context.Context, driver.Stmt, error) {
	if err := v.lost(harness.Parent(c), "PREPARE "+query); err != nil {
		return ctx, nil, err
	}
	s, err := c.PrepareContext(ctx, query)
	if err == nil {
		v.mu.Lock()
		v.stmts[s] = harness.Parent(c)
		v.mu.Unlock()
	}
	return ctx, s, err
}

func (v *victim) Prepared(s any, query string) error {
	v.mu.Lock()
	on := v.stmts[harness.Parent(s)]
	v.mu.Unlock()
	return v.lost(on, query)
}

func (v *victim) StmtExecContext(ctx context.Context, s driver.StmtExecContext, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := v.Prepared(s, query); err != nil {
		return nil, err
	}
	return s.ExecContext(ctx, args)
}

func (v *victim) StmtQueryContext(ctx context.Context, s driver.StmtQueryContext, query string, args []driver.NamedValue) (context.Context, driver.Rows, error) {
	if err := v.Prepared(s, query); err != nil {
		return ctx, nil, err
	}
	rows, err := s.QueryContext(ctx, args)
	return ctx, rows, err
}

// newVictim opens a twin's database with one; the session is its client.
func newVictim(t *testing.T, tw *harness.Twin) (*victim, *sql.DB) {
	t.Helper()
	v := &victim{stmts: map[any]any{}}
	config := *tw.Config
	config.Interceptor = v
	db, _ := harness.OpenOurs(t, tw.OursDSN, &config)
	return v, db
}

// spare is a session whose statement number n from now on is hit.
func (v *victim) spare(t *testing.T, conn *sql.Conn, n int) {
	t.Helper()
	require.Equal(t, "victim VARCHAR, [victim]", harness.Queried(t.Context(), conn, isVictim))
	v.mu.Lock()
	defer v.mu.Unlock()
	v.left, v.hit = n, ""
}

// TestVictimAtAnyStatement proves that whichever statement the server answers with the
// end of the transaction, one of the driver's own that reads the connection's status or
// asks for types included, the application is told so, and that nothing of the
// transaction is committed afterwards without the rest.
func TestVictimAtAnyStatement(t *testing.T) {
	const like = "UPDATE post SET likes = likes + 100 WHERE id = 1"
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		harness.ExecAll(t, tw.Direct, "CREATE PROCEDURE lost() BEGIN ROLLBACK; SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213; END")
		harness.ExecAll(t, tw.Direct, "CREATE PROCEDURE nothing() BEGIN END")
		v, db := newVictim(t, tw)
		for i, c := range []struct {
			before, steps []string
		}{
			{nil, []string{"INSERT INTO note VALUES (1, '')"}}, // 1062
			{nil, []string{like, "INSERT INTO note VALUES (1, '')", like}},
			{nil, []string{like, "SELECT likes FROM post WHERE id = 1", like}},
			{nil, []string{like, "UPDATE post SET likes = GREATEST(likes - 1, 0) WHERE title <> 'x'"}},
			{nil, []string{"UPDATE post SET likes = likes - 1 WHERE id = 1 AND likes >= 1", "SELECT likes FROM post"}},
			{[]string{"SET sql_select_limit = 1"}, []string{"UPDATE post SET likes = GREATEST(likes - 1, 0) WHERE title <> 'x'"}},
			{[]string{"SET @x = 1", "CREATE TEMPORARY TABLE own (id INT)"}, []string{"SELECT likes + @x FROM post", "SELECT likes FROM post, own"}},
			{[]string{"SET sql_mode = ''"}, []string{"SELECT likes FROM post", like, "SELECT likes * 2 FROM post"}},
			{[]string{"SET ROLE NONE"}, []string{"SELECT likes FROM post", "SELECT 1 FROM page"}},
			{nil, []string{"prepare SELECT likes + ? FROM post", "prepare UPDATE post SET likes = likes + ? WHERE id = 1", "SELECT likes FROM post"}},
			{nil, []string{like, "SAVEPOINT é", like, "CALL nothing()", "ROLLBACK TO é"}},
			{nil, []string{"SELECT nosuch FROM post", "SELECT likes, (SELECT 1 UNION SELECT 2) FROM post", "SELECT likes FROM post PROCEDURE nosuch()"}},
			{nil, []string{like, "ping", "SELECT body FROM note"}},
			{nil, []string{"INSERT INTO post (id, slug) VALUES (9, 'i')", "DELETE FROM post WHERE id = 9", "REPLACE INTO post (id, slug, likes) VALUES (3, 'c', 8)"}},
			{nil, []string{"INSERT INTO post (id, slug, likes) VALUES (2, 'b', 1) ON DUPLICATE KEY UPDATE likes = VALUES(likes)"}},
			{nil, []string{"INSERT INTO post (id, slug, likes) VALUES (2, 'b', 1), (1, 'a', 1) ON DUPLICATE KEY UPDATE likes = likes + VALUES(likes)"}},
		} {
			for n, begin := range []string{"BEGIN", "begin", "SET autocommit = 0"} {
				if n == i%3 { // two of them
					continue
				}
				steps := append(append([]string{"INSERT INTO note VALUES (1, '')"}, c.steps...), "INSERT INTO note VALUES (2, '')", "COMMIT")
				for n, hit := 1, true; hit; n++ {
					tw.Reset(t)
					hit = v.Play(t, tw, db, n, begin, c.before, steps)
				}
			}
		}
	})
}

// TestVictimOfDirect proves the same while increments go to base rows.
func TestVictimOfDirect(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, cooling(harness.BlogCounters()))
		harness.ExecAll(t, tw.Direct, "CREATE PROCEDURE lost() BEGIN ROLLBACK; SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213; END")
		v, db := newVictim(t, tw)
		for _, likes := range [][]int{{1}, {1, 2}, {2, 1, 3}} {
			steps := []string{"INSERT INTO note VALUES (1, '')"}
			for _, id := range likes {
				steps = append(steps, fmt.Sprint("UPDATE post SET likes = likes + 100 WHERE id = ", id))
			}
			steps = append(steps, "INSERT INTO note VALUES (2, '')", "COMMIT")
			for _, begin := range []string{"BEGIN", "begin", "SET autocommit = 0"} {
				for n, hit := 1, true; hit; n++ {
					tw.Reset(t)
					before, based := harness.Number(t, tw.Ours, "SELECT SUM(likes) FROM post"), harness.Number(t, tw.Direct, "SELECT SUM(likes) FROM post")
					if hit = v.Play(t, tw, db, n, begin, nil, steps); hit {
						require.Equal(t, before, harness.Number(t, tw.Ours, "SELECT SUM(likes) FROM post"), "%s, %q, statement %d: %s", begin, steps, n, v.hit)
					} else {
						require.Equal(t, based+100*int64(len(likes)), harness.Number(t, tw.Direct, "SELECT SUM(likes) FROM post"), "they went to slots")
					}
				}
			}
		}
	})
}

// Play runs a transaction whose statement number n is hit; false if there are fewer. Like
// many an application it goes on after an error that is not about the transaction.
func (v *victim) Play(t *testing.T, tw *harness.Twin, db *sql.DB, n int, begin string, before, steps []string) bool {
	t.Helper()
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	defer func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }() // its settings are not for others
	for _, text := range before {
		harness.Affected(t, conn, text)
	}
	harness.Affected(t, conn, "SET @never = 0")
	harness.Queried(t.Context(), conn, "SELECT likes FROM post") // what is looked at once
	var tx *sql.Tx
	if begin == "begin" {
		tx, err = conn.BeginTx(context.WithoutCancel(t.Context()), nil)
		require.NoError(t, err)
	} else {
		harness.Affected(t, conn, begin)
	}
	v.spare(t, conn, n)
	told := ""
	for _, step := range steps {
		var answer string
		switch text, isPrepared := strings.CutPrefix(step, "prepare "); {
		case isPrepared:
			answer = prepareAndRun(t, conn, tx, text)
		case step == "ping":
			answer = fmt.Sprint(conn.PingContext(t.Context()))
		case tx != nil && step == "COMMIT":
			answer = fmt.Sprint(harness.ErrorNumber(tx.Commit()))
			if answer != "0" {
				answer = "error " + answer
			}
		case tx != nil:
			answer = (&harness.Client{Conn: conn, Tx: tx}).Answer(t, t.Context(), step)
		default:
			answer = (&harness.Client{Conn: conn}).Answer(t, t.Context(), step)
		}
		if strings.Contains(answer, "1213") || strings.Contains(answer, "connection") {
			told = answer
			break
		}
	}
	v.mu.Lock()
	hit := v.hit
	v.on = nil
	v.mu.Unlock()
	what := fmt.Sprintf("%s, %q %q, statement %d: %s", begin, before, steps, n, hit)
	if tx != nil {
		_ = tx.Rollback()
	}
	if hit == "" {
		require.Empty(t, told, what)
		require.EqualValues(t, 2, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM note"), what)
		return false
	}
	require.Contains(t, told, "1213", what)
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM note"), what)
	require.EqualValues(t, 10, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"), what)
	return true
}

// prepareAndRun runs a prepared statement with a floating-point argument, then another.
func prepareAndRun(t *testing.T, conn *sql.Conn, tx *sql.Tx, text string) string {
	t.Helper()
	prepare := conn.PrepareContext
	if tx != nil {
		prepare = tx.PrepareContext
	}
	s, err := prepare(t.Context(), text)
	if err != nil {
		return harness.Told(err)
	}
	defer s.Close()
	for _, arg := range []any{1.0, 2} {
		if harness.IsQuery.MatchString(text) {
			if answer := harness.Queried(t.Context(), harness.StmtQuerier{Stmt: s}, "", arg); strings.HasPrefix(answer, "error") {
				return answer
			}
		} else if _, err := s.Exec(arg); err != nil {
			return harness.Told(err)
		}
	}
	return "done"
}

// TestUnreadStatus proves that a connection whose status can't be read after an error
// is closed, so that nothing of its transaction is committed, and that the
// application is told why.
func TestUnreadStatus(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		for _, begin := range []string{"BEGIN", "begin", "SET autocommit = 0"} {
			for _, number := range []uint16{1317, 1213} {
				s := &harness.Script{Db: tw.Ours, Clients: map[string]*harness.Client{}}
				defer s.End()
				s.Do(t, "A: "+begin)
				s.Do(t, "A: INSERT INTO note VALUES (1, '')")
				tw.Sent.Meddle(t, func(query string) error {
					if strings.HasPrefix(query, "SHOW WARNINGS") {
						return &mysql.MySQLError{Number: number, Message: "no status"}
					}
					return nil
				})
				s.Do(t, "A: INSERT INTO note VALUES (1, '')")
				s.Do(t, "A: INSERT INTO note VALUES (2, '')")
				s.Do(t, "A: INSERT INTO note VALUES (3, '')")
				require.Contains(t, s.Answers[2], "error 1062")
				require.Contains(t, s.Answers[3], fmt.Sprintf("error %d", number))
				require.Contains(t, s.Answers[4], "bad connection")
				if begin == "begin" {
					require.Error(t, s.Clients["A"].Tx.Commit())
					s.Clients["A"].Tx = nil
				}
				s.End()
				require.Equal(t, "COUNT(*) BIGINT, [0]", harness.Queried(t.Context(), tw.Ours, "SELECT COUNT(*) FROM note"))
			}
		}
	})
}
