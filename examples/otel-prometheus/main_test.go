package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/servertest"
)

func TestPages(t *testing.T) {
	servertest.Alone(t, func(t *testing.T, d servertest.Database) {
		var traces bytes.Buffer
		handler, end, err := pages(t.Context(), d.DSN("counters=page.hits", "counterCreateSlots=true"), &traces)
		require.NoError(t, err)
		web := httptest.NewServer(handler)
		defer web.Close()
		ask := func(method, path string, code int) string {
			req, err := http.NewRequestWithContext(t.Context(), method, web.URL+path, nil)
			require.NoError(t, err)
			res, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			defer func() { _ = res.Body.Close() }()
			body, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.Equal(t, code, res.StatusCode, "%s", body)
			return string(body)
		}
		var readers sync.WaitGroup
		for range 8 {
			readers.Go(func() {
				for range 5 {
					ask("POST", "/hits/about", http.StatusOK)
				}
			})
		}
		readers.Wait()
		require.Equal(t, "40\n", ask("GET", "/hits/about", http.StatusOK))
		ask("GET", "/hits/nothing", http.StatusNotFound)
		metrics := ask("GET", "/metrics", http.StatusOK)
		require.Contains(t, metrics, `countermysql_statements_total{class="sum",db_name="pages"} 2`)
		require.Contains(t, metrics, `go_sql_open_connections{db_name="pages"}`)
		end()
		require.Contains(t, traces.String(), "INSERT INTO page")
	})
}
