package testserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/go-sql-driver/mysql"
)

// EnvDSN names servers that are there already, for machines where none can be
// installed: one go-sql-driver DSN, or several separated by spaces. The user
// has to be allowed to create databases.
const EnvDSN = "COUNTERMYSQL_TEST_DSN"

// FromEnv returns the servers to test on: those named by EnvDSN, or else a
// MariaDB and a MySQL of our own, to which opts apply. Stop them all.
func FromEnv(ctx context.Context, opts ...Option) ([]*Server, error) {
	if dsns := strings.Fields(os.Getenv(EnvDSN)); len(dsns) > 0 {
		return connectAll(ctx, dsns)
	}
	flavors := []Flavor{MariaDB, MySQL}
	servers := make([]*Server, len(flavors))
	errs := make([]error, len(flavors))
	var wg sync.WaitGroup
	for i, f := range flavors {
		wg.Go(func() { servers[i], errs[i] = Start(ctx, f, opts...) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		for _, s := range servers {
			if s != nil {
				s.Stop()
			}
		}
		return nil, err
	}
	return servers, nil
}

// connectAll reports all mistakes together. It quotes no DSN, which may hold a
// password.
func connectAll(ctx context.Context, dsns []string) ([]*Server, error) {
	servers := make([]*Server, len(dsns))
	var errs []error
	for i, dsn := range dsns {
		s, err := connect(ctx, dsn)
		if err != nil {
			errs = append(errs, fmt.Errorf("testserver: DSN %d of %d in %s: %w", i+1, len(dsns), EnvDSN, err))
		}
		servers[i] = s
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return servers, nil
}

func connect(ctx context.Context, dsn string) (*Server, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("%w; it looks like user:password@tcp(127.0.0.1:3306)/", err)
	}
	probe := cfg.Clone()
	probe.DBName = "" // tests make their own
	version, err := askVersion(ctx, probe, anyVersion)
	if err != nil {
		return nil, fmt.Errorf("no answer from %s(%s): %w", cfg.Net, cfg.Addr, err)
	}
	s := &Server{flavor: flavorOf(version), version: version, cfg: cfg}
	s.opts.progress = func(string) {}
	return s, nil
}
