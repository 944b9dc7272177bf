package countermysql

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAliasesTellTheirFields proves that the documentation of each exported type that is
// another package's has a line for each field, with its type: go doc does not show them.
func TestAliasesTellTheirFields(t *testing.T) {
	aliases := map[string]any{
		"ConfigError": ConfigError{}, "SlotsTableError": SlotsTableError{}, "UnfitError": UnfitError{}, "RefusedError": RefusedError{},
		"RolledUp": RolledUp{}, "Left": Left{}, "Buffered": Buffered{}, "History": History{},
		"Statistics": Statistics{}, "Fallback": Fallback{}, "Histogram": Histogram{}, "RollupStatistics": RollupStatistics{}, "SlottedStatistics": SlottedStatistics{}, "SchemaStatistics": SchemaStatistics{},
		"BufferedStatistics": BufferedStatistics{}, "DerivedStatistics": DerivedStatistics{}, "HistoryStatistics": HistoryStatistics{},
	}
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	files, set := []*ast.File{}, token.NewFileSet()
	for _, name := range names {
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		require.NoError(t, err)
		files = append(files, file)
	}
	described, err := doc.NewFromFiles(set, files, "github.com/countermysql/countermysql")
	require.NoError(t, err)
	found := map[string]bool{}
	for _, typ := range described.Types {
		spec := typ.Decl.Specs[0].(*ast.TypeSpec)
		if !spec.Assign.IsValid() {
			continue
		}
		require.Contains(t, aliases, typ.Name, "a new alias: add it here")
		found[typ.Name] = true
		of := reflect.TypeOf(aliases[typ.Name])
		documented := 0
		for _, m := range regexp.MustCompile(`(?m)^\t([A-Z]\w*) +(\S+)`).FindAllStringSubmatch(typ.Doc, -1) {
			field, ok := of.FieldByName(m[1])
			require.True(t, ok, "%s has no %s", typ.Name, m[1])
			name := regexp.MustCompile(`\w+\.([A-Z])`).ReplaceAllString(field.Type.String(), "$1") // without its package
			require.Equal(t, strings.ReplaceAll(name, "time.", ""), strings.ReplaceAll(m[2], "time.", ""), "%s.%s", typ.Name, m[1])
			documented++
		}
		require.Equal(t, of.NumField(), documented, typ.Name)
	}
	require.Len(t, found, len(aliases))
}

// TestConstantsTellTheirValues proves that what documentation says of constants that are
// another package's is so: go doc does not show their values.
func TestConstantsTellTheirValues(t *testing.T) {
	require.Equal(t, 16, DefaultSlots)
	require.Equal(t, 100*time.Millisecond, DefaultMaxLock)
	require.Equal(t, 35*time.Second, DefaultNotice)
	require.Negative(t, RollupNever)
	require.Equal(t, "auto", SlotRangeAuto)
}
