package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/servertest"
)

func TestBlog(t *testing.T) {
	servertest.Alone(t, func(t *testing.T, d servertest.Database) {
		text, err := blog(t.Context(), d.DSN("parseTime=true", "counters=posts.likes,posts.views,tags.uses", "counterCreateSlots=true"))
		require.NoError(t, err)
		require.Equal(t, "\"Hello, GORM\": 80 likes, 80 views; tag go: 80 uses\n", text)
	})
}
