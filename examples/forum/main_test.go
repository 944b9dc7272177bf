package main

import (
	"database/sql"
	"testing"

	"github.com/countermysql/countermysql/internal/testserver"
)

func TestForum(t *testing.T) {
	servers, err := testserver.FromEnv(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, srv := range servers {
		t.Cleanup(srv.Stop)
		t.Run(string(srv.Flavor()), func(t *testing.T) {
			const name = "countermysql_forum"
			admin, err := sql.Open("mysql", srv.DSN(""))
			if err != nil {
				t.Fatal(err)
			}
			defer admin.Close()
			for _, s := range []string{"DROP DATABASE IF EXISTS " + name, "CREATE DATABASE " + name} {
				if _, err := admin.Exec(s); err != nil {
					t.Fatal(err)
				}
			}
			var text string
			for range 2 { // the second time everything is there
				dsn := srv.DSN(name, "counters=post.likes,post.views,page_view.views", "counterCreateSlots=true")
				if text, err = forum(t.Context(), dsn); err != nil {
					t.Fatal(err)
				}
			}
			const want = "post 2, \"Hello, forum\": 3 likes, 3 views\n" +
				"post 1, \"Hello, forum\": 3 likes, 3 views\n"
			if text != want {
				t.Errorf("got:\n%swant:\n%s", text, want)
			}
			if _, err := admin.Exec("DROP DATABASE " + name); err != nil {
				t.Error(err)
			}
		})
	}
}
