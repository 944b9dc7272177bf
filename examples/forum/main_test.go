package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/servertest"
)

func TestForum(t *testing.T) {
	servertest.Alone(t, func(t *testing.T, d servertest.Database) {
		var text string
		for range 2 { // the second time everything is there
			var err error
			text, err = forum(t.Context(), d.DSN("counters=post.likes,post.views,page_view.views", "counterCreateSlots=true"))
			require.NoError(t, err)
		}
		require.Equal(t, "post 2, \"Hello, forum\": 3 likes, 3 views\npost 1, \"Hello, forum\": 3 likes, 3 views\n", text)
	})
}
