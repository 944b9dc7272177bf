package integration_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tests whose names begin with TestAccepted pin what differs from plain
// MySQL, entry by entry of docs/semantics.md: they fail if a difference grows,
// and if it disappears.

// rollUpStep rolls our database up; on plain MySQL there is nothing to roll up.
const rollUpStep = "rollup"

// accepted plays steps on both databases. The answers have to be the same, but
// for the steps that give two, plain's and ours: "A: statement ⇒ plain's ⇒ ours".
// The client O is another program, which uses plain go-sql-driver on both.
func (tw *twin) accepted(t *testing.T, steps ...string) {
	t.Helper()
	var texts []string
	var differing [][]string
	for _, step := range steps {
		parts := strings.Split(step, " ⇒ ")
		require.Contains(t, []int{1, 3}, len(parts), step)
		texts, differing = append(texts, parts[0]), append(differing, parts[1:])
	}
	want := tw.answers(t, &script{db: tw.plain, clients: map[string]*client{}}, texts)
	got := tw.answers(t, &script{db: tw.ours, clients: map[string]*client{}}, texts)
	for i, both := range differing {
		if len(both) == 0 {
			continue
		}
		require.NotEqual(t, both[0], both[1], "no difference: %s", steps[i])
		require.Equal(t, both[0], brief(want[i]), "plain: %s\n%s", texts[i], strings.Join(want, "\n"))
		require.Equal(t, both[1], brief(got[i]), "ours: %s\n%s", texts[i], strings.Join(got, "\n"))
		want[i] = got[i]
	}
	require.Equal(t, strings.Join(want, "\n"), strings.Join(got, "\n"))
}

// answers plays steps, those of O through go-sql-driver.
func (tw *twin) answers(t *testing.T, s *script, steps []string) []string {
	t.Helper()
	others := &script{db: tw.directTo(s.db), clients: map[string]*client{}}
	defer s.end()
	defer others.end()
	var answers []string
	for _, step := range steps {
		by := s
		switch {
		case step == rollUpStep && s.db == tw.ours:
			rollUp(t, tw.ours)
			fallthrough
		case step == rollUpStep:
			answers = append(answers, step)
			continue
		case strings.HasPrefix(step, "O: "):
			by = others
		}
		by.do(t, step)
		answers = append(answers, by.answers[len(by.answers)-1])
	}
	return answers
}

var namesAndTypes = regexp.MustCompile(`^([^,]+ [A-Z ]+, )+`)

// brief is an answer without the statement, the columns' names and types, and an id of 0.
func brief(answer string) string {
	_, answer, _ = strings.Cut(answer, " → ")
	answer = namesAndTypes.ReplaceAllString(strings.TrimSuffix(answer, ", id 0"), "")
	if answer == "" {
		return "no rows"
	}
	return answer
}
