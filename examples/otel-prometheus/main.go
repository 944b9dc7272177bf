// Otel-prometheus is a web server that shows what the driver does: OpenTelemetry
// traces of every statement, through otelsql, on the standard error, and metrics
// for Prometheus under /metrics.
//
//	mysql -e 'CREATE DATABASE pages'
//	cd examples/otel-prometheus && go run . 2>traces.json
//	curl -X POST localhost:8080/hits/about; curl localhost:8080/hits/about; curl localhost:8080/metrics
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/XSAM/otelsql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/trace"

	_ "github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/metrics/countermysqlprom"
)

const defaultDSN = "root@tcp(127.0.0.1:3306)/pages?counters=page.hits&counterCreateSlots=true&counterRollup=30s"

func main() {
	dsn := defaultDSN
	if len(os.Args) > 1 {
		dsn = os.Args[1]
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := serve(ctx, dsn); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context, dsn string) error {
	handler, end, err := pages(ctx, dsn, os.Stderr)
	if err != nil {
		return err
	}
	defer end()
	server := &http.Server{Addr: "localhost:8080", Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Shutdown(context.WithoutCancel(ctx)) })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// pages returns the web server's handler; end sends the last traces.
func pages(ctx context.Context, dsn string, traces io.Writer) (handler http.Handler, end func(), err error) {
	exporter, err := stdouttrace.New(stdouttrace.WithWriter(traces))
	if err != nil {
		return nil, nil, err
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter))
	db, err := otelsql.Open("countermysql", dsn, otelsql.WithTracerProvider(provider), otelsql.WithAttributes(attribute.String("db.system.name", "mysql")))
	if err != nil {
		return nil, nil, err
	}
	end = func() {
		_ = db.Close()
		_ = provider.Shutdown(context.WithoutCancel(ctx)) // nobody is left to be told
	}
	if _, err := db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS page (name VARCHAR(100) PRIMARY KEY, hits BIGINT NOT NULL DEFAULT 0)"); err != nil {
		end()
		return nil, nil, err
	}
	registry := prometheus.NewRegistry()
	// countermysqlprom finds its driver below otelsql
	registry.MustRegister(countermysqlprom.NewCollector(db, "pages"), collectors.NewDBStatsCollector(db, "pages"))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("POST /hits/{page}", func(w http.ResponseWriter, r *http.Request) {
		_, err := db.ExecContext(r.Context(), "INSERT INTO page (name, hits) VALUES (?, 1) ON DUPLICATE KEY UPDATE hits = hits + 1", r.PathValue("page"))
		answer(w, "counted", err)
	})
	mux.HandleFunc("GET /hits/{page}", func(w http.ResponseWriter, r *http.Request) {
		var hits int64
		err := db.QueryRowContext(r.Context(), "SELECT hits FROM page WHERE name = ?", r.PathValue("page")).Scan(&hits)
		answer(w, hits, err)
	})
	return mux, end, nil
}

func answer(w http.ResponseWriter, what any, err error) {
	switch {
	case errors.Is(err, sql.ErrNoRows):
		http.Error(w, "no such page", http.StatusNotFound)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		_, _ = fmt.Fprintln(w, what)
	}
}
