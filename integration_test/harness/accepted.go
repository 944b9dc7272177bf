package harness

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// RollUpStep rolls our database up; on plain MySQL there is nothing to roll up.
const RollUpStep = "rollup"

// Accepted plays steps on both databases. The answers have to be the same, but
// for the steps that give two, plain's and ours: "A: statement ⇒ plain's ⇒ ours".
// The client O is another program, which uses plain go-sql-driver on both.
func (tw *Twin) Accepted(t *testing.T, steps ...string) {
	t.Helper()
	var texts []string
	var differing [][]string
	for _, step := range steps {
		parts := strings.Split(step, " ⇒ ")
		require.Contains(t, []int{1, 3}, len(parts), step)
		texts, differing = append(texts, parts[0]), append(differing, parts[1:])
	}
	want := tw.answers(t, &Script{Db: tw.Plain, Clients: map[string]*Client{}}, texts)
	got := tw.answers(t, &Script{Db: tw.Ours, Clients: map[string]*Client{}}, texts)
	for i, both := range differing {
		if len(both) == 0 {
			continue
		}
		require.NotEqual(t, both[0], both[1], "no difference: %s", steps[i])
		require.Equal(t, both[0], Brief(want[i]), "plain: %s\n%s", texts[i], strings.Join(want, "\n"))
		require.Equal(t, both[1], Brief(got[i]), "ours: %s\n%s", texts[i], strings.Join(got, "\n"))
		want[i] = got[i]
	}
	require.Equal(t, strings.Join(want, "\n"), strings.Join(got, "\n"))
}

// answers plays steps, those of O through go-sql-driver.
func (tw *Twin) answers(t *testing.T, s *Script, steps []string) []string {
	t.Helper()
	others := &Script{Db: tw.DirectTo(s.Db), Clients: map[string]*Client{}}
	defer s.End()
	defer others.End()
	var answers []string
	for _, step := range steps {
		by := s
		switch {
		case step == RollUpStep && s.Db == tw.Ours:
			RollUp(t, tw.Ours)
			fallthrough
		case step == RollUpStep:
			answers = append(answers, step)
			continue
		case strings.HasPrefix(step, "O: "):
			by = others
		}
		by.Do(t, step)
		answers = append(answers, by.Answers[len(by.Answers)-1])
	}
	return answers
}

var namesAndTypes = regexp.MustCompile(`^([^,]+ [A-Z ]+, )+`)

// Brief is an answer without the statement, the columns' names and types, and an id of 0.
func Brief(answer string) string {
	_, answer, _ = strings.Cut(answer, " → ")
	answer = namesAndTypes.ReplaceAllString(strings.TrimSuffix(answer, ", id 0"), "")
	if answer == "" {
		return "no rows"
	}
	return answer
}
