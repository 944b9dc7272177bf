package random

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// env is a number from the environment.
func env(t *testing.T, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, name)
	return n
}

// TestRandom proves that random scripts have the same answers and leave the same
// rows on plain go-sql-driver and on countermysql.
func TestRandom(t *testing.T) {
	budget := env(t, "COUNTERMYSQL_RANDOM_STATEMENTS", 2000)
	seed := env(t, "COUNTERMYSQL_RANDOM_SEED", 1)
	differences := env(t, "COUNTERMYSQL_RANDOM_DIFFERENCES", 1)
	soak := harness.Soak(t)
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		ctx := context.Background()
		r, err := NewRunner(fmt.Sprintf("rnd_%d", os.Getpid()), srv.DSN)
		require.NoError(t, err)
		defer func() { require.NoError(t, r.Close()) }()
		r.Slow = func(what string) { t.Log(what) }
		r.MariaDB = harness.MariaDB(srv)
		start, scripts, most := time.Now(), 0, differences
		more := func() bool { return r.Steps < budget }
		if soak > 0 {
			more = func() bool { return time.Since(start) < soak }
		}
		news := start
		for s := uint64(seed); more() && most > 0; s++ {
			if soak > 0 && time.Since(news) > 10*time.Second {
				news = time.Now()
				fmt.Fprintf(os.Stderr, "%s  random, %s: %d statements, %d scripts, seed %d, %s left\n", news.Format(time.TimeOnly), srv.Flavor(), r.Steps, scripts, s, (soak - time.Since(start)).Round(time.Second))
			}
			if os.Getenv("COUNTERMYSQL_RANDOM_TRACE") != "" {
				fmt.Fprintln(os.Stderr, time.Now().Format(time.TimeOnly), "seed", s)
			}
			make := Generate
			if s%4 == 3 || os.Getenv("COUNTERMYSQL_RANDOM_ONLY") == "concurrent" {
				make = GenerateConcurrent
			}
			script := make(s, r.MariaDB)
			d, err := r.Compare(ctx, script)
			if !r.Alive(ctx) {
				require.NoError(t, srv.Restart(ctx))
				if own := r.CrashesPlain(ctx, script); !own {
					t.Fatalf("the server has crashed, and does not without countermysql: seed %d\n%s", s, script.GoTest())
				}
				t.Logf("seed %d: the server has crashed, as it does without countermysql", s)
				require.NoError(t, srv.Restart(ctx))
				continue
			}
			if err != nil { // another client's DDL may be in the way
				t.Logf("seed %d: %v; again", s, err)
				d, err = r.Compare(ctx, script)
			}
			require.NoError(t, err, "seed %d", s)
			scripts++
			if d == nil {
				continue
			}
			most--
			first := d.String()
			script, d = r.Shrink(ctx, script, d, time.Minute)
			t.Errorf("seed %d: %s\nshrunk: %s\n%s", s, first, d, script.GoTest())
		}
		t.Logf("%d statements, %d with errors, %d scripts from seed %d, %d differences of the server's own, in %s", r.Steps, r.Failed, scripts, seed, r.Own, time.Since(start).Round(time.Millisecond))
	})
}
