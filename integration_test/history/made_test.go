package history

import (
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// problems are what Check says of the table.
func problems(t *testing.T, db *sql.DB) (all []string) {
	t.Helper()
	findings, err := countermysql.Check(t.Context(), db)
	require.NoError(t, err)
	for _, f := range harness.OnTables(findings) {
		all = append(all, string(f.Severity)+": "+f.Problem+"; "+f.Remedy)
	}
	return all
}

// about requires that there is one such, and returns it.
func about(t *testing.T, db *sql.DB, what string) string {
	t.Helper()
	all := problems(t, db)
	require.Len(t, all, 1)
	require.Contains(t, all[0], what)
	return all[0]
}

func class(t *testing.T, db *sql.DB, query string, args ...any) string {
	t.Helper()
	e, err := countermysql.Explain(t.Context(), db, query, args...)
	require.NoError(t, err)
	return string(e.Class) + " " + e.Reason
}

const like = "UPDATE post SET likes = likes + 1 WHERE id = ?"

// TestAsFast proves that a history makes no statement other than it is without one.
func TestAsFast(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config, other := posts(time.Hour), harness.Counters("post", counters...)
		config.Slots, other.Slots = 1, 1
		tw, _ := newPosts(t, srv, config)
		without := harness.NewTwin(t, srv, schema, other)
		require.Empty(t, problems(t, tw.Ours))
		for _, query := range []string{
			"UPDATE post SET likes = likes + 1 WHERE id = 1", "UPDATE post SET likes = 0 WHERE id = 1", "UPDATE post SET stock = stock - 1 WHERE id = 1 AND stock >= 1",
			"DELETE FROM post WHERE id = 1", "SELECT * FROM post WHERE id = 1", "UPDATE post SET title = 'x' WHERE id = 1",
			"INSERT INTO post (id, likes) VALUES (1, 1) ON DUPLICATE KEY UPDATE likes = likes + 1", "REPLACE INTO post (id) VALUES (1)",
		} {
			explained := func(db *sql.DB) string {
				e, err := countermysql.Explain(t.Context(), db, query)
				require.NoError(t, err)
				e.Steps = slices.DeleteFunc(e.Steps, func(s countermysql.ExplainedStep) bool { return strings.Contains(s.When, "to the history") })
				return strings.ReplaceAll(e.String(), harness.DbName(t, db), "db")
			}
			require.Equal(t, explained(without.Ours), explained(tw.Ours))
		}
	})
}

// TestMade proves what Init makes, that it makes what is outdated anew, and what becomes of
// statements and of Check until then.
func TestMade(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := posts(time.Hour)
		config.Tables[0].Counters = []string{"views", "likes"}
		tw := harness.NewTwin(t, srv, schema, config)
		require.Contains(t, problems(t, tw.Ours)[0], "its history table post_history is missing")
		dry, err := countermysql.Init(t.Context(), tw.Ours, &countermysql.InitOptions{DryRun: true})
		require.NoError(t, err)
		require.Equal(t, dry, initialize(t, tw.Ours))
		require.Len(t, dry, 5)
		require.Empty(t, initialize(t, tw.Ours))
		require.Empty(t, problems(t, tw.Ours))
		harness.Affected(t, tw.Direct, "UPDATE post SET likes = likes + 1, score = 5 WHERE id = 1")

		more := posts(time.Hour) // with other counters, in another order
		ours, _ := harness.OpenOurs(t, tw.OursDSN, more)
		dry, err = countermysql.Init(t.Context(), ours, &countermysql.InitOptions{DryRun: true})
		require.NoError(t, err)
		require.Len(t, dry, 10)
		require.Equal(t, dry, initialize(t, ours))
		require.Empty(t, initialize(t, ours))
		require.Empty(t, problems(t, ours))
		require.Empty(t, problems(t, tw.Ours)) // the columns of the slots table decide what is a counter
		require.Equal(t, "increment ", class(t, tw.Ours, like, 1))
		harness.Affected(t, tw.Direct, "UPDATE post SET likes = likes + 1, score = 6 WHERE id = 1")
		require.Equal(t, []string{"2 1.00"}, harness.QueriedList(t, tw.Direct, "SELECT CONCAT(SUM(likes), ' ', SUM(score)) FROM post_history"))

		daily, _ := harness.OpenOurs(t, tw.OursDSN, posts(24*time.Hour))
		require.Contains(t, about(t, daily, "in intervals of 1h0m0s"), "run countermysql init")
		require.Equal(t, "increment ", class(t, daily, like, 1))
		initialize(t, daily)
		require.Empty(t, problems(t, daily))
		renamed := posts(24 * time.Hour)
		renamed.Tables[0].History.Table = "`post hourly`"
		elsewhere, _ := harness.OpenOurs(t, tw.OursDSN, renamed)
		initialize(t, elsewhere)
		require.Empty(t, problems(t, elsewhere))
		require.EqualValues(t, 2, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE()"))

		without, _ := harness.OpenOurs(t, tw.OursDSN, harness.Counters("post", counters...))
		about(t, without, "which is not in this configuration")
		require.Equal(t, "increment ", class(t, without, like, 1))
	})
}

// TestOutdated proves that a trigger which is not what Init would make is any trigger, until
// Init has made it anew.
func TestOutdated(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw, _ := newPosts(t, srv, posts(time.Hour))
		harness.ExecAll(t, tw.Direct, "DROP TRIGGER post_history_au;\nCREATE TRIGGER post_history_au AFTER UPDATE ON post FOR EACH ROW INSERT INTO post_history (id, bucket, likes) VALUES (NEW.id, UTC_TIMESTAMP(), NEW.likes - OLD.likes)")
		require.Contains(t, strings.Join(problems(t, tw.Ours), "\n"), "run countermysql init, which makes it anew")
		require.Contains(t, class(t, tw.Ours, like, 1), "the table has been changed so that it could not become a counter table")
		initialize(t, tw.Ours)
		require.Empty(t, problems(t, tw.Ours))
		require.Equal(t, "increment ", class(t, tw.Ours, like, 1))

		harness.ExecAll(t, tw.Direct, "CREATE TRIGGER another AFTER UPDATE ON post FOR EACH ROW SET @a = 1")
		about(t, tw.Ours, "it has an UPDATE trigger, which an increment would not fire")
		harness.ExecAll(t, tw.Direct, "DROP TRIGGER another;\nDROP TRIGGER post_history_ai")
		about(t, tw.Ours, "a trigger that writes its history is missing")
		initialize(t, tw.Ours)
		require.Empty(t, problems(t, tw.Ours))

		harness.ExecAll(t, tw.Direct, "ALTER TABLE post MODIFY id BIGINT, MODIFY likes BIGINT NOT NULL DEFAULT 0;\nALTER TABLE post_history DROP COLUMN score")
		require.Contains(t, strings.Join(problems(t, tw.Ours), "\n"), "failure: its history table post_history does not fit; run countermysql init, or the statement")
		initialize(t, tw.Ours)
		require.Empty(t, problems(t, tw.Ours))
		require.EqualValues(t, 1, harness.Affected(t, tw.Direct, "UPDATE post SET likes = 9223372036854775807 WHERE id = 3"))

		harness.ExecAll(t, tw.Direct, "DROP TABLE post_history")
		about(t, tw.Ours, "failure: its history table post_history is missing")
		_, err := tw.Direct.Exec("UPDATE post SET likes = 1 WHERE id = 3")
		require.Equal(t, 1146, harness.ErrorNumber(err))
		harness.ExecAll(t, tw.Direct, "CREATE TABLE post_history (what VARCHAR(100))")
		about(t, tw.Ours, "failure: the name of its history table, post_history, is that of another table")
		_, err = countermysql.Init(t.Context(), tw.Ours, nil)
		require.ErrorContains(t, err, "choose another name")
	})
}

// TestDefiner proves that Check finds triggers whose definer does not exist, whatever their names: every
// change of a counter fails.
func TestDefiner(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, name := range []string{"post_history_au", "post_history_au_ghost"} {
			tw, _ := newPosts(t, srv, posts(time.Hour))
			user := "definer_" + harness.DbName(t, tw.Direct)[max(0, len(harness.DbName(t, tw.Direct))-8):]
			harness.ExecAll(t, tw.Direct, "CREATE USER "+user+";\nGRANT ALL ON *.* TO "+user)
			body := harness.QueriedList(t, tw.Direct, "SELECT ACTION_STATEMENT FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE() AND TRIGGER_NAME = 'post_history_au'")[0]
			harness.ExecAll(t, tw.Direct, "DROP TRIGGER post_history_au;\nCREATE DEFINER = "+user+" TRIGGER "+name+" AFTER UPDATE ON post FOR EACH ROW "+body)
			require.Empty(t, problems(t, tw.Ours))
			harness.ExecAll(t, tw.Direct, "DROP USER "+user)
			about(t, tw.Ours, "trigger "+harness.DbName(t, tw.Direct)+"."+name+" has the definer "+user+"@%, who is no more")
			_, err := tw.Direct.Exec("UPDATE post SET likes = 1 WHERE id = 3")
			require.Equal(t, 1449, harness.ErrorNumber(err))
		}
	})
}

// TestKeep proves that a rollup, and those in the background, remove what was kept for long
// enough, and nothing else.
func TestKeep(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := posts(time.Minute)
		config.Tables[0].History.Keep = time.Hour
		tw, _ := newPosts(t, srv, config)
		old := "INSERT INTO post_history (id, bucket) SELECT %s, UTC_TIMESTAMP() - INTERVAL 62 MINUTE FROM seq;\n"
		harness.ExecAll(t, tw.Direct, "CREATE TABLE seq (n INT PRIMARY KEY AUTO_INCREMENT);\nINSERT INTO seq VALUES (), (), (), (), (), (), (), (), ();\nINSERT INTO seq SELECT NULL FROM seq a, seq b, seq c, seq d LIMIT 2500;\n"+
			strings.ReplaceAll(old, "%s", "n")+"INSERT INTO post_history (id, bucket) VALUES (1, UTC_TIMESTAMP() - INTERVAL 60 MINUTE), (2, UTC_TIMESTAMP())")
		left := func() int64 { return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post_history") }
		require.EqualValues(t, 2511, left())
		harness.RollUp(t, tw.Ours)
		require.EqualValues(t, 2, left())

		harness.ExecAll(t, tw.Direct, strings.ReplaceAll(old, "%s", "n"))
		config.Rollup = time.Second
		background, _ := harness.OpenOurs(t, tw.OursDSN, config)
		harness.Affected(t, background, "UPDATE post SET title = 'x' WHERE id = 1") // the first statement begins it
		require.Eventually(t, func() bool { return left() == 2 }, 20*time.Second, 50*time.Millisecond)
	})
}

// TestKeepOfOtherInterval proves that an interval which has not ended is not removed by a process
// whose configuration has shorter ones already, while the triggers still write the longer ones.
func TestKeepOfOtherInterval(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw, _ := newPosts(t, srv, posts(24*time.Hour))
		harness.ExecAll(t, tw.Direct, "INSERT INTO post_history (id, bucket) VALUES (1, UTC_TIMESTAMP() - INTERVAL 20 HOUR), (1, UTC_TIMESTAMP() - INTERVAL 26 HOUR)")
		config := posts(time.Minute)
		config.Tables[0].History.Keep = time.Hour
		shorter, _ := harness.OpenOurs(t, tw.OursDSN, config)
		harness.RollUp(t, shorter)
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post_history"))
	})
}

// TestLeaving proves that Drop drops the triggers, and leaves the history, of which it tells,
// unless it is asked to drop that too.
func TestLeaving(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw, _ := newPosts(t, srv, posts(time.Hour))
		triggers := func() int64 {
			return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE()")
		}
		harness.Affected(t, tw.Ours, like, 1)
		_, err := countermysql.Drop(t.Context(), tw.Ours, &countermysql.DropOptions{Notice: 1, StopOnly: true})
		require.NoError(t, err)
		require.EqualValues(t, 2, triggers())
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT SUM(likes) FROM post_history"))
		harness.Affected(t, tw.Ours, like, 1)
		require.EqualValues(t, 2, harness.Number(t, tw.Direct, "SELECT SUM(likes) FROM post_history"))
		_, err = countermysql.Drop(t.Context(), tw.Ours, &countermysql.DropOptions{Notice: 1, StopOnly: true, History: true})
		require.ErrorContains(t, err, "leave out History")
		stay := map[string]string{}
		options := countermysql.DropOptions{Notice: 1, Stays: func(table, statement string) { stay[table] = statement }}
		_, err = countermysql.Drop(t.Context(), tw.Ours, &options)
		require.NoError(t, err)
		require.Zero(t, triggers())
		require.EqualValues(t, 2, harness.Number(t, tw.Direct, "SELECT SUM(likes) FROM post_history"))
		db := harness.DbName(t, tw.Direct)
		require.Equal(t, map[string]string{db + ".post_history": "DROP TABLE `" + db + "`.`post_history`"}, stay)

		harness.ExecAll(t, tw.Direct, "CREATE TABLE other_history (id INT);\nRENAME TABLE post_history TO kept, other_history TO post_history")
		clear(stay)
		options.History = true
		_, err = countermysql.Drop(t.Context(), tw.Ours, &options)
		require.NoError(t, err)
		require.Empty(t, stay)
		harness.ExecAll(t, tw.Direct, "SELECT * FROM post_history;\nRENAME TABLE post_history TO other_history, kept TO post_history") // somebody else's
		_, err = countermysql.Drop(t.Context(), tw.Ours, &options)
		require.NoError(t, err)
		require.Empty(t, stay)
		require.Equal(t, []string{"other_history", "post"}, harness.QueriedList(t, tw.Direct, "SHOW TABLES"))
	})
}

// TestBinaryLog proves that Init says what to do where the server lets nobody without SUPER
// make triggers, and does it then.
func TestBinaryLog(t *testing.T) {
	harness.RefusesTriggers(t, schema, posts(time.Hour), func(t *testing.T, tw *harness.Twin, app *sql.DB) {
		require.Empty(t, problems(t, app))
		harness.Affected(t, app, "UPDATE post SET likes = 1 WHERE id = 3")
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT likes FROM post_history"))
	})
}

// TestDDL proves that DDL through the driver folds slots into the history as into the base
// rows, and that Init follows it.
func TestDDL(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw, before := newPosts(t, srv, posts(time.Hour))
		tw.Play(t, "A: UPDATE post SET likes = likes + 5 WHERE id = 3", "A: ALTER TABLE post MODIFY title VARCHAR(40) NOT NULL DEFAULT ''",
			"A: RENAME TABLE post TO article", "A: RENAME TABLE article TO post", "A: UPDATE post SET likes = likes + 1 WHERE id = 3",
			"A: UPDATE post SET likes = likes + 5 WHERE id = 4", "A: ALTER TABLE post MODIFY id BIGINT NOT NULL", "A: UPDATE post SET likes = likes + 5 WHERE id = 4")
		harness.RollUp(t, tw.Ours)
		initialize(t, tw.Ours)
		require.Empty(t, problems(t, tw.Ours))
		tw.Play(t, "A: UPDATE post SET likes = likes + 5 WHERE id = 5", "A: ALTER TABLE post DROP PRIMARY KEY, ADD PRIMARY KEY (id, likes)", "A: ALTER TABLE post DROP PRIMARY KEY, ADD PRIMARY KEY (id)")
		written(t, tw, before)
		require.Empty(t, problems(t, tw.Ours))
		tw.Play(t, "A: ALTER TABLE post ADD COLUMN slug INT NOT NULL DEFAULT 0", "A: UPDATE post SET slug = id", "A: UPDATE post SET likes = likes + 5 WHERE id = 6", "A: ALTER TABLE post DROP PRIMARY KEY, ADD PRIMARY KEY (slug)")
		written(t, tw, before)
		_, err := countermysql.Init(t.Context(), tw.Ours, nil)
		require.ErrorContains(t, err, "its history table post_history is for another key")
	})
}

// TestBackquotedCounter proves that the triggers of a history are known again that name a column
// with a backquote, which MySQL shows otherwise, and those of a derived counter.
func TestBackquotedCounter(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.Counters("p", "`n``c`", "m")
		config.Tables[0].History = &countermysql.History{}
		config.Tables[0].Derived = map[string]string{"m": "SELECT `p``id`, COUNT(*) FROM c GROUP BY `p``id`"}
		tw := harness.NewTwin(t, srv, "CREATE TABLE p (id INT PRIMARY KEY, `n``c` INT NOT NULL DEFAULT 0, m INT NOT NULL DEFAULT 0);\nINSERT INTO p (id) VALUES (1);\nCREATE TABLE c (`p``id` INT)", config)
		_, err := countermysql.Init(t.Context(), tw.Ours, nil)
		require.NoError(t, err)
		again, err := countermysql.Init(t.Context(), tw.Ours, nil)
		require.NoError(t, err)
		require.Empty(t, again)
		require.Empty(t, problems(t, tw.Ours))
		harness.Affected(t, tw.Ours, "UPDATE p SET `n``c` = `n``c` + 3 WHERE id = 1")
		harness.Affected(t, tw.Ours, "INSERT INTO c VALUES (1), (1)")
		_, err = countermysql.Rollup(t.Context(), tw.Ours, nil)
		require.NoError(t, err)
		require.EqualValues(t, 3, harness.Number(t, tw.Direct, "SELECT CAST(SUM(`n``c`) AS SIGNED) FROM p_history"))
		require.EqualValues(t, 2, harness.Number(t, tw.Direct, "SELECT CAST(SUM(m) AS SIGNED) FROM p_history"))
	})
}
