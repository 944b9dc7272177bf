package buffered

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// These make this program a process that increments a page.
const (
	processDSN  = "COUNTERMYSQL_BUFFERED_DSN"
	processPage = "COUNTERMYSQL_BUFFERED_PAGE"
)

// work increments a page until nobody holds its standard input, and says now and then how often it
// has tried, and in the end how often that was acknowledged.
func work(dsn, page string) error {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return err
	}
	config := pages(1000)
	config.CreateSlots, config.Tables[0].Buffered.Every = true, 100*time.Millisecond
	connector, err := countermysql.NewConnector(cfg, config)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	var tried, told atomic.Int64
	var crowd sync.WaitGroup
	for range 4 {
		crowd.Go(func() {
			for ctx.Err() == nil {
				if n := tried.Add(1); n%100 == 0 {
					fmt.Println(n + 4) // before any of them is sent
				}
				if res, err := db.Exec(hit, page); err == nil {
					n, _ := res.RowsAffected()
					told.Add(n)
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	crowd.Wait()
	if err := db.Close(); err != nil {
		return err
	}
	_, err = fmt.Println(told.Load())
	return err
}

// TestKilledProcess proves that of several processes each which ends as it should has stored
// what it acknowledged, and that one which is killed has stored no more than it tried.
func TestKilledProcess(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPages(t, srv, 1000)
		var work sync.WaitGroup
		last := make([]int64, 3)
		ends := make([]error, 3)
		for i := range last {
			p := exec.CommandContext(t.Context(), os.Args[0])
			p.Env = append(os.Environ(), processDSN+"="+tw.OursDSN, processPage+"="+strconv.Itoa(min(i+1, 2)))
			p.Stderr = os.Stderr
			in, err := p.StdinPipe()
			require.NoError(t, err)
			out, err := p.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, p.Start())
			work.Go(func() {
				said := 0
				for lines := bufio.NewScanner(out); lines.Scan(); {
					if n, err := strconv.ParseInt(lines.Text(), 10, 64); err == nil {
						last[i] = n
					}
					if said++; said == 12 {
						if i == 0 {
							_ = p.Process.Kill()
						}
						_ = in.Close()
					}
				}
				ends[i] = p.Wait()
			})
		}
		work.Wait()
		require.Error(t, ends[0])
		require.NoError(t, ends[1])
		require.NoError(t, ends[2])
		require.Equal(t, last[1]+last[2], stored(t, tw, 2))
		require.Less(t, stored(t, tw, 1), last[0]+200)
		require.Positive(t, stored(t, tw, 1))
	})
}
