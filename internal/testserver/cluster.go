package testserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/go-sql-driver/mysql"
)

// galeraLibrary is what makes a MariaDB server a node of a Galera cluster.
const galeraLibrary = "/usr/lib/galera/libgalera_smm.so"

// transferScript is a way of our own to bring a new node up to date (a state snapshot
// transfer): its data are a copy of the first node's, so only the position is passed on,
// and the first node sends what has happened since
// (https://mariadb.com/kb/en/introduction-to-state-snapshot-transfers-ssts/).
const transferScript = `#!/bin/sh
here=$(dirname "$0")
while [ $# -gt 0 ]; do
	case $1 in
	--role) role=$2 ;;
	--address) address=$2 ;;
	--gtid) gtid=$2 ;;
	esac
	shift
done
case $role in
donor)
	echo "$gtid" >"$here/position.new" && mv "$here/position.new" "$here/position"
	echo "done $gtid"
	;;
joiner)
	echo "ready $address"
	until [ -e "$here/position" ]; do sleep 0.05; done
	cat "$here/position" && rm "$here/position"
	;;
esac
`

// StartCluster starts a Galera cluster of MariaDB servers, all of which can be written.
// Stop them all.
func StartCluster(ctx context.Context, size int, opts ...Option) ([]*Server, error) {
	nodes := make([]*Server, size)
	for i := range nodes {
		nodes[i] = &Server{flavor: MariaDB, opts: options{progress: func(string) {}, node: true}}
		for _, o := range opts {
			o(&nodes[i].opts)
		}
	}
	if err := startNodes(ctx, nodes); err != nil {
		for _, s := range nodes {
			s.Stop()
		}
		return nil, fmt.Errorf("testserver: Galera cluster: %w", err)
	}
	return nodes, nil
}

func startNodes(ctx context.Context, nodes []*Server) error {
	first := nodes[0]
	inst, err := installMariaDB(ctx, first.opts.progress)
	if err != nil {
		return err
	}
	library := func() bool { _, err := os.Stat(galeraLibrary); return err == nil }
	if !library() {
		if err := apt(ctx, first.opts.progress, "Galera", library, "galera-4"); err != nil {
			return err
		}
	}
	if err := prepareNodes(nodes, inst); err != nil {
		return err
	}
	if err := first.initialize(ctx); err != nil {
		return err
	}
	if err := first.bootstrap(ctx); err != nil { // which gives its data a position, from which the others go on
		return err
	}
	first.end(syscall.SIGTERM)
	for _, s := range nodes[1:] {
		if err := s.copyOf(first); err != nil {
			return err
		}
	}
	if err := first.bootstrap(ctx); err != nil {
		return err
	}
	for _, s := range nodes[1:] {
		if err := s.run(ctx); err != nil {
			return err
		}
	}
	return nil
}

// prepareNodes gives each node its folder, its addresses, and the arguments that lead
// them to each other.
func prepareNodes(nodes []*Server, inst installation) error {
	members := make([]string, len(nodes))
	for i, s := range nodes {
		var err error
		if s.dir, err = newWorkDir("", s.opts.disk, s.opts.durable); err != nil {
			return err
		}
		s.inst = inst
		s.opts.env = []string{"PATH=" + nodes[0].dir.path + ":" + os.Getenv("PATH")} // where the script is
		s.cfg = mysql.NewConfig()
		s.cfg.User, s.cfg.Net = "root", "tcp"
		var transfer string
		for _, addr := range []*string{&s.cfg.Addr, &members[i], &transfer} {
			if *addr, err = freeAddr(); err != nil {
				return err
			}
		}
		s.opts.args = append(s.opts.args, "--wsrep-on=ON", "--wsrep-provider="+galeraLibrary, "--wsrep-sst-method=blank",
			"--binlog-format=ROW", "--innodb-autoinc-lock-mode=2", "--wsrep-node-address="+members[i],
			"--wsrep-provider-options=gmcast.listen_addr=tcp://"+members[i]+";ist.recv_addr="+transfer+";gcache.size=16M;gcache.dir="+s.dir.inside("tmp"))
	}
	for _, s := range nodes {
		s.opts.args = append(s.opts.args, "--wsrep-cluster-address=gcomm://"+strings.Join(members, ","))
	}
	return os.WriteFile(nodes[0].dir.host("wsrep_sst_blank"), []byte(transferScript), 0o700)
}

// bootstrap starts the first node of a cluster, which waits for no other.
func (s *Server) bootstrap(ctx context.Context) error {
	joining := s.opts.args
	s.opts.args = append(joining[:len(joining):len(joining)], "--wsrep-new-cluster")
	defer func() { s.opts.args = joining }()
	return s.run(ctx)
}

// copyOf gives a server the data of one that is stopped.
func (s *Server) copyOf(other *Server) error {
	grants, err := os.ReadFile(other.dir.host("init.sql"))
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(s.dir.host("init.sql"), grants, 0o600), os.CopyFS(s.dir.host("data"), os.DirFS(other.dir.host("data"))))
}
