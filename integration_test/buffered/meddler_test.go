package buffered

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync/atomic"
	"testing"

	"github.com/ngrok/sqlmw"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// meddler has a test decide what becomes of each statement: it sends it, or does not.
type meddler struct {
	sqlmw.NullInterceptor
	does atomic.Pointer[func(ctx context.Context, query string, send func(query string) error) error]
}

func (m *meddler) set(does func(ctx context.Context, query string, send func(query string) error) error) {
	m.does.Store(&does)
}

func (m *meddler) ConnExecContext(ctx context.Context, c driver.ExecerContext, query string, args []driver.NamedValue) (res driver.Result, err error) {
	send := func(query string) error {
		res, err = c.ExecContext(ctx, query, args)
		return err
	}
	if does := m.does.Load(); does != nil {
		err = (*does)(ctx, query, send)
	} else {
		err = send(query)
	}
	if err != nil {
		return nil, err
	}
	return res, nil
}

// meddled is a sql.DB whose statements a test may meddle with, the only one of its database that buffers.
func meddled(t *testing.T, srv *testserver.Server) (*harness.Twin, *sql.DB, *meddler) {
	t.Helper()
	tw, m := harness.NewTwin(t, srv, schema, pages(1000)), &meddler{}
	own := *tw.Config
	own.Interceptor = m
	db, _ := harness.OpenOurs(t, tw.OursDSN, &own)
	opened(t, db)
	return tw, db, m
}
