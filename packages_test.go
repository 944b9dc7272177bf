package countermysql

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// layers are the packages from the lowest to the highest.
var layers = []string{"sqltext", "mysqlerr", "groupcommit", "stock", "stats", "catalog", "lookups", "watch", "slotsql", "traffic", "config", "plan", "answer", "txn", "session", "fold", "maintain", "increment", "sale", "exact", "read", "ddl"}

// asking are those that send to a server.
var asking = []string{"catalog", "lookups", "watch", "session", "fold", "maintain", "increment", "sale", "exact", "read", "ddl"}

// TestImportsGoUp proves that a package imports none but those that stand before it in
// doc.go's list, and that what plans reaches no connection: no package but those that read
// the schema imports database/sql, and none the context of a call.
func TestImportsGoUp(t *testing.T) {
	for rank, layer := range layers {
		files, err := filepath.Glob("internal/" + layer + "/*.go")
		require.NoError(t, err)
		require.NotEmpty(t, files, layer)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			require.NoError(t, err)
			for _, spec := range f.Imports {
				path, err := strconv.Unquote(spec.Path.Value)
				require.NoError(t, err)
				if of, ours := strings.CutPrefix(path, "github.com/countermysql/countermysql"); ours {
					at := slices.Index(layers, strings.TrimPrefix(of, "/internal/"))
					require.True(t, at >= 0 && at < rank, "%s imports %s", file, path)
				}
				reaches := path == "database/sql" || path == "context" && layer != "groupcommit"
				require.False(t, reaches && !slices.Contains(asking, layer), "%s imports %s", file, path)
			}
		}
	}
}
