package reads

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestReadsBesideFolds proves that whatever form adds up slots, no read beside increments
// and folds tells less than was counted before it, nor more than was begun by its end. With
// COUNTERMYSQL_SOAK there are 300,000 reads on each server.
func TestReadsBesideFolds(t *testing.T) {
	most := int64(3_000)
	if harness.Soak(t) > 0 {
		most = 300_000
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, lookForum, lookCounters(), "interpolateParams=true")
		tw.Sent.Off.Store(true)
		harness.Affected(t, tw.Direct, "UPDATE post SET likes = IF(id = 2, 1, -1), views = IF(id = 2, 1, 0)")
		var begun, counted, reads atomic.Int64
		begun.Store(1)
		counted.Store(1)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		loads, readers := make(chan error, 3), make(chan error, 8)
		for range 2 {
			go func() {
				loads <- func() error {
					for ctx.Err() == nil {
						begun.Add(1)
						if _, err := tw.Ours.Exec("UPDATE post SET likes = likes + 1, views = views + 1 WHERE id = 2"); err != nil {
							return err
						}
						counted.Add(1)
					}
					return nil
				}()
			}()
		}
		go func() {
			loads <- func() error {
				for ctx.Err() == nil {
					if _, err := countermysql.Rollup(context.Background(), tw.Ours, nil); err != nil {
						return err
					}
				}
				return nil
			}()
		}()
		queries := []string{
			"SELECT likes FROM post WHERE id = 2",
			"SELECT likes, views FROM post WHERE id = 2",                                // together
			"SELECT p.likes, p.views FROM post p WHERE p.id BETWEEN 2 AND 2",            // together
			"SELECT views, likes FROM post ORDER BY views DESC LIMIT 1",                 // all slots grouped
			"SELECT likes, views FROM post ORDER BY likes DESC LIMIT 1",                 // by the index
			"SELECT MAX(likes), MAX(views) FROM post p JOIN user u ON u.id = p.user_id", // a view
			"SELECT COUNT(*)", // by countAbove
			"SELECT (SELECT likes FROM post WHERE id = 2), views FROM post WHERE id = 2", // two views
		}
		for _, query := range queries {
			go func() {
				readers <- func() error {
					for reads.Add(1) <= most {
						if strings.HasPrefix(query, "SELECT COUNT") {
							if err := countAbove(ctx, tw.Ours, &begun, &counted); err != nil {
								return err
							}
							continue
						}
						if err := readBoth(ctx, tw.Ours, query, &begun, &counted); err != nil {
							return err
						}
					}
					return nil
				}()
			}()
		}
		var errs []error
		for range queries {
			errs = append(errs, <-readers)
		}
		stop()
		for range cap(loads) {
			errs = append(errs, <-loads)
		}
		require.NoError(t, errors.Join(errs...))
		t.Logf("%d reads beside %d increments", reads.Load(), counted.Load())
	})
}

// countAbove requires that the one row which counts is among those above what was counted
// before, and not among those above what has been begun since.
func countAbove(ctx context.Context, db harness.Querier, begun, counted *atomic.Int64) error {
	least := counted.Load()
	var n int64
	if err := db.QueryRowContext(ctx, fmt.Sprintf("SELECT COUNT(*) FROM post WHERE likes >= %d", least)).Scan(&n); err != nil {
		return err
	}
	if n != 1 {
		return fmt.Errorf("%d rows with %d or more", n, least)
	}
	far := begun.Load() + 1_000_000
	if err := db.QueryRowContext(ctx, fmt.Sprintf("SELECT COUNT(*) FROM post WHERE likes > %d OR likes IS NULL", far)).Scan(&n); err != nil {
		return err
	}
	if most := begun.Load(); n != 0 && most < far {
		return fmt.Errorf("%d rows above %d of %d", n, far, most)
	}
	return nil
}

// readBoth requires that two counters that are always counted together are equal, and
// between their bounds.
func readBoth(ctx context.Context, db harness.Querier, query string, begun, counted *atomic.Int64) error {
	least := counted.Load()
	var x, y int64
	dest := []any{&x, &y}
	if !strings.Contains(query, "views") {
		dest = dest[:1]
	}
	if err := db.QueryRowContext(ctx, query).Scan(dest...); err != nil {
		return err
	}
	if most := begun.Load(); x < least || x > most || len(dest) == 2 && x != y {
		return fmt.Errorf("%s: %d and %d are not between %d and %d", query, x, y, least, most)
	}
	return nil
}
