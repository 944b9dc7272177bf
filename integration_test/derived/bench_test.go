package derived

import (
	"context"
	"database/sql"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
)

// BenchmarkComments has 32 clients comment on one post, whose foreign key they lock: with the
// triggers of a derived counter, and with the one that people write by hand, which adds to the
// post itself. Those that deadlock are sent again, and counted.
func BenchmarkComments(b *testing.B) {
	const key = "ALTER TABLE comment ADD FOREIGN KEY (post_id) REFERENCES post (id)"
	for _, srv := range harness.Servers {
		for _, by := range []string{"hand", "derived"} {
			b.Run(string(srv.Flavor())+"/"+by, func(b *testing.B) {
				tw := harness.NewTwin(b, srv, schema, posts())
				db := tw.Plain
				if by == "derived" {
					initialized(b, tw.Ours)
					db = tw.Ours
					harness.Affected(b, tw.Direct, key)
				} else {
					harness.Affected(b, tw.Plain, "CREATE TRIGGER by_hand AFTER INSERT ON comment FOR EACH ROW UPDATE post SET comments = comments + 1 WHERE id = NEW.post_id")
					harness.Affected(b, tw.Plain, key)
				}
				var was int64
				require.NoError(b, db.QueryRow("SELECT comments FROM post WHERE id = 1").Scan(&was))
				deadlocks, left, errs := comment(db, b.N)
				require.NoError(b, errs)
				require.Zero(b, left)
				b.ReportMetric(float64(deadlocks)/float64(b.N), "deadlocks/op")
				require.EqualValues(b, was+int64(b.N), comments(b, db, 1))
			})
		}
	}
}

// comment has 32 clients comment n times together.
func comment(db *sql.DB, n int) (deadlocks, left int64, err error) {
	const clients = 32
	db.SetMaxIdleConns(clients)
	var todo, dead atomic.Int64
	todo.Store(int64(n))
	errs := make(chan error, clients)
	for range clients {
		go func() {
			for todo.Add(-1) >= 0 {
				for {
					_, err := db.ExecContext(context.Background(), "INSERT INTO comment (post_id) VALUES (1)")
					if number(err) == 1213 {
						dead.Add(1)
						continue
					}
					if err != nil {
						errs <- err
						return
					}
					break
				}
			}
			errs <- nil
		}()
	}
	for range clients {
		if e := <-errs; err == nil {
			err = e
		}
	}
	return dead.Load(), max(todo.Load()+clients, 0), err
}
