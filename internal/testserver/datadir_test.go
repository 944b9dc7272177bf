package testserver

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Servers that are copies of one another are two servers to replication, and a copy that was
// cut short, or made with another program, is never used.
func TestDataDirectoryIsKept(t *testing.T) {
	forEachFlavor(t, func(t *testing.T, f Flavor) {
		a, b := start(t, f), start(t, f)
		made, err := b.template()
		require.NoError(t, err)
		assert.True(t, made.fits())
		assert.NoFileExists(t, filepath.Join(made.data(), "auto.cnf"))
		if f == MySQL {
			assert.NotEqual(t, variable(t, open(t, a.DSN("")), "server_uuid"), variable(t, open(t, b.DSN("")), "server_uuid"))
		}
	})

	data := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(data, "file"), []byte("1"), 0o600))
	kept := template{dir: filepath.Join(t.TempDir(), "kept"), of: "8.0"}
	assert.False(t, kept.fits())
	require.NoError(t, kept.keep(data))
	assert.True(t, kept.fits())
	newer := template{dir: kept.dir, of: "8.1"}
	assert.False(t, newer.fits())
	require.NoError(t, newer.keep(data))
	assert.True(t, newer.fits())
	assert.FileExists(t, filepath.Join(newer.data(), "file"))
	require.ErrorIs(t, newer.keep(filepath.Join(data, "none")), os.ErrNotExist)
	assert.False(t, newer.fits(), "cut short")
}
