package random

import (
	"go/parser"
	"go/token"
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
