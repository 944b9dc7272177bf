package schema

import (
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

const (
	copiedPosts  = 20
	copiedSchema = "CREATE TABLE post (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0, title VARCHAR(20) NOT NULL DEFAULT '')"
)

// copied is a table under load, beside rollups, for a tool that copies it and takes the
// copy in its place. Nothing is done to its slots.
type copied struct {
	*harness.Twin
	stale           *sql.DB // notices nothing
	counted, folded atomic.Int64
	done            chan struct{}
	clients         sync.WaitGroup
}

// newCopied begins the load. A table that is not there may be met in the moment of the swap
// if vanishes is true.
func newCopied(t *testing.T, srv *testserver.Server, vanishes bool) *copied {
	c := &copied{Twin: harness.NewTwin(t, srv, copiedSchema, harness.Counters("post", "n")), done: make(chan struct{})}
	c.Sent.Off.Store(true)
	for id := range copiedPosts {
		harness.Affected(t, c.Direct, "INSERT INTO post (id) VALUES (?)", id)
	}
	c.stale, _ = harness.OpenOurs(t, c.OursDSN, c.Config)
	client := func(run func(i int) error, counts int64) {
		c.clients.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-c.done:
					return
				default:
				}
				err := run(i)
				switch n := harness.ErrorNumber(err); {
				case err == nil:
					c.counted.Add(counts)
					c.folded.Add(1 - counts)
				case n == 1146 && vanishes:
				case n != 1213 && n != 1205:
					t.Error(err)
					return
				}
			}
		})
	}
	for who := range 4 {
		db := []*sql.DB{c.Ours, c.stale}[who%2]
		client(func(i int) error {
			_, err := db.Exec("UPDATE post SET n = n + 1 WHERE id = ?", (i+who)%copiedPosts)
			return err
		}, 1)
	}
	client(func(i int) error {
		tx, err := c.Ours.Begin()
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.Exec("UPDATE post SET title = ? WHERE id = ?", fmt.Sprint(i), i%copiedPosts); err != nil {
			return err
		}
		if _, err := tx.Exec("UPDATE post SET n = n + 1 WHERE id = ?", (i+3)%copiedPosts); err != nil {
			return err
		}
		return tx.Commit()
	}, 1)
	client(func(i int) error {
		time.Sleep(time.Millisecond)
		_, err := c.Ours.Exec("UPDATE post SET n = GREATEST(n, 0) WHERE id = ?", i%copiedPosts)
		return err
	}, 0)
	client(func(int) error {
		time.Sleep(5 * time.Millisecond)
		_, err := countermysql.Rollup(t.Context(), c.stale, nil)
		return err
	}, 0)
	return c
}

// change sends DDL, again where the load was in its way.
func (c *copied) change(t *testing.T, db harness.Execer, stmts ...string) {
	t.Helper()
	for _, stmt := range stmts {
		for {
			_, err := db.ExecContext(t.Context(), stmt)
			if n := harness.ErrorNumber(err); n == 1213 || n == 1205 {
				continue
			}
			require.NoError(t, err, stmt)
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// end ends the load, and looks whether all of it was counted.
func (c *copied) end(t *testing.T) {
	t.Helper()
	close(c.done)
	c.clients.Wait()
	require.NotZero(t, c.folded.Load())
	require.Equal(t, c.counted.Load(), harness.Number(t, c.Ours, "SELECT SUM(n) FROM post"))
	harness.RollUp(t, c.stale)
	require.Equal(t, c.counted.Load(), harness.Number(t, c.Direct, "SELECT SUM(n) FROM post"))
}

// TestOnlineSchemaChange proves that a table under load, beside rollups, may be copied as
// pt-online-schema-change does, with nothing done to its slots: what goes to slots before
// the triggers are noticed stays there, and is the new table's.
func TestOnlineSchemaChange(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		c := newCopied(t, srv, harness.MariaDB(srv)) // of _post_new, from plain statements too
		for round := range 3 {
			c.change(t, c.Direct, "CREATE TABLE _post_new LIKE post", "ALTER TABLE _post_new ADD extra"+fmt.Sprint(round)+" INT NOT NULL DEFAULT 0",
				"CREATE TRIGGER osc_del AFTER DELETE ON post FOR EACH ROW DELETE IGNORE FROM _post_new WHERE _post_new.id <=> OLD.id",
				"CREATE TRIGGER osc_upd AFTER UPDATE ON post FOR EACH ROW BEGIN DELETE IGNORE FROM _post_new WHERE !(OLD.id <=> NEW.id) AND _post_new.id <=> OLD.id; REPLACE INTO _post_new (id, n, title) VALUES (NEW.id, NEW.n, NEW.title); END",
				"CREATE TRIGGER osc_ins AFTER INSERT ON post FOR EACH ROW REPLACE INTO _post_new (id, n, title) VALUES (NEW.id, NEW.n, NEW.title)")
			if round > 0 {
				c.LearnAnew(t)
			}
			for id := 0; id < copiedPosts; id += 5 {
				c.change(t, c.Direct, fmt.Sprintf("INSERT LOW_PRIORITY IGNORE INTO _post_new (id, n, title) SELECT id, n, title FROM post FORCE INDEX (PRIMARY) WHERE id >= %d AND id < %d LOCK IN SHARE MODE", id, id+5))
			}
			c.change(t, c.Direct, "RENAME TABLE post TO _post_old, _post_new TO post", "DROP TABLE _post_old")
			if round > 1 {
				c.LearnAnew(t)
			}
			require.NotZero(t, c.counted.Load())
		}
		c.end(t)
	})
}

// TestSwappedUnderLock proves the same of the moment in which gh-ost takes its copy in the
// table's place (its cut-over "atomic"): one session locks the table, another's RENAME waits
// for it, before all others, and the copy has all that is committed. Names are locked in their
// order: here the others come behind the table's, so that a RENAME that waits, waits for that.
// (gh-ost's come before it: it has to look, since 1.1.8, that its RENAME has got as far before it
// unlocks; else others change the old table behind its copy, which is lost.)
func TestSwappedUnderLock(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		c := newCopied(t, srv, false)
		for round := range 5 {
			locker, err := c.Direct.Conn(t.Context())
			require.NoError(t, err)
			defer locker.Close()
			c.change(t, locker, "CREATE TABLE post_gho LIKE post", "ALTER TABLE post_gho ADD extra"+fmt.Sprint(round)+" INT NOT NULL DEFAULT 0",
				"CREATE TABLE post_old (id INT PRIMARY KEY)", "LOCK TABLES post WRITE, post_old WRITE, post_gho WRITE",
				"INSERT INTO post_gho (id, n, title) SELECT id, n, title FROM post")
			copied := harness.Number(t, locker, "SELECT SUM(n) FROM post_gho")
			swapped := make(chan error)
			go func() {
				_, err := c.Direct.ExecContext(t.Context(), "RENAME TABLE post TO post_old, post_gho TO post")
				swapped <- err
			}()
			require.Eventually(t, func() bool {
				return harness.Number(t, c.Direct, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND STATE = 'Waiting for table metadata lock' AND INFO LIKE 'RENAME%'") == 1
			}, time.Minute, 5*time.Millisecond)
			c.change(t, locker, "DROP TABLE post_old", "UNLOCK TABLES")
			require.NoError(t, <-swapped)
			require.Equal(t, copied, harness.Number(t, c.Direct, "SELECT SUM(n) FROM post_old"), "the swap itself loses: the table was changed behind its copy")
			c.change(t, locker, "DROP TABLE post_old")
			if round%2 == 0 {
				c.LearnAnew(t)
			}
			require.NotZero(t, c.counted.Load())
		}
		c.end(t)
	})
}

// TestSwapBesideExact proves that a statement which has locked its row first does not wait for the
// swap: others wait for the row, and the swap for them.
func TestSwapBesideExact(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, copiedSchema+";\nINSERT INTO post (id) VALUES (1)", harness.Counters("post", "n"))
		for _, begin := range []string{"", "begin"} {
			harness.ExecAll(t, tw.Direct, "CREATE TABLE _post_new LIKE post;\nINSERT INTO _post_new SELECT * FROM post;\n"+
				"CREATE TRIGGER osc_upd AFTER UPDATE ON post FOR EACH ROW REPLACE INTO _post_new (id, n, title) VALUES (NEW.id, NEW.n, NEW.title)")
			tw.LearnAnew(t)
			harness.Affected(t, tw.Direct, "INSERT INTO post_slots (id, slot, n) VALUES (1, 1, 5)")
			beside := make(chan error, 2)
			waits := func(text string) {
				go func() {
					_, err := tw.Direct.ExecContext(t.Context(), text)
					beside <- err
				}()
				require.Eventually(t, func() bool {
					return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND INFO = ?", text) == 1
				}, time.Minute, 5*time.Millisecond)
				require.Eventually(t, func() bool { return harness.Waits(t, tw.Direct) }, time.Minute, 5*time.Millisecond)
			}
			var once sync.Once
			tw.Sent.Meddle(t, func(query string) error {
				if strings.HasPrefix(query, "UPDATE `") && strings.Contains(query, "CASE WHEN") { // the slots are added; the row is locked
					once.Do(func() {
						waits("UPDATE post SET title = 'x' WHERE id = 1")
						waits("RENAME TABLE post TO _post_old, _post_new TO post")
					})
				}
				return nil
			})
			client := &harness.Client{Conn: harness.Session(t, tw.Ours)}
			for _, step := range []string{begin, "UPDATE post SET n = LEAST(n + 1, 100) WHERE id = 1", strings.Replace(begin, "begin", "commit", 1)} {
				if step != "" {
					require.NotContains(t, client.Answer(t, t.Context(), step), "error", step)
				}
			}
			require.NoError(t, <-beside)
			require.NoError(t, <-beside)
			tw.Sent.Before.Store(nil)
			harness.ExecAll(t, tw.Direct, "DROP TABLE _post_old")
		}
		require.EqualValues(t, 12, harness.Number(t, tw.Ours, "SELECT n FROM post"))
	})
}
