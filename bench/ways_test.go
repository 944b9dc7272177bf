package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestMain lets this program be the process that is killed.
func TestMain(m *testing.M) {
	if text := os.Getenv(errandVariable); text != "" {
		if err := runErrand(text); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if started.all != nil {
		started.all.stop()
	}
	os.Exit(code)
}

// started are the servers of all tests that need no others.
var started struct {
	once sync.Once
	all  *servers
	err  error
}

func testServers(t *testing.T) *servers {
	t.Helper()
	started.once.Do(func() {
		started.all, started.err = startServers(t.Context(), tiny(t), func(what string) { t.Log(what) })
	})
	if started.err != nil {
		t.Fatal(started.err)
	}
	t.Cleanup(func() {
		for _, srv := range started.all.sql {
			if t.Failed() && srv.own != nil { // it may have ended by itself, and its directory goes with it
				t.Log(srv.name, srv.own.LogTail())
			}
		}
	})
	return started.all
}

// TestWays proves that each way counts right: its value is the number of its increments, while it is
// rolled up and behind that. Only those that store later show less until they have, which is
// what they lose if they are killed.
func TestWays(t *testing.T) {
	const clients, each = 4, 100
	list, left := contestants(testServers(t), workloadOf(waysName), point{clients: clients, slots: defaultSlots, counters: 2})
	if len(left) > 0 {
		t.Fatal(left)
	}
	for _, c := range list {
		t.Run(c.String(), func(t *testing.T) {
			defer func() {
				if err := c.tearDown(context.Background()); err != nil {
					t.Error(err)
				}
			}()
			if err := c.open(t.Context()); err != nil {
				t.Fatal(err)
			}
			s := c.store.(wayStore)
			var over atomic.Bool
			var writers, others sync.WaitGroup
			for range clients {
				writers.Go(func() {
					for range each {
						cl := client{end: time.Now().Add(time.Hour)}
						if err := cl.retry(func() error { return s.increment(t.Context(), hotID) }); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			others.Go(func() {
				for !over.Load() {
					if err := s.rollUp(t.Context(), hotID); err != nil && !refused(err) {
						t.Error(err)
						return
					}
				}
			})
			others.Go(func() {
				for last := int64(0); !over.Load(); {
					value, err := s.read(t.Context(), hotID)
					if refused(err) {
						continue
					}
					if err != nil || value < last || value > clients*each {
						t.Errorf("a read shows %d behind %d: %v", value, last, err)
						return
					}
					last = value
				}
			})
			writers.Wait()
			over.Store(true)
			others.Wait()
			if later := c.peer == bufferInMemory || c.peer == withBuffer; !later {
				if value, err := s.read(t.Context(), hotID); err != nil || value != clients*each {
					t.Errorf("%d of %d, before the last rollup: %v", value, clients*each, err)
				}
			}
			for range 3 { // a batch each
				if err := s.flush(t.Context()); err != nil {
					t.Error(err)
				}
				if err := s.rollUp(t.Context(), hotID); err != nil {
					t.Error(err)
				}
				if value, err := s.read(t.Context(), hotID); err != nil || value != clients*each {
					t.Errorf("%d of %d: %v", value, clients*each, err)
				}
			}
			if other, err := s.values(t.Context(), []int{2}); err != nil || other[2] != 0 {
				t.Errorf("another post has %d: %v", other[2], err)
			}
		})
	}
}

// TestCrashes proves that a kill loses nothing but where that is said, and counts nothing twice.
func TestCrashes(t *testing.T) {
	s := tiny(t)
	all := testServers(t)
	list, err := measureCrashes(t.Context(), s, all, newScreen(t.Output()))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(all.sql)*(len(allWays)-len(redisPeers)) + len(redisPeers); len(list) != n {
		t.Errorf("%d ways, not %d", len(list), n)
	}
	var buffered int64
	for _, c := range list {
		t.Logf("%s: %v, %v", c, &c.process, c.killed)
		if len(s.dsns) > 0 && !c.peer.redis() {
			c.killed = &losses{acknowledged: 1} // it is not ours
		}
		if c.process.acknowledged == 0 || c.killed.acknowledged == 0 {
			t.Errorf("%s did nothing", c)
		}
		if c.peer == bufferInMemory || c.peer == withBuffer {
			buffered += c.process.lost
		} else if c.process.lost > 0 {
			t.Errorf("%s: the killed process lost %v", c, &c.process)
		}
		if c.killed.lost > 0 && c.peer != redisEverySecond {
			t.Errorf("%s: the killed server lost %v", c, c.killed)
		}
		if c.process.doubled > 0 || c.killed.doubled > 0 && c.peer != bufferInMemory { // which puts back what it was not told of
			t.Errorf("%s: counted twice: %v, %v", c, &c.process, c.killed)
		}
	}
	if buffered == 0 {
		t.Error("processes with counts in memory lost none of them")
	}
}

func TestLosses(t *testing.T) {
	var l losses
	for _, value := range []int64{7, 8, 9, 10, 11} {
		var b book
		for e, n := range map[event]int64{tried: 11, acknowledged: 8, undone: 1} {
			b[e].Store(n)
		}
		l.add(&b, value)
	}
	if l != (losses{acknowledged: 40, unknown: 10, lost: 1, doubled: 1}) {
		t.Errorf("%+v", l)
	}
}

// TestWaysPage runs each block of SQL and of Redis commands in docs/ways-of-counting.md, each section in
// a database of its own that has the table of the first block, and proves that the SQL that is
// measured stands in its way's section.
func TestWaysPage(t *testing.T) {
	page, err := os.ReadFile("../docs/ways-of-counting.md")
	if err != nil {
		t.Fatal(err)
	}
	if !pageWays.Match(page) {
		t.Error("the page has no place for the table")
	}
	all := testServers(t)
	sections := strings.Split(string(page), "\n## ")
	post := blocksOf(sections[0], "sql")
	for _, section := range sections {
		for _, srv := range all.sql {
			const name = "countermysql_bench_page"
			statements := []string{"DROP DATABASE IF EXISTS " + name, "CREATE DATABASE " + name, "USE " + name}
			for _, block := range append(post, blocksOf(section, "sql")...) {
				statements = append(statements, strings.Split(strings.TrimSuffix(strings.TrimSpace(block), ";"), ";\n")...)
			}
			statements = append(statements, "DROP DATABASE "+name)
			if section == sections[0] { // else it would make its table twice
				continue
			}
			if err := srv.exec(t.Context(), statements...); err != nil {
				t.Errorf("%.40s: %v", section, err)
			}
		}
		for _, block := range blocksOf(section, "redis") {
			for command := range strings.Lines(block) {
				var args []any
				for word := range strings.FieldsSeq(command) {
					args = append(args, word)
				}
				client := all.redis[0].client(1)
				if err := errors.Join(client.Do(t.Context(), args...).Err(), client.Close()); err != nil {
					t.Errorf("%s: %v", command, err)
				}
			}
		}
	}
	for _, w := range allWays {
		i := slices.IndexFunc(sections, func(section string) bool {
			heading, _, _ := strings.Cut(section, "\n")
			return heading == w.peer.name || w.peer.redis() && heading == "Redis"
		})
		if i < 0 {
			t.Errorf("no section on %s", w.peer.name)
			continue
		}
		said := strings.Join(strings.Fields(sections[1]+sections[i]), " ") // with what is plain's
		for _, statement := range slices.Concat(w.tables, []string{w.increment, w.read}, w.rollUp) {
			pattern := strings.ReplaceAll(regexp.QuoteMeta(statement), `\?`, `\d+`)
			if !regexp.MustCompile(pattern).MatchString(said) {
				t.Errorf("the section on %s lacks %s", w.peer.name, statement)
			}
		}
	}
}

// blocksOf are the code blocks of a language.
func blocksOf(text, language string) (all []string) {
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}
