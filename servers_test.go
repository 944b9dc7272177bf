package countermysql

import (
	"database/sql"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/servertest"
)

// connectorTo makes one whose tables have a counter n each. It connects at its first use.
func connectorTo(t *testing.T, d servertest.Database, tables ...string) (*Connector, *sql.DB) {
	config := &Config{CreateSlots: true, Logger: slog.New(slog.DiscardHandler)}
	for _, name := range tables {
		config.Tables = append(config.Tables, TableConfig{Table: name, Counters: []string{"n"}})
	}
	c, err := NewConnector(d.Config, config)
	require.NoError(t, err)
	db := sql.OpenDB(c)
	t.Cleanup(func() { _ = db.Close() })
	return c, db
}
