package sqltext

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestActs proves that what acts is told from what has its name.
func TestActs(t *testing.T) {
	for text, acts := range map[string]bool{
		"SELECT NEXT VALUE FOR s": true, "SELECT nextval(s)": true, "SELECT s.NEXTVAL FROM dual": true, "SELECT SLEEP (1)": true, "SELECT get_lock('a', 1)": true, "SELECT SETVAL(s, 1)": true,
		"SELECT next FROM t": false, "SELECT id AS sleep, nextval FROM t": false, "SELECT `sleep`, 'NEXT VALUE' FROM t": false,
	} {
		require.Equal(t, acts, ActsSomewhere(Tokenize(text, Mode{})), text)
	}
}

// Any name is found wherever it stands, as strings.Contains would find it.
func TestNamesFindWhatContainsFinds(t *testing.T) {
	letters := func(most int) string {
		var b strings.Builder
		for range rand.IntN(most) + 1 {
			b.WriteByte("abc`\xc3\xa9"[rand.IntN(6)])
		}
		return b.String()
	}
	found := 0
	for range 20000 {
		all, text, want := map[string]bool{}, letters(12), false
		for range rand.IntN(6) {
			name := letters(4)
			all[name] = true
			want = want || strings.Contains(text, name)
		}
		require.Equal(t, want, NewNameSet(all).In(text), "%q in %q", all, text)
		if want {
			found++
		}
	}
	require.Greater(t, found, 1000)
	require.Less(t, found, 19000)
}
