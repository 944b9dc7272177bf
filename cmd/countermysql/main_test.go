package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

// tool is a database and what the tool needs to work on it.
type tool struct {
	t      *testing.T
	dsn    string
	config string
	plain  *sql.DB // go-sql-driver's
	ours   *sql.DB
}

const schema = `
CREATE TABLE blog (id INT PRIMARY KEY, posts INT NOT NULL DEFAULT 0, views BIGINT NOT NULL DEFAULT 0);
INSERT INTO blog (id) VALUES (1), (2), (3), (4);
CREATE TABLE post (id BIGINT PRIMARY KEY AUTO_INCREMENT, blog INT NOT NULL, INDEX (blog))`

const configuration = `
slots: 8
tables:
  - table: blog
    counters: [posts, views]
    recount:
      posts: SELECT blog, COUNT(*) FROM post GROUP BY blog
`

func TestMain(m *testing.M) {
	if line := os.Getenv(asTool); line != "" {
		os.Exit(run(context.Background(), strings.Fields(line), os.Stdin, os.Stdout, os.Stderr))
	}
	code := m.Run()
	testserver.StopShared()
	os.Exit(code)
}

// forEachServer makes a database with the schema on every server.
func forEachServer(t *testing.T, test func(t *testing.T, o *tool)) {
	servers, err := testserver.Shared(t.Context())
	require.NoError(t, err)
	for _, srv := range servers {
		t.Run(string(srv.Flavor()), func(t *testing.T) { test(t, newTool(t, srv)) })
	}
}

func newTool(t *testing.T, srv *testserver.Server) *tool {
	t.Helper()
	name := fmt.Sprintf("cmd_%d_%d", os.Getpid(), time.Now().UnixNano()%1e9)
	admin, err := sql.Open("mysql", srv.DSN(""))
	require.NoError(t, err)
	t.Cleanup(func() { admin.Close() })
	_, err = admin.Exec("CREATE DATABASE " + name)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := admin.Exec("DROP DATABASE IF EXISTS " + name)
		require.NoError(t, err)
	})
	o := &tool{t: t, dsn: srv.DSN(name), config: filepath.Join(t.TempDir(), "counters.yaml")}
	require.NoError(t, os.WriteFile(o.config, []byte(configuration), 0o600))
	o.plain, err = sql.Open("mysql", o.dsn)
	require.NoError(t, err)
	t.Cleanup(func() { o.plain.Close() })
	for stmt := range strings.SplitSeq(schema, ";\n") {
		o.exec(o.plain, stmt)
	}
	o.ours, err = sql.Open("countermysql", o.dsn+"?counterRollup=never&counterConfig="+strings.ReplaceAll(o.config, "/", "%2F")) // its slots stay
	require.NoError(t, err)
	t.Cleanup(func() { o.ours.Close() })
	return o
}

func (o *tool) exec(db *sql.DB, stmt string, args ...any) {
	o.t.Helper()
	_, err := db.ExecContext(o.t.Context(), stmt, args...)
	require.NoError(o.t, err, stmt)
}

func (o *tool) number(db *sql.DB, query string) (n int64) {
	o.t.Helper()
	require.NoError(o.t, db.QueryRowContext(o.t.Context(), query).Scan(&n), query)
	return n
}

// run runs a command and requires its exit code.
func (o *tool) run(want int, args ...string) (out, err string) {
	o.t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(o.t.Context(), append(args, "--dsn", o.dsn, "--config", o.config), strings.NewReader(""), &stdout, &stderr)
	require.Equal(o.t, want, code, "%v\n%s%s", args, &stdout, &stderr)
	require.NotContains(o.t, stdout.String()+stderr.String(), "\x1b", "escape sequences, though there is no terminal")
	return stdout.String(), stderr.String()
}

// runJSON is run for --json.
func (o *tool) runJSON(want int, into any, args ...string) {
	o.t.Helper()
	out, _ := o.run(want, append(args, "--json")...)
	require.NoError(o.t, json.Unmarshal([]byte(out), into), out)
	var all any
	require.NoError(o.t, json.Unmarshal([]byte(out), &all), out)
	o.inStyle(all, out)
}

// inStyle requires that names are as in SQL, and that what looks like a number is one.
func (o *tool) inStyle(value any, out string) {
	o.t.Helper()
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			require.Regexp(o.t, `^[a-z][a-z0-9]*(_[a-z0-9]+)*$`, name, out)
			o.inStyle(v, out)
		}
	case []any:
		for _, v := range value {
			o.inStyle(v, out)
		}
	case string:
		require.NotRegexp(o.t, `^-?\d+(\.\d+)?$`, value, out)
	}
}

// TestInitAsks proves that init tells in JSON what it has done after it has asked.
func TestInitAsks(t *testing.T) {
	t.Setenv("COUNTERMYSQL_CONFIG", "") // which open sets
	forEachServer(t, func(t *testing.T, o *tool) {
		for _, answer := range []string{"n\n", "y\n"} {
			var stdout, stderr bytes.Buffer
			s, err := open(t.Context(), &commandLine{DSN: o.dsn, Config: o.config, JSON: true}, strings.NewReader(answer), &stdout, &stderr)
			require.NoError(t, err)
			defer s.db.Close()
			s.screen.person = true
			err = (&initCommand{}).run(s)
			var made initialized
			require.NoError(t, json.Unmarshal(stdout.Bytes(), &made), stdout.String())
			require.Len(t, made.Statements, 1)
			require.Contains(t, stderr.String(), made.Statements[0])
			require.Equal(t, answer == "y\n", made.Run)
			require.Equal(t, made.Run, err == nil)
		}
	})
}

// TestTwoFiles proves that a file which would have no effect is a mistake.
func TestTwoFiles(t *testing.T) {
	t.Setenv("COUNTERMYSQL_CONFIG", "")
	const dsn = "app@tcp(127.0.0.1:1)/forum?counterConfig=a.yaml"
	_, err := open(t.Context(), &commandLine{DSN: dsn, Config: "b.yaml"}, strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	require.ErrorContains(t, err, "two files")
	t.Setenv("COUNTERMYSQL_CONFIG", "b.yaml") // for which the DSN is the better one
	_, err = open(t.Context(), &commandLine{DSN: dsn, Config: "b.yaml"}, strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	require.NotContains(t, err.Error(), "two files")
	t.Setenv("COUNTERMYSQL_CONFIG", "")
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("a.yaml", []byte(configuration), 0o600))
	whole, err := filepath.Abs("a.yaml")
	require.NoError(t, err)
	_, err = open(t.Context(), &commandLine{DSN: dsn, Config: whole}, strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	require.ErrorContains(t, err, "no answer from") // it is the same file
}

// TestCommands takes a table from its adoption to its leave, by every command.
func TestCommands(t *testing.T) {
	forEachServer(t, func(t *testing.T, o *tool) {
		o.t = t
		const slots = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'blog_slots'"
		out, _ := o.run(exitFound, "check")
		require.Contains(t, out, "failure ")
		require.Contains(t, out, "blog_slots is missing; run countermysql init")
		out, _ = o.run(exitOK, "explain", "UPDATE blog SET posts = posts + 1 WHERE id = 1")
		require.Contains(t, out, "increment")
		require.Contains(t, out, "CREATE TABLE IF NOT EXISTS")
		_, failure := o.run(exitFailed, "explain", "--run", "UPDATE blog SET posts = posts + 1 WHERE id = 1")
		require.Contains(t, failure, "countermysql init makes it")
		require.NoError(t, os.WriteFile(o.config, []byte("create_slots: true\n"+configuration), 0o600))
		out, _ = o.run(exitOK, "check")
		require.Contains(t, out, "warning ")
		require.Contains(t, out, "the application makes it")
		require.NoError(t, os.WriteFile(o.config, []byte(configuration), 0o600))

		out, err := o.run(exitAsks, "init")
		require.Contains(t, out, "CREATE TABLE IF NOT EXISTS")
		require.Contains(t, err, "--yes")
		require.Zero(t, o.number(o.plain, slots))
		var made initialized
		o.runJSON(exitOK, &made, "init", "--yes")
		require.Len(t, made.Statements, 1)
		require.True(t, made.Run)
		out, _ = o.run(exitOK, "init")
		require.Equal(t, "nothing to do\n", out)
		var findings []finding
		o.runJSON(exitOK, &findings, "check")
		for _, f := range findings {
			require.Empty(t, f.Table, "%v", f)
		}

		var e explained
		o.runJSON(exitOK, &e, "explain", "UPDATE blog SET posts = posts + ? WHERE id = ?", "2", "1")
		require.Equal(t, "increment", e.Class)
		require.Contains(t, e.Steps[0].SQL, "INSERT INTO")
		o.runJSON(exitOK, &e, "explain", "--run", "SELECT posts FROM blog WHERE id = ?", "1")
		require.Equal(t, "sum", e.Class)
		require.Len(t, e.Plans, 3) // the statement, with hidden columns, with sums
		require.NotEmpty(t, e.Plans[1].Plan)
		var stdout, stderr bytes.Buffer
		require.Equal(t, exitOK, run(t.Context(), []string{"explain", "--dsn", o.dsn, "--config", o.config, "--", "-- name: Count\nUPDATE blog SET posts = posts + ? WHERE id = ?", "-2", "1"}, strings.NewReader(""), &stdout, &stderr), "%s", &stderr)
		require.Contains(t, stdout.String(), ", -2 FROM", "%s", &stdout)
		out, _ = o.run(exitOK, "explain", "--run", "UPDATE blog SET posts = 0 WHERE id = 1")
		require.Contains(t, out, "exact: ")
		require.Contains(t, out, "the server's plan of UPDATE blog SET posts = 0 WHERE id = 1")
		require.Zero(t, o.number(o.plain, "SELECT COUNT(*) FROM blog_slots"), "explain has run it")

		for id := 1; id <= 4; id++ {
			o.exec(o.ours, "UPDATE blog SET posts = posts + ?, views = views + 1 WHERE id = ?", id, id)
			for range id {
				o.exec(o.ours, "INSERT INTO post (blog) VALUES (?)", id)
			}
		}
		_, err = o.run(exitAsks, "rollup")
		require.Contains(t, err, "the slots of all listed tables are added to their base rows")
		require.Zero(t, o.number(o.plain, "SELECT SUM(posts) FROM blog"))
		out, _ = o.run(exitOK, "rollup", "--yes")
		require.Regexp(t, `\.blog │ +4 │ +4 │ +0 │ +0 │ +0 │`, out)
		require.EqualValues(t, 10, o.number(o.plain, "SELECT SUM(posts) FROM blog"))
		var done []rolledUp
		o.runJSON(exitOK, &done, "rollup", "--yes", "--table", "blog", "--max-lock-ms", "5")
		require.Len(t, done, 1)
		require.Zero(t, done[0].Keys)
		_, err = o.run(exitFailed, "rollup", "--yes", "--table", "blgo")
		require.Contains(t, err, "there is no such table with counters")

		out, _ = o.run(exitOK, "recount")
		require.Equal(t, "0 differences\n", out)
		t.Setenv("COUNTERMYSQL_CONFIG", "")
		var none, mistake bytes.Buffer
		require.Equal(t, exitUsage, run(t.Context(), []string{"recount", "--dsn", o.dsn + "?counters=blog.views"}, strings.NewReader(""), &none, &mistake))
		require.Empty(t, none.String(), "nothing was looked for")
		require.Contains(t, mistake.String(), "no counter has a query")
		o.exec(o.plain, "UPDATE blog SET posts = 100 WHERE id = 2")
		var drifts []drift
		o.runJSON(exitFound, &drifts, "recount")
		require.Equal(t, []drift{{Table: drifts[0].Table, Counter: "posts", Key: "id=2", Value: 100.0, Recounted: 2.0}}, drifts)
		o.run(exitAsks, "recount", "--repair")
		require.EqualValues(t, 100, o.number(o.ours, "SELECT posts FROM blog WHERE id = 2"))
		out, _ = o.run(exitOK, "recount", "--repair", "--yes")
		require.Contains(t, out, "1 differences")
		require.EqualValues(t, 2, o.number(o.ours, "SELECT posts FROM blog WHERE id = 2"))

		o.exec(o.ours, "UPDATE blog SET posts = posts + 5 WHERE id = 3")
		var seen view
		o.runJSON(exitOK, &seen, "top", "--every", "100ms", "--count", "1")
		require.Equal(t, json.Number("5"), seen.Counters[0].Pending)
		require.EqualValues(t, 1, seen.Tables[0].Rows)
		o.exec(o.plain, "UPDATE blog SET posts = posts - 5 WHERE id = 3")
		out, _ = o.run(exitOK, "top", "--every", "10ms", "--count", "1")
		require.Contains(t, out, "pending rollup")

		o.run(exitAsks, "drop")
		require.EqualValues(t, 1, o.number(o.plain, slots))
		_, err = o.run(exitOK, "drop", "--yes", "--wait", "10ms")
		require.Contains(t, err, "the slots tables are closed and rolled up, and then dropped")
		require.Zero(t, o.number(o.plain, slots))
		require.EqualValues(t, 10, o.number(o.plain, "SELECT SUM(posts) FROM blog"))
	})
}

// TestTop proves that what arrives between two looks is shown, by key.
func TestTop(t *testing.T) {
	forEachServer(t, func(t *testing.T, o *tool) {
		o.t = t
		o.run(exitOK, "init", "--yes")
		stop := make(chan struct{})
		finished := make(chan struct{})
		go func() {
			defer close(finished)
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
					o.exec(o.ours, "UPDATE blog SET views = views + 2 WHERE id = 3")
				}
			}
		}()
		var seen view
		o.runJSON(exitOK, &seen, "top", "--every", "1s", "--count", "1")
		close(stop)
		<-finished
		require.Positive(t, seen.Counters[1].PerSecond)
		require.Zero(t, seen.Counters[0].PerSecond)
		require.Equal(t, "id=3", seen.Hottest[0].Key)
		require.Equal(t, "views", seen.Hottest[0].Counter)
		require.InDelta(t, seen.Counters[1].PerSecond, seen.Hottest[0].PerSecond, 0.001)
		require.Positive(t, seen.Server.Statements)
		require.Positive(t, seen.Counters[1].SlotsWritten)
		require.Equal(t, seen.Counters[1].SlotsWritten, seen.Hottest[0].SlotsWritten)
		require.Positive(t, seen.Hottest[0].Read.BaseSeconds)
		require.InDelta(t, seen.Hottest[0].Read.Seconds/seen.Hottest[0].Read.BaseSeconds, seen.Hottest[0].Read.Ratio, 0.001)
	})
}

// TestCommandLine proves that mistakes are told as such, without passwords, and
// that every command's help has an example.
func TestCommandLine(t *testing.T) {
	t.Setenv("COUNTERMYSQL_DSN", "")
	t.Setenv("COUNTERMYSQL_CONFIG", "")
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{nil, exitUsage, "expected one of"},
		{[]string{"explain", "--dsn", "u@tcp(127.0.0.1:1)/forum?counters=post.likes"}, exitUsage, "expected \"<sql>\""},
		{[]string{"chek"}, exitUsage, "unexpected argument chek"},
		{[]string{"check"}, exitUsage, "give the application's DSN"},
		{[]string{"check", "--dsn", "user:s3cret@tcp(127.0.0.1:1/forum"}, exitUsage, "the DSN can't be read"},
		{[]string{"check", "--dsn", "user:s3cret@tcp(127.0.0.1:1)/forum"}, exitUsage, "no counters are listed"},
		{[]string{"check", "--dsn", "user:s3cret@tcp(127.0.0.1:1)/forum?counters=likes"}, exitUsage, "names no table"},
		{[]string{"check", "--dsn", "user:s3cret@tcp(127.0.0.1:1)/forum?counters=post.likes"}, exitFailed, "no answer from tcp(127.0.0.1:1)"},
		{[]string{"check", "--dsn", "user:s3cret@tcp(127.0.0.1:1)/forum", "--config", "missing.yaml"}, exitUsage, "missing.yaml"},
		{[]string{"check", "--dsn", "user:s3cret#tcp(127.0.0.1:1)/forum?counters=post.likes"}, exitUsage, "the DSN can't be read"},
		{[]string{"check", "--dsn", "user:s3cret@tcp(127.0.0.1:1)/forum?tls=s3cret&counters=post.likes"}, exitUsage, "use true, skip-verify or preferred"},
		{[]string{"check", "--dsn", "user:s3cret@s3cret(127.0.0.1:1)/forum?counters=post.likes"}, exitUsage, "use tcp(host:port) or unix(/path)"},
		{[]string{"check", "user:s3cret@tcp(127.0.0.1:1)/forum?counters=post.likes"}, exitUsage, "unexpected argument user:…@tcp(127.0.0.1:1)/forum"},
		{[]string{"user:s3cr@s3cret@tcp(127.0.0.1:1)/forum?counters=post.likes"}, exitUsage, "unexpected argument user:…@tcp(127.0.0.1:1)/forum"},
		{[]string{"check", "user:s3cret with s3cret@tcp(127.0.0.1:1)/forum?counters=post.likes"}, exitUsage, "unexpected argument user:…@tcp(127.0.0.1:1)/forum"},
		{[]string{"check", "user:s3cret#tcp(127.0.0.1:1)/forum?counters=post.likes"}, exitUsage, "unexpected argument user:…/forum"},
		{[]string{"rollup", "--max-lock-ms", "x"}, exitUsage, "max-lock-ms"},
		{[]string{"rollup", "--max-lock-ms=-1"}, exitUsage, "can't be negative"},
		{[]string{"rollup", "--every=-1s"}, exitUsage, "can't be negative"},
		{[]string{"recount", "--max-lock-ms=-1"}, exitUsage, "can't be negative"},
		{[]string{"drop", "--wait=-1s"}, exitUsage, "can't be negative"},
		{[]string{"top", "--keys=-1"}, exitUsage, "can't be negative"},
		{[]string{"top", "--every=0s"}, exitUsage, "must be positive"},
	} {
		t.Setenv("COUNTERMYSQL_CONFIG", "") // which --config sets
		var stdout, stderr bytes.Buffer
		require.Equal(t, test.code, run(t.Context(), test.args, strings.NewReader(""), &stdout, &stderr), "%v", test.args)
		require.Contains(t, stderr.String(), test.want, "%v", test.args)
		require.NotContains(t, stdout.String()+stderr.String(), "s3cret")
	}
	for _, command := range []string{"check", "init", "explain", "rollup", "recount", "advise", "top", "drop"} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, exitOK, run(t.Context(), []string{command, "--help"}, strings.NewReader(""), &stdout, &stderr))
		require.Contains(t, stdout.String(), "Example")
		require.Contains(t, stdout.String(), "    countermysql "+command+" --dsn")
	}
}

// TestVersion proves that --version needs no server, and names what the tool is made of.
func TestVersion(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitOK, run(t.Context(), []string{"--version"}, strings.NewReader(""), &stdout, &stderr))
	require.Regexp(t, `^countermysql \S+, github.com/go-sql-driver/mysql v1\.\S+, go1\.\S+\n$`, stdout.String())
}

// TestExplainNothing proves that no statement is a mistake, and that one which the server
// can't parse goes to it as it is.
func TestExplainNothing(t *testing.T) {
	forEachServer(t, func(t *testing.T, o *tool) {
		o.t = t
		o.run(exitOK, "init", "--yes")
		for _, nothing := range []string{"", " ", "# a comment"} {
			_, err := o.run(exitFailed, "explain", nothing)
			require.Contains(t, err, "there is no statement to explain")
		}
		out, _ := o.run(exitOK, "explain", "UPDTE blog SET posts = posts + 1 WHERE id = 1")
		require.Contains(t, out, "verbatim: the server can't parse it")
	})
}

// TestRollupEvery proves that a rollup which goes on prints what has changed, and no more.
func TestRollupEvery(t *testing.T) {
	forEachServer(t, func(t *testing.T, o *tool) {
		o.t = t
		o.run(exitOK, "init", "--yes")
		for _, test := range []struct{ flag, want string }{{"", `^[0-9:]{8} \S+\.blog: 1 rows, 1 slots, 0 orphans, 0 busy, 0 left\n$`}, {"--json", `^\[\{"table":"\S+\.blog","keys":1,"slots":1,\S+\}\]\n$`}} {
			o.exec(o.ours, "UPDATE blog SET posts = posts + 3 WHERE id = 3")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			stdout, stderr := endsAfter{&bytes.Buffer{}, time.Second, cancel}, bytes.Buffer{}
			args := []string{"rollup", "--every", "50ms", "--yes", "--dsn", o.dsn, "--config", o.config}
			if test.flag != "" {
				args = append(args, test.flag)
			}
			require.Equal(t, exitInterrupted, run(ctx, args, strings.NewReader(""), stdout, &stderr), "%s", &stderr)
			require.Regexp(t, test.want, stdout.String())
		}
	})
}

// endsAfter ends a command some time after it has written something.
type endsAfter struct {
	*bytes.Buffer
	after time.Duration
	end   func()
}

func (e endsAfter) Write(p []byte) (int, error) {
	time.AfterFunc(e.after, e.end)
	return e.Buffer.Write(p)
}

// TestInterrupted proves that Ctrl-C ends a command that goes on for ever.
func TestInterrupted(t *testing.T) {
	forEachServer(t, func(t *testing.T, o *tool) {
		o.t = t
		o.run(exitOK, "init", "--yes")
		for _, args := range [][]string{{"rollup", "--every", "1s", "--yes"}, {"top", "--every", "1s"}} {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			var stdout, stderr bytes.Buffer
			require.Equal(t, exitInterrupted, run(ctx, append(args, "--dsn", o.dsn, "--config", o.config), strings.NewReader(""), &stdout, &stderr), "%s", &stderr)
			require.Contains(t, stderr.String(), "interrupted")
		}
	})
}
