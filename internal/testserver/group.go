package testserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

// StartGroup starts MySQL servers in Group Replication: the first is the primary, and the
// others follow it, or all can be written, with WithArgs("--group-replication-single-primary-mode=OFF").
// Stop them all.
func StartGroup(ctx context.Context, size int, opts ...Option) ([]*Server, error) {
	nodes, addrs, errs := make([]*Server, size), make([]string, size), make([]error, size)
	for i := range addrs {
		if addrs[i], errs[i] = freeAddr(); errs[i] != nil {
			return nil, errs[i]
		}
	}
	var starting sync.WaitGroup
	for i, addr := range addrs {
		args := append([]Option{WithArgs(
			"--plugin-load-add=group_replication.so", "--gtid-mode=ON", "--enforce-gtid-consistency=ON", fmt.Sprint("--server-id=", i+1),
			"--report-host=127.0.0.1", "--innodb-buffer-pool-size=64M", "--group-replication-start-on-boot=OFF",
			"--group-replication-group-name=aaaaaaaa-0000-4000-8000-000000000000", "--group-replication-local-address="+addr,
			"--group-replication-group-seeds="+strings.Join(addrs, ","))}, opts...)
		starting.Go(func() { nodes[i], errs[i] = Start(ctx, MySQL, args...) })
	}
	starting.Wait()
	err := errors.Join(errs...)
	for i := 0; i < size && err == nil; i++ {
		err = nodes[i].Join(ctx, i == 0)
	}
	if err != nil {
		for _, s := range nodes {
			if s != nil {
				s.Stop()
			}
		}
		return nil, fmt.Errorf("testserver: group: %w", err)
	}
	return nodes, nil
}

// Join has a server of StartGroup join the group, or begin it. One that was restarted is in none.
func (s *Server) Join(ctx context.Context, first bool) error {
	connector, err := mysql.NewConnector(s.cfg)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	stmts := []string{"CHANGE REPLICATION SOURCE TO SOURCE_USER = 'root' FOR CHANNEL 'group_replication_recovery'", "START GROUP_REPLICATION"}
	if first {
		stmts = []string{"SET GLOBAL group_replication_bootstrap_group = ON", stmts[1], "SET GLOBAL group_replication_bootstrap_group = OFF"}
	}
	for _, stmt := range stmts {
		if _, err := db.ExecContext(ctx, stmt); err != nil {
			return fmt.Errorf("%s: %w: %s", stmt, err, s.dir.logTail())
		}
	}
	const online = "SELECT COUNT(*) > 0 FROM performance_schema.replication_group_members WHERE MEMBER_ID = @@server_uuid AND MEMBER_STATE = 'ONLINE'"
	return s.until(ctx, db, online)
}

// until waits for a query to say yes.
func (s *Server) until(ctx context.Context, db *sql.DB, query string) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		var yes bool
		if err := db.QueryRowContext(ctx, query).Scan(&yes); err != nil || yes {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: not yet: %s: %s", ctx.Err(), query, s.dir.logTail())
		case <-time.After(30 * time.Millisecond):
		}
	}
}
