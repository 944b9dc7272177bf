package faults

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

const (
	isPrimary = "SELECT COUNT(*) > 0 FROM performance_schema.replication_group_members WHERE MEMBER_ID = @@server_uuid AND MEMBER_ROLE = 'PRIMARY' AND MEMBER_STATE = 'ONLINE' AND NOT @@super_read_only"
	promote   = "SELECT group_replication_set_as_primary(@@server_uuid, 1)" // transactions that take longer are ended
)

// TestGroup proves the same of a MySQL group whose primary is killed, or becomes another one, and of
// clients that are led to the new one.
func TestGroup(t *testing.T) {
	t.Parallel()
	nodes, err := testserver.StartGroup(t.Context(), 3, testserver.WithArgs("--group-replication-member-expel-timeout=0"))
	require.NoError(t, err)
	for _, srv := range nodes {
		t.Cleanup(srv.Stop)
	}
	for _, f := range []fault{
		{name: "killed primary", every: time.Second, meets: broken, strike: func(w *world) error {
			time.Sleep(time.Second) // of load
			killed := w.srv
			if err := killed.Kill(); err != nil {
				return err
			}
			if err := w.follow(slices.DeleteFunc(slices.Clone(nodes), func(s *testserver.Server) bool { return s == killed })); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // as start
			defer cancel()
			if err := killed.Restart(ctx); err != nil {
				return err
			}
			return killed.Join(ctx, false)
		}},
		{name: "another primary", every: 500 * time.Millisecond, meets: []int{1290}, strike: func(w *world) error {
			next := nodes[(slices.Index(nodes, w.srv)+1)%len(nodes)]
			db, err := sql.Open("mysql", next.DSN(""))
			if err != nil {
				return err
			}
			defer db.Close()
			if _, err := db.Exec(promote); err != nil {
				return err
			}
			time.Sleep(100 * time.Millisecond) // for so long clients write where they can't any more
			return w.follow([]*testserver.Server{next})
		}},
	} {
		t.Run(f.name, func(t *testing.T) {
			w := newWorld(t, nodes[0], "", "interpolateParams=true")
			defer func() { w.end(t) }() // on the last primary
			w.endure(t, f, 16, max(3*time.Second, harness.Soak(t)/2))
			at := slices.Index(nodes, w.srv)
			nodes[0], nodes[at] = nodes[at], nodes[0]
		})
	}
}

// follow leads the clients to the one of the servers that becomes the primary.
func (w *world) follow(servers []*testserver.Server) error {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		for _, srv := range servers {
			db, err := sql.Open("mysql", srv.DSN(w.name))
			if err != nil {
				return err
			}
			var is bool
			if err = db.QueryRow(isPrimary).Scan(&is); err != nil || !is {
				_ = db.Close()
				continue
			}
			_ = w.admin.Close()
			db.SetMaxIdleConns(1)
			w.srv, w.admin = srv, db
			w.proxy.Move(srv.Addr())
			return nil
		}
	}
	return errors.New("the group has no primary")
}
