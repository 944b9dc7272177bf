package groups

import (
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// pages have keys of several kinds, and rows enough to be under way beside each other.
const pages = `CREATE TABLE post (id INT PRIMARY KEY, slug VARCHAR(20), likes INT NOT NULL DEFAULT 0, views INT UNSIGNED DEFAULT 0, price DECIMAL(12,2) NOT NULL DEFAULT 0,
 updated_at DATETIME(3) NULL, seen_at TIMESTAMP NULL,
 changed_at DATETIME(3) NULL ON UPDATE CURRENT_TIMESTAMP(3), KEY (slug));
INSERT INTO post (id) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) SELECT i FROM n;
UPDATE post SET views = NULL WHERE id = 31;
UPDATE post SET updated_at = '2020-01-02 03:04:05.678', seen_at = '2020-01-02 03:04:05' WHERE id > 40;
UPDATE post SET slug = 'shut' WHERE id = 51;
UPDATE post SET updated_at = '2037-01-02 03:04:05' WHERE id = 52;
UPDATE post SET changed_at = NULL;
CREATE TABLE page (day DATE, name VARCHAR(20) COLLATE utf8mb4_general_ci, hits BIGINT UNSIGNED NOT NULL DEFAULT 0, PRIMARY KEY (day, name));
INSERT INTO page (day, name) SELECT '2026-01-02', CONCAT('page', id) FROM post;
CREATE TABLE log (id INT PRIMARY KEY AUTO_INCREMENT, post_id INT, FOREIGN KEY (post_id) REFERENCES post (id))`

// underWay is how many increments are at base rows side by side, and one that leads behind them.
const underWay = 17

// together runs increments of a table that wait until underWay others are over, and tells their answers
// and what was sent for them.
func together(t *testing.T, tw *harness.Twin, filler func(i int) string, meanwhile func(), waiting ...string) (answers, texts []string) {
	t.Helper()
	tw.Ours.SetMaxIdleConns(underWay + len(waiting))
	conns := make([]*sql.Conn, underWay+len(waiting))
	for i := range conns {
		var err error
		conns[i], err = tw.Ours.Conn(t.Context())
		require.NoError(t, err)
	}
	defer func() {
		for _, conn := range conns {
			require.NoError(t, conn.Close())
		}
	}()
	reached, opened := make(chan struct{}, underWay), make(chan struct{})
	var mu sync.Mutex
	var sent []string // also by who folds behind the return
	held := 0
	tw.Sent.Meddle(t, func(query string) error {
		if !strings.Contains(query, " SET ") && !harness.InsertsSlots.MatchString(query) {
			return nil
		}
		mu.Lock()
		hold := held < underWay
		if hold {
			held++
		} else {
			sent = append(sent, query)
		}
		mu.Unlock()
		if hold {
			reached <- struct{}{}
			<-opened
		}
		return nil
	})
	var all []<-chan string
	for i := range underWay {
		all = append(all, harness.Later(t, conns[i], filler(i)))
	}
	for range underWay {
		<-reached
	}
	for i, text := range waiting {
		all = append(all, harness.Later(t, conns[underWay+i], text))
	}
	harness.Queue()
	meanwhile()
	close(opened)
	for i, a := range all {
		if answer := harness.Soon(t, a); i < underWay {
			require.Equal(t, "affected 1", answer)
		} else {
			answers = append(answers, answer)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	return answers, sent
}

// moments are so many milliseconds behind the start of a case.
var moments = regexp.MustCompile("@[0-9]+")

func fillPost(i int) string {
	return fmt.Sprintf("UPDATE post SET likes = likes + 1 WHERE id = %d", i+1)
}

func fillPage(i int) string {
	return fmt.Sprintf("UPDATE page SET hits = hits + 1 WHERE day = '2026-01-02' AND name = 'page%d'", i+1)
}

// TestSeveralAtTheRows proves that increments of several rows that meet in a process go together to
// their base rows, in one statement, and that each is answered and counted as on plain MySQL, also where
// they can't: one of a row that is missing, or NULL, or would leave its column's range.
func TestSeveralAtTheRows(t *testing.T) {
	post := func(set string, id int) string { return fmt.Sprintf("UPDATE post SET %s WHERE id = %d", set, id) }
	touched := func(ms int) string { return fmt.Sprintf("likes = likes + 1, updated_at = @%d", ms) }
	open := func(id int) string { return post("likes = likes + 1", id) + " AND slug IS NULL" }
	page := func(name string) string {
		return "UPDATE page SET hits = hits + 1 WHERE name = '" + name + "' AND day = '2026-01-02'"
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		isolation := "transaction_isolation"
		if srv.Flavor() == testserver.MariaDB {
			isolation = "tx_isolation"
		}
		for _, params := range []string{"interpolateParams=true&time_zone='%2B00:00'", "clientFoundRows=true&time_zone='%2B00:00'", isolation + "='READ-COMMITTED'&time_zone='%2B00:00'"} {
			config := cooling(harness.Counters("post", "likes", "views", "price"))
			config.Tables[0].Touch = []string{"updated_at", "seen_at", "changed_at"}
			config.Tables = append(config.Tables, harness.Counters("page", "hits").Tables...)
			tw := harness.NewTwin(t, srv, pages, config, params)
			for _, c := range []struct {
				waiting []string
				whole   bool // in one statement
			}{
				{[]string{post("likes = likes + 1", 20), post("likes = likes + 2", 21)}, true},
				{[]string{post("likes = likes + 1", 22), post("views = views + 5", 21), post("likes = likes - 2, views = views + 1", 22), post("price = price + 1.25", 23), post("price = price - 0.5", 24)}, true},
				{[]string{post(touched(4), 20), post(touched(9), 41), post(touched(7), 20)}, true},
				{[]string{post("likes = likes + 1, updated_at = @3, seen_at = @600", 43), post("likes = likes + 1, updated_at = @5, seen_at = @400", 44)}, true},
				{[]string{page("page20"), page("PAGE21"), page("page22"), page("page20")}, true},
				{[]string{open(28), open(29), post("likes = likes + 1", 30), post("views = views + 1", 32)}, true},
				{[]string{open(28), open(29), open(30)}, true},
				{[]string{post("likes = likes + 1, changed_at = @1500", 45), post("likes = likes + 1", 46)}, true},
				{[]string{post("likes = likes + 1, seen_at = @600", 43), post("likes = likes + 1, updated_at = @5, seen_at = @400", 44), post("likes = likes + 1", 25)}, false},
				{[]string{page("page20"), page("page21"), page("Page20")}, false}, // two are of one row
				{[]string{open(28), open(51), post("likes = likes + 1", 30)}, false},
				{[]string{post(touched(20), 52), post("likes = likes + 1", 30)}, false}, // it was touched later
				{[]string{post("likes = likes + 1", 26), post("likes = likes + 1", 99), post("likes = likes + 1", 27)}, false},
				{[]string{post("views = views + 1", 31), post("likes = likes + 1", 31), post("views = views + 1", 32)}, false},
				{[]string{post("views = views - 9", 33), post("views = views + 1", 34)}, false},
				{[]string{post("likes = likes + 1", 36), post("likes = likes - 1", 36), post("likes = likes + 1", 37)}, false},
			} {
				filler := fillPost
				if strings.Contains(c.waiting[0], "page") {
					filler = fillPage
				}
				inOne := func() bool {
					for i := range underWay {
						harness.Affected(t, tw.Plain, filler(i))
					}
					now := time.Now().UTC()
					var waiting, want []string
					for _, text := range c.waiting {
						text = moments.ReplaceAllStringFunc(text, func(ms string) string {
							d, _ := time.ParseDuration(ms[1:] + "ms")
							return now.Add(d).Format("'2006-01-02 15:04:05.000'")
						})
						waiting = append(waiting, text)
						want = append(want, harness.Soon(t, harness.Later(t, tw.Plain, text)))
					}
					got, sent := together(t, tw, filler, func() {}, waiting...)
					require.Equal(t, want, got, "%s %v", params, waiting)
					tw.Same(t, "SELECT id, slug, likes, views, price, updated_at, seen_at, IF(id = 45, changed_at, changed_at IS NULL) FROM post ORDER BY id")
					tw.Same(t, "SELECT * FROM page")
					return len(sent) == 1 && !harness.InsertsSlots.MatchString(sent[0])
				}
				for late := time.Now().Add(20 * time.Second); !inOne() && c.whole; { // one comes late on a busy machine
					require.True(t, time.Now().Before(late), "%v", c.waiting)
				}
			}
		}
	})
}

// TestSeveralBesideLocks proves that increments of several rows that meet go to slots, without waiting,
// where a row's lock is shared, those of other rows to rows the next time, and all again soon after; and that
// nobody waits for a row that somebody has exclusively but its own.
func TestSeveralBesideLocks(t *testing.T) {
	like := func(id int) string { return fmt.Sprintf("UPDATE post SET likes = likes + 1 WHERE id = %d", id) }
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, pages, cooling(harness.Counters("post", "likes")))
		run := func(meanwhile func(), waiting ...string) []string {
			answers, sent := together(t, tw, fillPost, meanwhile, waiting...)
			require.Equal(t, slices.Repeat([]string{"affected 1"}, len(waiting)), answers)
			for i := range underWay {
				harness.Affected(t, tw.Plain, fillPost(i))
			}
			for _, text := range waiting {
				harness.Affected(t, tw.Plain, text)
			}
			return sent
		}
		tx, err := tw.Direct.Begin()
		require.NoError(t, err)
		lock := sync.OnceFunc(func() { harness.Affected(t, tx, "INSERT INTO log (post_id) VALUES (21)") })
		for late := time.Now().Add(20 * time.Second); ; {
			begun := time.Now()
			sent := strings.Join(run(lock, like(20), like(21), like(22)), " ")
			require.Regexp(t, harness.InsertsSlots, sent)
			sent = strings.Join(run(func() {}, like(21), like(23), like(25)), " ") // it is known to be locked, for a second
			require.Regexp(t, harness.InsertsSlots, sent)
			if strings.Contains(sent, "IN (23, 25)) AND (SELECT COUNT(*)") {
				break
			}
			require.True(t, time.Since(begun) > time.Second && time.Now().Before(late), sent) // on a busy machine
		}
		tw.Same(t, "SELECT id, likes FROM post ORDER BY id")
		require.NoError(t, tx.Commit())
		require.Eventually(t, func() bool {
			return !harness.InsertsSlots.MatchString(strings.Join(run(func() {}, like(20), like(21), like(22)), " "))
		}, 20*time.Second, 100*time.Millisecond)
		tw.Same(t, "SELECT id, likes FROM post ORDER BY id")

		tx, err = tw.Direct.Begin()
		require.NoError(t, err)
		harness.Affected(t, tx, like(24))
		freed := make(chan error, 1)
		run(func() {
			time.AfterFunc(500*time.Millisecond, func() { freed <- tx.Commit() })
		}, like(24), like(25))
		require.NoError(t, <-freed)
		harness.Affected(t, tw.Plain, like(24))
		tw.Same(t, "SELECT id, likes FROM post ORDER BY id")
	})
}

// TestSeveralBesideIndex proves that increments that meet do not wait for who has the entry of a row in
// the counter's index locked, and not the row.
func TestSeveralBesideIndex(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, pages+";\nALTER TABLE post ADD KEY (likes);\nUPDATE post SET likes = 1000 * id;\nCREATE TABLE stat (n INT)", cooling(harness.Counters("post", "likes")))
		tx, err := tw.Direct.Begin()
		require.NoError(t, err)
		harness.Affected(t, tx, "INSERT INTO stat SELECT COUNT(*) FROM post FORCE INDEX (likes) WHERE likes BETWEEN 22000 AND 22010")
		like := func(id int) string { return fmt.Sprintf("UPDATE post SET likes = likes + 1 WHERE id = %d", id) }
		answers, sent := together(t, tw, fillPost, func() {}, like(20), like(22), like(24))
		require.Equal(t, slices.Repeat([]string{"affected 1"}, 3), answers)
		if srv.Flavor() != testserver.MariaDB { // it has no timeout short enough
			require.NotContains(t, strings.Join(sent, " "), "(SELECT COUNT(*) FROM (")
		}
		require.NoError(t, tx.Commit())
		require.Equal(t, "likes INT, [20001][22001][24001]", harness.Queried(t.Context(), tw.Ours, "SELECT likes FROM post WHERE id IN (20, 22, 24) ORDER BY id"))
	})
}

// TestSeveralAndTime proves that who touches a column with a time does not touch it in rows that go
// together with his: in the hour that comes twice it would be another.
func TestSeveralAndTime(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		admin := harness.Open(t, srv.DSN("mysql"))
		if harness.Number(t, admin, "SELECT COUNT(*) FROM mysql.time_zone_name WHERE Name = 'Berlin'") == 0 {
			harness.ExecAll(t, admin, harness.Berlin)
		}
		config := cooling(harness.Counters("post", "likes"))
		config.Tables[0].Touch = []string{"seen_at"}
		tw := harness.NewTwin(t, srv, "SET time_zone = '+00:00';\n"+pages+";\nUPDATE post SET seen_at = '2026-10-25 01:30:00' WHERE id IN (20, 21)", config, "time_zone='Berlin'")
		for i := range underWay {
			harness.Affected(t, tw.Plain, fillPost(i))
		}
		waiting := []string{"UPDATE post SET likes = likes + 1 WHERE id = 20", "UPDATE post SET likes = likes + 1 WHERE id = 21", "UPDATE post SET likes = likes + 1, seen_at = NOW() WHERE id = 22"}
		for _, text := range waiting {
			harness.Affected(t, tw.Plain, text)
		}
		answers, _ := together(t, tw, fillPost, func() {}, waiting...)
		require.Equal(t, slices.Repeat([]string{"affected 1"}, len(waiting)), answers)
		require.Eventually(t, func() bool { return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post_slots") == 0 }, 10*time.Second, 20*time.Millisecond)
		tw.Same(t, "SELECT id, likes, UNIX_TIMESTAMP(seen_at) FROM post WHERE id <> 22 ORDER BY id")
	})
}
