package upstream_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// suite is a copy of their module and the environment to run its tests in.
type suite struct {
	dir string
	env []string
}

// results are those of one run.
type results struct {
	outcome map[string]string // test → pass, fail or skip; absent if it did not end
	output  map[string]string // test → what it said; "" for what no test said
}

// run runs the tests on a driver, all but those named in skip.
func (s suite) run(t *testing.T, ctx context.Context, driver string, skip ...string) results {
	args := []string{"test", "-json", "-count=1", "-vet=off", "-timeout=6m",
		"-ldflags=-X " + theirModule + ".driverNameTest=" + driver}
	if underRace() {
		args = append(args, "-race")
	}
	if len(skip) > 0 {
		args = append(args, "-skip=^"+strings.ReplaceAll(strings.Join(skip, "$|^"), "/", "$/^")+"$")
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output() // a failure of theirs is not yet one of ours
	require.NoError(t, ctx.Err())

	r := results{outcome: map[string]string{}, output: map[string]string{"": stderr.String()}}
	lines := bufio.NewScanner(bytes.NewReader(stdout))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var event struct{ Action, Test, Output string }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &event), lines.Text())
		switch event.Action {
		case "output", "build-output":
			r.output[event.Test] += event.Output
		case "pass", "fail", "skip":
			if event.Test != "" {
				r.outcome[event.Test] = event.Action
			}
		}
	}
	require.NoError(t, lines.Err())
	require.NotEmpty(t, r.outcome, "no test ran (%v):\n%s", err, r.tail())
	count := map[string]int{}
	for test, o := range r.outcome {
		count[o]++
		if o == "fail" && driver == "mysql" { // ours is reported by compare
			t.Logf("fails on go-sql-driver already, so ours may: %s\n%s", test, r.output[test])
		}
	}
	t.Logf("driver %s: %d passed, %d failed, %d skipped", driver, count["pass"], count["fail"], count["skip"])
	return r
}

// compare reports every test that passed on theirs and not on ours.
func (theirs results) compare(t *testing.T, ours results) {
	var absent []string
	for _, test := range theirs.passed() {
		switch outcome := ours.outcome[test]; outcome {
		case "pass":
		case "":
			absent = append(absent, test)
		default:
			t.Errorf("%s passes on go-sql-driver, on ours it is: %s\n%s", test, outcome, ours.output[test])
		}
	}
	if len(absent) > 0 {
		t.Errorf("%d tests did not run to their end on ours, perhaps after a panic: %s\n%s",
			len(absent), strings.Join(absent, ", "), ours.tail())
	}
}

// without leaves out the named tests.
func (r results) without(tests []string) results {
	r.outcome = maps.Clone(r.outcome)
	for _, test := range tests {
		delete(r.outcome, test)
	}
	return r
}

func (r results) passed() []string {
	var tests []string
	for test, outcome := range r.outcome {
		if outcome == "pass" {
			tests = append(tests, test)
		}
	}
	slices.Sort(tests)
	return tests
}

// tail is the end of what no single test said: build errors, panics.
func (r results) tail() string {
	out := r.output[""]
	return out[max(0, len(out)-4000):]
}
