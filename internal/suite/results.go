// Package suite has what the tests share that run a test suite of somebody
// else's on two drivers and compare: what passes on theirs has to pass on ours.
package suite

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Results are those of one run.
type Results struct {
	Outcome map[string]string // test → pass, fail or skip; absent if it did not end
	Output  map[string]string // test → what it said; "" for what no test said
}

// Parse reads what go test -json or test2json wrote.
func Parse(events []byte) (Results, error) {
	r := Results{Outcome: map[string]string{}, Output: map[string]string{}}
	lines := bufio.NewScanner(bytes.NewReader(events))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var event struct{ Action, Test, Output string }
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return r, fmt.Errorf("%w in %s", err, lines.Text())
		}
		switch event.Action {
		case "output", "build-output":
			r.Output[event.Test] += event.Output
		case "pass", "fail", "skip":
			if event.Test != "" {
				r.Outcome[event.Test] = event.Action
			}
		}
	}
	return r, lines.Err()
}

// Log says how many tests passed on the driver.
func (r Results) Log(t *testing.T, driver string) {
	count, top := map[string]int{}, map[string]int{}
	for test, o := range r.Outcome {
		count[o]++
		if !strings.Contains(test, "/") {
			top[o]++
		}
		if o == "fail" && driver == "mysql" { // ours is reported where they are compared
			t.Logf("fails on go-sql-driver already, so ours may: %s\n%s", test, r.Output[test])
		}
	}
	t.Logf("driver %s: %d passed, %d failed, %d skipped; without subtests %d, %d, %d", driver,
		count["pass"], count["fail"], count["skip"], top["pass"], top["fail"], top["skip"])
}

// NotPassed are the tests that did not pass, or of which a part did not, by name.
func (r Results) NotPassed() []string {
	var tests []string
	for test, outcome := range r.Outcome {
		if outcome != "pass" {
			top, _, _ := strings.Cut(test, "/")
			tests = append(tests, top)
		}
	}
	slices.Sort(tests)
	return slices.Compact(tests)
}

// Missing are the tests that passed on theirs and not on ours, by name.
func (theirs Results) Missing(ours Results) []string {
	var tests []string
	for test, outcome := range theirs.Outcome {
		if outcome == "pass" && ours.Outcome[test] != "pass" {
			tests = append(tests, test)
		}
	}
	slices.Sort(tests)
	return tests
}

// Report makes errors of tests that are missing in ours.
func (ours Results) Report(t *testing.T, missing []string) {
	var absent []string
	for _, test := range missing {
		if outcome := ours.Outcome[test]; outcome != "" {
			t.Errorf("%s passes on go-sql-driver, on ours it is: %s\n%s", test, outcome, ours.Output[test])
		} else {
			absent = append(absent, test)
		}
	}
	if len(absent) > 0 {
		last := ours.Tail()
		for _, test := range absent { // go test takes a panic for output of the test that runs
			if said := ours.Output[test]; strings.Contains(said, "panic") || strings.Contains(said, "fatal error") {
				last += test + ":\n" + said[max(0, len(said)-4000):]
			}
		}
		t.Errorf("%d tests did not run to their end on ours, perhaps after a panic: %s\n%s",
			len(absent), strings.Join(absent, ", "), last)
	}
}

// Without leaves out the named tests.
func (r Results) Without(tests []string) Results {
	r.Outcome = maps.Clone(r.Outcome)
	for _, test := range tests {
		delete(r.Outcome, test)
	}
	return r
}

// Tail is the end of what no single test said: build errors, panics.
func (r Results) Tail() string {
	out := r.Output[""]
	return out[max(0, len(out)-4000):]
}
