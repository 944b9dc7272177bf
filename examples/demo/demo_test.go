package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestDemo runs it as `make demo` does and, on a MySQL, as with -dsn; or on the
// servers of COUNTERMYSQL_TEST_DSN.
func TestDemo(t *testing.T) {
	dsns := strings.Fields(os.Getenv(testserver.EnvDSN))
	if len(dsns) == 0 {
		srv, err := testserver.Start(t.Context(), testserver.MySQL)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(srv.Stop)
		dsns = []string{"", srv.DSN("")}
	}
	for _, dsn := range dsns {
		t.Run("server", func(t *testing.T) {
			args := []string{"-seconds", "1", "-clients", "8"}
			if dsn != "" {
				args = append(args, "-dsn", dsn)
			}
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), args, &stdout, &stderr)
			t.Logf("%s%s", &stdout, &stderr)
			if code != exitOK {
				t.Errorf("exit code %d", code)
			}
			rows := 0
			for _, d := range setups {
				for _, what := range []string{`│ +[\d,]+ │ +[\d.]+ │ +[\d.]+ ms │ +[\d,]+ │`, `│ +[\d,]+ │.* │ right │`} {
					rows += len(regexp.MustCompile(`│ `+d.driver+` *`+what).FindAllString(stdout.String(), -1))
				}
			}
			if want := len(setups) * (len(workloads) + 7); rows != want {
				t.Errorf("the tables have %d complete rows, not %d", rows, want)
			}
			if strings.Contains(stdout.String(), "\x1b") {
				t.Error("escape sequences, though the output is no terminal")
			}
		})
	}
}

// TestInterrupted ends the demo as Ctrl-C does.
func TestInterrupted(t *testing.T) {
	if os.Getenv(testserver.EnvDSN) != "" {
		t.Log("the server is not ours to look after") // all else is in TestDemo
		return
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	stdout := &watcher{text: "ms of other work", then: func() { time.AfterFunc(time.Second, interrupt) }}
	var stderr bytes.Buffer
	if code := run(ctx, nil, stdout, &stderr); code != exitInterrupted {
		t.Errorf("exit code %d: %s%s", code, stdout, &stderr)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// watcher does something when a text is written.
type watcher struct {
	bytes.Buffer
	text string
	then func()
}

func (w *watcher) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if w.then != nil && strings.Contains(w.String(), w.text) {
		w.then()
		w.then = nil
	}
	return n, err
}

func TestWrongCount(t *testing.T) {
	var out bytes.Buffer
	o := outcome{driver: "countermysql", counts: []count{
		{name: "post 1: likes", acknowledged: 7, logged: true, log: 7, counted: 6},
		{name: "post 1: views", acknowledged: 7, counted: 7},
	}}
	if err := newScreen(&out).counts([]outcome{o}); err == nil || strings.Count(out.String(), "WRONG") != 1 {
		t.Errorf("error %v, and:\n%s", err, &out)
	}
}

func TestNoPassword(t *testing.T) {
	for _, dsn := range []string{
		"root:s3cret@tcp(127.0.0.1:1)/",
		"root:s3cret/x@tcp(127.0.0.1:1)",
		"root:s3cret@tcp(127.0.0.1:1",
		"root:s3cret@tcp(127.0.0.1:1)/?timeout=s3cret",
	} {
		var out bytes.Buffer
		if code := run(t.Context(), []string{"-dsn", dsn}, &out, &out); code != exitFailed {
			t.Errorf("exit code %d", code)
		}
		if strings.Contains(out.String(), "s3cret") || !strings.Contains(out.String(), "demo: ") {
			t.Error(out.String())
		}
	}
}

func TestFlags(t *testing.T) {
	for args, want := range map[string]int{
		"-h":              exitOK,
		"-seconds x":      exitUsage,
		"-seconds 0":      exitUsage,
		"-clients -1":     exitUsage,
		"something":       exitUsage,
		"-mysql -dsn a@/": exitUsage,
	} {
		var out bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), &out, &out); code != want || out.Len() == 0 {
			t.Errorf("%s: exit code %d: %s", args, code, &out)
		}
	}
}
