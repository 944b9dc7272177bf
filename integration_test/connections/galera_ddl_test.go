package connections

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// beside runs clients on the second node while work is done on the first, which may not take
// long: a cluster that stands still does so for good.
func beside(t *testing.T, client func(ctx context.Context, i, n int), work func(ctx context.Context)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var stopped atomic.Bool
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() {
			for n := 0; !stopped.Load() && ctx.Err() == nil; n++ {
				client(ctx, i, n)
			}
		})
	}
	time.Sleep(100 * time.Millisecond)
	work(ctx)
	stopped.Store(true)
	clients.Wait()
	require.NoError(t, ctx.Err(), "the cluster stands still")
}

// galeraDrop proves that leaving on one node loses nothing of what others add to slots
// meanwhile, who have not noticed yet that the slots table is closed.
func galeraDrop(t *testing.T, nodes []*testserver.Server) {
	c := newCluster(t, nodes, stock, harness.Counters("item", "n"))
	c.Sent.Off.Store(true)
	left := 0
	for round := 0; round < 8 || left == 0 && round < 40; round++ { // on a busy machine most find others at work
		_, err := countermysql.Init(t.Context(), c.both[0], nil)
		require.NoError(t, err)
		_, err = countermysql.Check(t.Context(), c.both[1]) // which learns of the slots table
		require.NoError(t, err)
		before := harness.Number(t, c.both[1], "SELECT n FROM item WHERE id = 1")
		var acknowledged atomic.Int64
		beside(t, func(ctx context.Context, i, n int) {
			var err error
			if i%2 == 0 {
				_, err = c.both[1].ExecContext(ctx, addOne)
			} else {
				err = addWith(ctx, c.both[1], fmt.Sprintf("INSERT INTO mark VALUES (%d)", (round*10+i)*1_000_000+n))
			}
			switch number := harness.ErrorNumber(err); {
			case err == nil:
				acknowledged.Add(1)
			case number != 1146 && number != 4025 && number != 1213: // nothing was done
				t.Error(err)
			}
		}, func(ctx context.Context) {
			if _, err := countermysql.Drop(ctx, c.both[0], &countermysql.DropOptions{Notice: time.Nanosecond}); err == nil {
				left++
			} else {
				require.ErrorContains(t, err, "stay in use")
			}
		})
		require.Equal(t, before+acknowledged.Load(), harness.Number(t, c.both[1], "SELECT n FROM item WHERE id = 1"))
	}
	require.Positive(t, left)
	_, err := countermysql.Init(t.Context(), c.both[0], nil) // also where it was left half way
	require.NoError(t, err)
	require.EqualValues(t, 1, harness.Affected(t, c.both[0], addOne))
}

// galeraDDL proves that nothing that changes tables through the driver, or the tool, locks them
// on one node while another writes them, which makes a cluster stand still for good.
func galeraDDL(t *testing.T, nodes []*testserver.Server) {
	written := func(c *cluster, work func(ctx context.Context) error) {
		t.Helper()
		writer := harness.Open(t, nodes[1].DSN(c.Name(t)))
		beside(t, func(ctx context.Context, i, n int) {
			_, _ = writer.ExecContext(ctx, "UPDATE item SET title = ? WHERE id = 2", n%10)
			_, _ = writer.ExecContext(ctx, "INSERT INTO item_slots (id, slot, n) VALUES (?, ?, 0)", i, 40+n%10)
			_, _ = writer.ExecContext(ctx, "DELETE FROM item_slots WHERE slot >= 40")
		}, func(ctx context.Context) { require.NoError(t, work(ctx)) })
	}
	hourly := harness.Counters("item", "n")
	hourly.Tables[0].History = &countermysql.History{Every: time.Hour}
	c := newCluster(t, nodes, stock, hourly)
	c.Sent.Off.Store(true)
	daily := *c.Config
	daily.Tables = slices.Clone(daily.Tables)
	daily.Tables[0].History = &countermysql.History{Every: 24 * time.Hour}
	other, _ := harness.OpenOurs(t, c.OursDSN, &daily)
	written(c, func(ctx context.Context) error { // the triggers are made anew
		did, err := countermysql.Init(ctx, other, nil)
		require.NotEmpty(t, did)
		return err
	})

	c = newCluster(t, nodes, stock, harness.Counters("item", "n"))
	c.Sent.Off.Store(true)
	for _, stmt := range []string{
		"ALTER TABLE item DROP PRIMARY KEY, ADD PRIMARY KEY (slug), ADD UNIQUE KEY (id)",
		"TRUNCATE TABLE item",
		"RENAME TABLE item TO items",
	} {
		written(c, func(ctx context.Context) error {
			_, err := c.both[0].ExecContext(ctx, stmt)
			return err
		})
		_, _ = countermysql.Init(t.Context(), c.both[0], nil)
	}
}
