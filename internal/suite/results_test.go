package suite

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMissing(t *testing.T) {
	theirs, err := Parse([]byte(`{"Action":"start"}
{"Action":"run","Test":"TestA"}
{"Action":"output","Test":"TestA","Output":"one\n"}
{"Action":"output","Test":"TestA","Output":"two\n"}
{"Action":"pass","Test":"TestA"}
{"Action":"pass","Test":"TestA/sub"}
{"Action":"pass","Test":"TestB"}
{"Action":"pass","Test":"TestC"}
{"Action":"skip","Test":"TestD"}
{"Action":"fail","Test":"TestE"}
{"Action":"output","Output":"FAIL\n"}
{"Action":"fail"}
`))
	require.NoError(t, err)
	assert.Equal(t, "one\ntwo\n", theirs.Output["TestA"])
	assert.Equal(t, "FAIL\n", theirs.Tail())
	assert.NotContains(t, theirs.Outcome, "")

	// What is skipped or does not end has not passed; what never passed may do anything.
	ours := Results{Outcome: map[string]string{"TestA": "pass", "TestA/sub": "fail", "TestB": "skip", "TestD": "fail"}}
	assert.Equal(t, []string{"TestA/sub", "TestB", "TestC"}, theirs.Missing(ours))
	assert.Equal(t, []string{"TestA/sub", "TestC"}, theirs.Without([]string{"TestB"}).Missing(ours))
	assert.Equal(t, "pass", theirs.Outcome["TestB"])
	assert.Equal(t, []string{"TestA", "TestB", "TestD"}, ours.NotPassed())

	_, err = Parse([]byte("panic: no JSON"))
	require.ErrorContains(t, err, "panic: no JSON")
}
