package random

import (
	"go/parser"
	"go/token"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPrinted proves that a seed always makes the same script, and that any script
// is printed as a test in Go.
func TestPrinted(t *testing.T) {
	for seed := range uint64(300) {
		for _, make := range []func(uint64, bool) *Script{Generate, GenerateConcurrent} {
			text := make(seed, seed%2 == 0).GoTest()
			require.Equal(t, text, make(seed, seed%2 == 0).GoTest())
			_, err := parser.ParseFile(token.NewFileSet(), "", "package random\n"+text, parser.SkipObjectResolution)
			require.NoError(t, err, text)
		}
	}
}

var rowInSubquery = regexp.MustCompile("[ (]\\((\\w+\\.)?`?\\w+`?, (\\w+\\.)?`?\\w+`?\\) IN \\(+SELECT.*\\bq\\d+\\b") // nested at random

// TestNoRowsBesideParameters proves that MariaDB is sent no statement with parameters that looks
// for rows of several columns in a subquery: within derived tables such a one has
// crashed it (seed 13100000830 of the generator before).
func TestNoRowsBesideParameters(t *testing.T) {
	found := 0
	for seed := range uint64(400) {
		for _, mariaDB := range []bool{true, false} {
			for _, step := range Generate(seed, mariaDB).Steps {
				if !rowInSubquery.MatchString(step.SQL) {
					continue
				}
				found++
				require.False(t, mariaDB && step.Args != nil, "%d: %s", seed, step.SQL)
			}
		}
	}
	require.NotZero(t, found)
}
