package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/servertest"
)

func TestDaily(t *testing.T) {
	servertest.Alone(t, func(t *testing.T, d servertest.Database) {
		text, err := daily(t.Context(), d.DSN("counters=page_view.views,page_view.bytes", "counterCreateSlots=true", "counterRollup=30s"))
		require.NoError(t, err)
		require.Equal(t, "/: 400 views, 819200 bytes\n", text)
	})
}
