package derived

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// problems are what Check says of derived counters and triggers.
func problems(t *testing.T, tw *harness.Twin) (all []string) {
	t.Helper()
	found, err := countermysql.Check(t.Context(), tw.Ours)
	require.NoError(t, err)
	for _, f := range found {
		if strings.Contains(f.Problem, "derived") || strings.Contains(f.Problem, "trigger") {
			all = append(all, f.Problem)
		}
	}
	return all
}

// TestCheckDerived proves what Check finds: triggers that are missing or others, foreign keys
// whose cascades fire none, and a definer who is no more; and that Init mends the triggers and
// the counts.
func TestCheckDerived(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPosts(t, srv)
		require.Empty(t, problems(t, tw))
		triggers := triggersOf(t, tw)
		require.Len(t, triggers, 3)

		harness.Affected(t, tw.Direct, "DROP TRIGGER "+triggers[0])
		harness.Affected(t, tw.Direct, "DELETE FROM comment WHERE post_id = 1")
		require.Len(t, problems(t, tw), 1)
		require.Contains(t, problems(t, tw)[0], "the DELETE trigger of ")
		require.Len(t, initialized(t, tw.Ours), 3, "the sql_mode, the database and the trigger")
		require.Empty(t, problems(t, tw))
		requireExact(t, tw)

		harness.Affected(t, tw.Direct, "DROP TRIGGER "+triggers[1])
		harness.Affected(t, tw.Direct, "CREATE TRIGGER "+triggers[1]+" AFTER INSERT ON comment FOR EACH ROW INSERT INTO post_slots (id, slot, comments) VALUES (NEW.post_id, 1, 1) ON DUPLICATE KEY UPDATE comments = comments")
		require.Len(t, problems(t, tw), 1, "of another text")
		initialized(t, tw.Ours)
		require.Empty(t, problems(t, tw))

		harness.ExecAll(t, tw.Direct, "CREATE TABLE author (id BIGINT PRIMARY KEY);\nALTER TABLE comment ADD author_id BIGINT NULL, ADD CONSTRAINT written FOREIGN KEY (author_id) REFERENCES author (id) ON DELETE CASCADE")
		require.Len(t, problems(t, tw), 1)
		require.Contains(t, problems(t, tw)[0], "foreign key written of ")
		harness.Affected(t, tw.Direct, "ALTER TABLE comment DROP FOREIGN KEY written, ADD CONSTRAINT of_post FOREIGN KEY (post_id) REFERENCES post (id) ON DELETE CASCADE")
		require.Empty(t, problems(t, tw), "rows that go with the counter's own")

		harness.Affected(t, tw.Direct, "DROP TRIGGER "+triggers[2])
		var create string
		for _, stmt := range dry(t, tw) {
			create = stmt
		}
		if _, err := tw.Direct.Exec(strings.Replace(create, "CREATE TRIGGER", "CREATE DEFINER = 'nobody'@'nowhere' TRIGGER", 1)); err == nil {
			require.Len(t, problems(t, tw), 1)
			require.Contains(t, problems(t, tw)[0], "has the definer nobody@nowhere, who is no more")
		}
	})
}

func dry(t *testing.T, tw *harness.Twin) []string {
	t.Helper()
	statements, err := countermysql.Init(t.Context(), tw.Ours, &countermysql.InitOptions{DryRun: true})
	require.NoError(t, err)
	return statements
}

// triggersOf are the names of the triggers of comment, in order.
func triggersOf(t *testing.T, tw *harness.Twin) (names []string) {
	t.Helper()
	rows, err := tw.Direct.Query("SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = DATABASE() AND EVENT_OBJECT_TABLE = 'comment'")
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// TestInitBesideWriters proves that Init makes triggers and sets counters while others write.
func TestInitBesideWriters(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, posts())
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for ctx.Err() == nil {
					tx, err := tw.Direct.Begin()
					if err != nil {
						return
					}
					_, _ = tx.Exec("INSERT INTO comment (post_id, amount) VALUES (1, 1), (2, 2), (3, 3)")
					_, _ = tx.Exec("UPDATE comment SET post_id = 4 WHERE post_id = 3 ORDER BY id LIMIT 1")
					_, _ = tx.Exec("DELETE FROM comment WHERE post_id = 1 ORDER BY id LIMIT 1")
					_ = tx.Commit()
				}
			})
		}
		time.Sleep(200 * time.Millisecond)
		initialized(t, tw.Ours)
		time.Sleep(200 * time.Millisecond)
		cancel()
		wg.Wait()
		requireExact(t, tw)
		require.Positive(t, comments(t, tw.Ours, 2))
	})
}

// TestBinaryLog proves that Init says what to do where the server lets nobody without SUPER
// make triggers, and does it then.
func TestBinaryLog(t *testing.T) {
	harness.RefusesTriggers(t, schema, posts(), func(t *testing.T, tw *harness.Twin, app *sql.DB) {
		require.Empty(t, problems(t, tw))
		requireExact(t, tw)
		harness.Affected(t, app, "INSERT INTO comment (post_id, amount) VALUES (2, 3)")
		requireExact(t, tw)
		require.EqualValues(t, 2, comments(t, app, 2))
	})
}

// TestDropDerived proves that Drop ends the triggers, and leaves in the base rows what they
// have counted.
func TestDropDerived(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPosts(t, srv)
		harness.Affected(t, tw.Direct, "INSERT INTO comment (post_id) VALUES (1), (2), (2)")
		_, err := countermysql.Drop(t.Context(), tw.Ours, &countermysql.DropOptions{Notice: time.Millisecond})
		require.NoError(t, err)
		require.Empty(t, triggersOf(t, tw))
		require.Equal(t, rows(t, tw.Direct, truth), rows(t, tw.Direct, "SELECT id, CAST(comments AS SIGNED), earned FROM post ORDER BY id"))
		harness.Affected(t, tw.Direct, "INSERT INTO comment (post_id) VALUES (1)") // nothing fails
	})
}

// TestMisfits proves which formulas Init and Check refuse for what the tables are.
func TestMisfits(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		const tables = `CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, maybe INT NULL, earned DECIMAL(8,1) NOT NULL DEFAULT 0);
CREATE TABLE comment (id BIGINT PRIMARY KEY, post_id INT, other_id BIGINT, amount DECIMAL(8,2), weight DOUBLE, likes INT NOT NULL DEFAULT 0, seen TIMESTAMP NULL)`
		for formula, problem := range map[string]string{
			"SELECT other_id, COUNT(*) FROM comment GROUP BY other_id":                         "give both one type and collation",
			"SELECT post_id, id, COUNT(*) FROM comment GROUP BY post_id, id":                   "its formula groups by 2 columns",
			"SELECT post_id, COUNT(*) FROM comments GROUP BY post_id":                          "is missing, or the user may not see it",
			"SELECT post_id, COUNT(*) FROM comment WHERE state = 1 GROUP BY post_id":           "has no column state",
			"SELECT post_id, SUM(amount) FROM comment GROUP BY post_id":                        "its formula's sum is a DECIMAL",
			"SELECT post_id, SUM(weight) FROM comment GROUP BY post_id":                        "its formula's sum is a DOUBLE",
			"SELECT post_id, SUM(likes) FROM comment GROUP BY post_id":                         "which is a counter or touch column itself",
			"SELECT post_id, COUNT(*) FROM comment WHERE seen > '2026-01-01' GROUP BY post_id": "which is another time in each session's time zone",
			"SELECT post_id, COUNT(HOUR(seen)) FROM comment GROUP BY post_id":                  "which is another time in each session's time zone",
		} {
			config := harness.Counters("post", "likes", "maybe", "earned")
			config.Tables[0].Derived = map[string]string{"likes": formula}
			config.Tables = append(config.Tables, countermysql.TableConfig{Table: "comment", Counters: []string{"likes"}})
			tw := harness.NewTwin(t, srv, tables, config)
			_, err := countermysql.Init(t.Context(), tw.Ours, nil)
			require.ErrorContains(t, err, problem, formula)
		}
		config := harness.Counters("post", "likes", "maybe", "earned")
		config.Tables[0].Derived = map[string]string{"maybe": "SELECT post_id, COUNT(*) FROM comment GROUP BY post_id"}
		tw := harness.NewTwin(t, srv, tables, config)
		_, err := countermysql.Init(t.Context(), tw.Ours, nil)
		require.ErrorContains(t, err, "make it NOT NULL")
		require.Len(t, problems(t, tw), 1)
		require.Contains(t, problems(t, tw)[0], "derived counter maybe is not kept")

		config.Tables[0].Derived = map[string]string{"likes": "SELECT post_id, COUNT(*) FROM comment GROUP BY post_id"}
		tw = harness.NewTwin(t, srv, tables+" ENGINE=MyISAM", config)
		_, err = countermysql.Init(t.Context(), tw.Ours, nil)
		require.ErrorContains(t, err, "has the engine MyISAM")

		config = harness.Counters("post", "likes", "earned") // whether a time is there is the same for all
		config.Tables[0].Derived = map[string]string{"likes": "SELECT post_id, COUNT(seen) FROM comment GROUP BY post_id", "earned": "SELECT post_id, COUNT(*) FROM comment WHERE seen IS NULL GROUP BY post_id"}
		tw = harness.NewTwin(t, srv, tables, config)
		initialized(t, tw.Ours)
		require.Empty(t, problems(t, tw))
	})
}

// TestExplainDerived proves what Explain says of a statement whose triggers write slots, and
// that one which reads them as well goes the exact way.
func TestExplainDerived(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPosts(t, srv)
		for stmt, class := range map[string]string{
			"INSERT INTO comment (post_id) VALUES (1)":                                               "verbatim",
			"DELETE FROM comment":                                                                    "verbatim",
			"INSERT INTO comment (post_id, amount) SELECT id, comments FROM post":                    "exact",
			"UPDATE comment c JOIN post p ON p.id = c.post_id SET c.text = 'x' WHERE p.comments > 1": "exact",
			"SELECT COUNT(*) FROM comment c JOIN post p ON p.id = c.post_id WHERE p.comments > 1":    "sum",
			"UPDATE post SET likes = likes - 1 WHERE id = 1 AND likes >= 1":                          "exact",
			"UPDATE post SET comments = comments + 1 WHERE id = 1":                                   "increment",
		} {
			x, err := countermysql.Explain(t.Context(), tw.Ours, stmt)
			require.NoError(t, err)
			require.EqualValues(t, class, x.Class, stmt)
			writes := strings.Contains(x.String(), "its triggers add to slots of ")
			require.Equal(t, strings.Contains(stmt, "INTO comment") || strings.HasPrefix(stmt, "DELETE") || strings.HasPrefix(stmt, "UPDATE comment"), writes, stmt)
		}
	})
}

// TestOverridden proves that Check and Explain tell of statements that set a derived counter in rows that there are,
// however they do, and of no others.
func TestOverridden(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for stmt, sets := range map[string]bool{
			"UPDATE post SET likes = likes + 1 WHERE id = 1":                                                               false,
			"INSERT INTO post (id, comments) VALUES (7, 0)":                                                                false,
			"INSERT INTO comment (post_id) VALUES (1)":                                                                     false,
			"UPDATE post SET comments = comments + 1 WHERE id = 1":                                                         true,
			"UPDATE post SET comments = 3 WHERE id = 999":                                                                  false,
			"UPDATE post SET comments = 3 WHERE id IN (SELECT id FROM (SELECT id FROM post WHERE likes >= 0) x)":           true,
			"UPDATE post SET comments = (SELECT n FROM (SELECT MAX(likes) n FROM post) x) WHERE id = 1":                    true,
			"INSERT INTO post (id, comments) SELECT 1, 1 ON DUPLICATE KEY UPDATE comments = 9":                             true,
			"REPLACE INTO post (id, comments) VALUES (1, 5)":                                                               true,
			"UPDATE post SET likes = 0, comments = 3 WHERE id = 1":                                                         true,
			"UPDATE post p JOIN comment c ON c.post_id = p.id SET p.comments = p.comments + 1":                             true,
			"INSERT INTO post (id, comments) VALUES (1, 1) ON DUPLICATE KEY UPDATE comments = comments + 1":                true,
			"INSERT INTO post (id, comments) VALUES (1, 9) ON DUPLICATE KEY UPDATE likes = 0, comments = VALUES(comments)": true,
		} {
			tw := newPosts(t, srv)
			harness.Affected(t, tw.Ours, stmt)
			x, err := countermysql.Explain(t.Context(), tw.Ours, stmt)
			require.NoError(t, err)
			const told = "is not what its formula says any more"
			want := []string(nil)
			if sets {
				want = []string{"statements of this process set derived counter comments, which then is not what its formula says"}
				require.Contains(t, x.String(), told, stmt)
			} else if !strings.Contains(stmt, "999") {
				require.NotContains(t, x.String(), told, stmt)
			}
			if got := problems(t, tw); strings.HasPrefix(stmt, "REPLACE") {
				require.Len(t, got, 2, stmt) // the other one as well
			} else {
				require.Equal(t, want, got, stmt)
			}
			_, err = countermysql.Recount(t.Context(), tw.Ours, &countermysql.RecountOptions{Repair: true})
			require.NoError(t, err)
			require.Empty(t, problems(t, tw), stmt)
		}
	})
}

// TestRecountedBesideLoad proves that a recount repairs what others have spoilt, by exactly that, while comments are
// written, moved and deleted, in slots and base rows, and rolled up.
func TestRecountedBesideLoad(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPosts(t, srv)
		var c harness.Crowd
		spoilt, repaired := int64(0), int64(0)
		writes := []string{
			"INSERT INTO comment (post_id, amount) VALUES (%d, 0.25)", "UPDATE comment SET post_id = 1 + post_id %% 5 WHERE post_id = %d ORDER BY id LIMIT 1",
			"DELETE FROM comment WHERE post_id = %d ORDER BY id DESC LIMIT 1", "INSERT INTO comment (post_id) VALUES (%d), (2)",
		}
		c.Run(8, func(i int) {
			db := tw.Ours
			if i == 0 {
				db = tw.Direct
			}
			for k := range 400 {
				stmt := fmt.Sprintf(writes[(i+k)%len(writes)], 1+(i+k)%5)
				if k%3 > 0 {
					_, err := db.ExecContext(t.Context(), stmt)
					c.Check(err)
					continue
				}
				tx, err := db.BeginTx(t.Context(), nil)
				if !c.Check(err) {
					return
				}
				if _, err := tx.ExecContext(t.Context(), stmt); !c.Check(err) {
					_ = tx.Rollback()
					continue
				}
				c.Check(tx.Commit())
			}
		}, func(i int) {
			if _, err := tw.Direct.ExecContext(t.Context(), "UPDATE post SET comments = comments + 1000, earned = earned - 7 WHERE id = ?", 1+i%5); !c.Check(err) {
				return
			}
			spoilt += 2
			for {
				drifts, err := countermysql.Recount(t.Context(), tw.Ours, &countermysql.RecountOptions{Repair: true})
				for _, d := range drifts {
					if d.Repaired {
						repaired++
					}
				}
				if err == nil && !slices.ContainsFunc(drifts, func(d countermysql.Drift) bool { return !d.Repaired }) {
					return
				}
			}
		}, func(int) {
			_, err := countermysql.Rollup(t.Context(), tw.Ours, nil)
			c.Check(err)
		})
		require.Nil(t, c.Failed.Load(), "%v", c.Failed.Load())
		requireExact(t, tw)
		require.Greater(t, spoilt, int64(10))
		require.Equal(t, spoilt, repaired, "nothing else was wrong")
	})
}

// TestCountedSource proves that a table with counters of its own can be counted by a formula:
// its increments go on as they are, and fire nothing.
func TestCountedSource(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.Counters("post", "comments")
		config.Tables[0].Derived = map[string]string{"comments": ofComments}
		config.Tables = append(config.Tables, countermysql.TableConfig{Table: "comment", Counters: []string{"likes"}})
		tw := harness.NewTwin(t, srv, `CREATE TABLE post (id INT PRIMARY KEY, comments INT NOT NULL DEFAULT 0);
CREATE TABLE comment (id BIGINT PRIMARY KEY, post_id INT, status VARCHAR(10) NOT NULL DEFAULT 'public', likes INT NOT NULL DEFAULT 0);
INSERT INTO post (id) VALUES (1), (2);
INSERT INTO comment (id, post_id) VALUES (1, 1), (2, 1), (3, 2)`, config)
		initialized(t, tw.Ours)
		require.Empty(t, problems(t, tw))
		for stmt, class := range map[string]string{
			"UPDATE comment SET likes = likes + 1 WHERE id = 1":                    "increment",
			"UPDATE comment SET likes = likes + 1, status = 'hidden' WHERE id = 2": "exact",
		} {
			x, err := countermysql.Explain(t.Context(), tw.Ours, stmt)
			require.NoError(t, err)
			require.EqualValues(t, class, x.Class, stmt)
			for _, db := range []harness.Execer{tw.Plain, tw.Ours} {
				harness.Affected(t, db, stmt)
			}
			tx, err := tw.Ours.Begin()
			require.NoError(t, err)
			harness.Affected(t, tx, stmt)
			require.NoError(t, tx.Rollback())
		}
		harness.Affected(t, tw.Ours, "DELETE FROM comment WHERE id = 1")
		require.EqualValues(t, 0, comments(t, tw.Ours, 1))
		require.EqualValues(t, 1, comments(t, tw.Ours, 2))
		require.EqualValues(t, 1, harness.Number(t, tw.Ours, "SELECT likes FROM comment WHERE id = 2"))
	})
}
