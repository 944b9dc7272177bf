package connections

import (
	"database/sql"
	"database/sql/driver"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// account is a user of the server, and hot counters that he may see.
type account struct {
	*harness.Twin
	name        string
	plain, ours *sql.DB // root's
	config      *countermysql.Config
	warned      *warnings
}

const logged = harness.Hot + ";\nCREATE TABLE log (id BIGINT PRIMARY KEY AUTO_INCREMENT, hot INT NOT NULL)"

// newAccount makes a user, by what CREATE USER says behind his name, and a twin's databases for him.
func newAccount(t *testing.T, srv *testserver.Server, by string) *account {
	t.Helper()
	tw := harness.NewTwin(t, srv, logged, harness.Counters("hot", "n"))
	a := &account{Twin: tw, name: "u_" + harness.DbName(t, tw.Direct), plain: tw.Plain, ours: tw.Ours, warned: &warnings{}}
	root := harness.Open(t, srv.DSN(""))
	harness.Affected(t, root, "CREATE USER "+a.name+" IDENTIFIED BY "+by)
	t.Cleanup(func() {
		_, err := root.Exec("DROP USER " + a.name)
		require.NoError(t, err)
	})
	for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
		harness.Affected(t, root, "GRANT ALL ON "+harness.DbName(t, db)+".* TO "+a.name)
	}
	config := *tw.Config
	config.Rollup, config.Logger = time.Second, slog.New(slog.NewTextHandler(a.warned, &slog.HandlerOptions{Level: slog.LevelWarn}))
	a.config = &config
	return a
}

// settings are those of a database for go-sql-driver, without the user.
func (a *account) settings(t *testing.T, srv *testserver.Server, db *sql.DB) *mysql.Config {
	t.Helper()
	cfg, err := mysql.ParseDSN(srv.DSN(harness.DbName(t, db), "innodb_lock_wait_timeout=20"))
	require.NoError(t, err)
	cfg.User, cfg.Logger = "", &mysql.NopLogger{} // which tells of each connection that was killed
	return cfg
}

// use has the twin's two sides be what the connectors open.
func (a *account) use(t *testing.T, plain, ours driver.Connector) {
	t.Helper()
	a.Plain, a.Ours = sql.OpenDB(plain), sql.OpenDB(ours)
	for _, db := range []*sql.DB{a.Plain, a.Ours} {
		db.SetMaxIdleConns(clients)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
	}
}

const clients = 8

// counted requires that every count is right, and that a look-up connection was opened for it.
func (a *account) counted(t *testing.T) {
	t.Helper()
	var lookups int
	for _, s := range a.Sent.During(func() { a.count(t) }) {
		if strings.Contains(s.Text, "SESSION lock_wait_timeout = 1") {
			lookups++
		}
	}
	require.Positive(t, lookups)
}

// count has increments that are hot, transactions and exact statements on both sides at once, one for a slot,
// rollups of every kind, and reads: no error, and rows that were in slots.
func (a *account) count(t *testing.T) {
	t.Helper()
	before := harness.Stats(t, a.Ours)
	var both sync.WaitGroup
	var crowds [2]harness.Crowd
	for i, db := range []*sql.DB{a.Plain, a.Ours} {
		both.Go(func() { crowds[i].Run(clients, func(n int) { a.client(t, db, n, &crowds[i]) }) })
	}
	both.Wait()
	for i := range crowds {
		crowds[i].NoDeadlocks(t)
	}
	a.same(t)
	soon := func(done func() bool, what string) {
		t.Helper()
		require.Eventually(t, done, 10*time.Second, 20*time.Millisecond, what)
	}
	const step = "UPDATE hot SET n = n + 1 WHERE id = 50"
	lock, err := a.Direct.Begin() // for want of which it goes to a slot
	require.NoError(t, err)
	harness.Number(t, lock, "SELECT n FROM hot WHERE id = 50 LOCK IN SHARE MODE")
	harness.Affected(t, a.Ours, step)
	require.NoError(t, lock.Rollback())
	harness.Affected(t, a.Plain, step)
	soon(func() bool { return harness.Stats(t, a.Ours).Rollups.Slots > before.Rollups.Slots }, "no slot was folded")

	for _, db := range []*sql.DB{a.Plain, a.Ours} { // which reads the schema
		harness.Affected(t, db, "ALTER TABLE hot ALTER COLUMN title SET DEFAULT ''")
	}
	harness.Affected(t, a.Direct, "INSERT INTO hot_slots (id, slot, n) VALUES (80, 900, 3)") // of a process that has died
	harness.Affected(t, a.Plain, "UPDATE hot SET n = n + 3 WHERE id = 80")
	a.same(t)
	soon(func() bool {
		return harness.Number(t, a.Direct, "SELECT COUNT(*) FROM hot_slots WHERE id = 80 AND n <> 0") == 0
	}, "no rollup in the background")
	a.same(t)
	_, err = countermysql.Rollup(t.Context(), a.Ours, nil)
	require.NoError(t, err)
	require.Equal(t, harness.Queried(t.Context(), a.Plain, all), harness.Queried(t.Context(), a.Direct, all))

	require.Zero(t, harness.Stats(t, a.Ours).Schema.Errors)
	require.Empty(t, a.warned.unkilled())
}

const all = "SELECT id, n FROM hot ORDER BY id"

func (a *account) same(t *testing.T) {
	t.Helper()
	a.Same(t, all)
	a.Same(t, "SELECT id, n FROM hot WHERE n > ? ORDER BY n DESC, id LIMIT 3", 2)
}

func (a *account) client(t *testing.T, db *sql.DB, i int, c *harness.Crowd) {
	ctx := t.Context()
	for range 15 {
		for range 4 {
			_, err := db.ExecContext(ctx, "UPDATE hot SET n = n + ? WHERE id = 10", 1)
			c.Check(err)
		}
		c.Check(harness.InTransaction(ctx, db, sql.LevelDefault, []string{
			"INSERT INTO log (hot) VALUES (20)", "UPDATE hot SET n = n + 1 WHERE id = 20", "UPDATE hot SET n = n + 2 WHERE id = 30", "SELECT n FROM hot WHERE id = 20"}))
		_, err := db.ExecContext(ctx, "UPDATE hot SET n = GREATEST(n - 1, 0) WHERE id = ?", 40)
		c.Check(err)
		var n int
		c.Check(db.QueryRowContext(ctx, "SELECT n FROM hot WHERE id = ?", 10*(i+1)).Scan(&n))
	}
}

// warnings are what was logged.
type warnings struct {
	mu    sync.Mutex
	lines []string
}

func (w *warnings) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, string(line))
	return len(line), nil
}

// unkilled are those of something else than a connection that was killed in the background.
func (w *warnings) unkilled() (lines []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, line := range w.lines {
		if !strings.Contains(line, mysql.ErrInvalidConn.Error()) && !strings.Contains(line, driver.ErrBadConn.Error()) {
			lines = append(lines, line)
		}
	}
	return lines
}
