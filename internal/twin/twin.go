// Package twin plays one program on twin databases, through go-sql-driver/mysql
// and through countermysql, and wants the same answers of both. The program is
// told a driver's name and a DSN, as an application is; that is all that changes.
//
// The tests of the ecosystem use it, each in a module of its own:
//
//	func TestMain(m *testing.M) { os.Exit(twin.Main(m, config)) }
//
//	func TestLikes(t *testing.T) {
//		twin.Compare(t, func(t *testing.T, run *twin.Run) {
//			db, err := sql.Open(run.Driver, run.DSN)
//			…
//			run.Note("likes", likes, err)
//		})
//	}
package twin

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/countermysql/countermysql" // the driver
	"github.com/countermysql/countermysql/internal/testserver"
)

var servers []*testserver.Server

// Main runs the tests with servers and with the counters of config, a YAML
// file's text, in the environment.
func Main(m *testing.M, config string) (code int) {
	dir, err := os.MkdirTemp("", "twin")
	if err == nil {
		defer os.RemoveAll(dir)
		file := filepath.Join(dir, "counters.yaml")
		config = "rollup: {every: never}\n" + config // so that slots are compared
		err = errors.Join(os.WriteFile(file, []byte(config), 0o600), os.Setenv("COUNTERMYSQL_CONFIG", file))
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		defer cancel()
		servers, err = testserver.FromEnv(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, srv := range servers {
		defer srv.Stop()
	}
	return m.Run()
}

// Run is the run of a program on one of the twins.
type Run struct {
	Driver string
	DSN    string

	// Chance is what may differ in texts, as names made by chance; nil: nothing.
	Chance *regexp.Regexp

	database string
	start    time.Time
	ticks    atomic.Int64
	mu       sync.Mutex
	notes    []note
}

// note is one answer, by what was asked.
type note struct {
	what   string
	answer []any
}

// Note notes an answer to be compared: any values, and errors.
func (r *Run) Note(what string, answer ...any) {
	n := note{what: r.neutral(what)}
	for _, v := range answer {
		switch v := v.(type) {
		case error:
			n.answer = append(n.answer, r.neutral(errorText(v)))
		case string:
			n.answer = append(n.answer, r.neutral(v))
		default:
			n.answer = append(n.answer, v)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, n)
}

// Now is a clock that shows both twins the same times: those of now, a
// millisecond later at every look.
func (r *Run) Now() time.Time {
	return r.start.Add(time.Duration(r.ticks.Add(1)) * time.Millisecond)
}

// neutral leaves out which twin it is, and what came by chance.
func (r *Run) neutral(text string) string {
	text = strings.ReplaceAll(text, r.database, "twin")
	if r.Chance != nil {
		text = r.Chance.ReplaceAllString(text, "chance")
	}
	return text
}

func errorText(err error) string {
	var server *mysql.MySQLError
	if errors.As(err, &server) {
		return fmt.Sprintf("error %d (%s): %s", server.Number, server.SQLState, err)
	}
	return "error " + err.Error()
}

// Compare plays the program on both twins, on every server, and compares the
// notes and then what the tables hold, read through the same driver. Something
// has to be left in slots, or the comparison is of two plain drivers.
// Each of params is a DSN parameter, "name=value".
func Compare(t *testing.T, program func(t *testing.T, run *Run), params ...string) {
	t.Helper()
	require.NotEmpty(t, servers, "TestMain has to call twin.Main")
	for _, srv := range servers {
		t.Run(string(srv.Flavor()), func(t *testing.T) {
			// Ours comes first, so that times of Run.Now are still of now.
			start := time.Now().UTC().Truncate(time.Millisecond)
			ours := newRun(t, srv, "countermysql", start, params)
			plain := newRun(t, srv, "mysql", start, params)
			for _, run := range []*Run{ours, plain} {
				ok := t.Run(run.Driver, func(t *testing.T) {
					program(t, run)
					run.noteTables(t)
				})
				require.True(t, ok)
			}
			require.NotZero(t, left(t, srv, ours.database), "no increment went to a slot")
			plain.compare(t, ours)
		})
	}
}

// compare compares note by note.
func (plain *Run) compare(t *testing.T, ours *Run) {
	for i, want := range plain.notes {
		require.Less(t, i, len(ours.notes), "ours lacks: %s", want.what)
		got := ours.notes[i]
		require.Equal(t, want.what, got.what, "note %d", i)
		assert.Equal(t, want.answer, got.answer, "note %d: %s", i, want.what)
	}
	require.Len(t, ours.notes, len(plain.notes))
}

var databases atomic.Int64

func newRun(t *testing.T, srv *testserver.Server, driver string, start time.Time, params []string) *Run {
	t.Helper()
	name := fmt.Sprintf("twin_%d_%d_", os.Getpid(), databases.Add(1))
	admin, err := sql.Open("mysql", srv.DSN(""))
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := admin.Exec("DROP DATABASE " + name)
		require.NoError(t, errors.Join(err, admin.Close()))
	})
	_, err = admin.Exec("CREATE DATABASE " + name + " CHARACTER SET utf8mb4")
	require.NoError(t, err)
	return &Run{Driver: driver, DSN: srv.DSN(name, params...), database: name, start: start}
}
