package countermysql

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// layers are the packages from the lowest to the highest.
var layers = []string{"sqltext", "mysqlerr", "groupcommit", "stock", "stats", "formula", "catalog", "lookups", "watch", "slotsql", "traffic", "config", "plan", "answer", "txn", "session", "buffer", "fold", "maintain", "increment", "sale", "exact", "read", "ddl"}

// asking are those that send to a server.
var asking = []string{"catalog", "lookups", "watch", "session", "buffer", "fold", "maintain", "increment", "sale", "exact", "read", "ddl"}

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

// TestRooms proves that the house stays one of small rooms: no file of more than 400 lines, no
// type that every rule of a package has become a method of, and little in the root.
func TestRooms(t *testing.T) {
	files, err := filepath.Glob("internal/*/*.go")
	require.NoError(t, err)
	root, err := filepath.Glob("*.go")
	require.NoError(t, err)
	methods, inRoot := map[string]int{}, 0
	for _, file := range append(files, root...) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		lines := bytes.Count(text, []byte("\n"))
		require.LessOrEqual(t, lines, 400, file)
		if filepath.Dir(file) == "." {
			inRoot += lines
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, text, 0)
		require.NoError(t, err)
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv != nil {
				of := d.Recv.List[0].Type
				if star, ok := of.(*ast.StarExpr); ok {
					of = star.X
				}
				if generic, ok := of.(*ast.IndexExpr); ok {
					of = generic.X
				}
				methods[filepath.Dir(file)+"."+of.(*ast.Ident).Name]++
			}
		}
	}
	require.Greater(t, len(methods), 100)
	require.Less(t, inRoot, 5000)
	for name, n := range methods {
		require.LessOrEqual(t, n, 45, name)
	}
}
