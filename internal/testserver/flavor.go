package testserver

import (
	"net"
	"os"
	"strings"
)

// Flavor is the kind of a server.
type Flavor string

const (
	MariaDB Flavor = "mariadb"
	MySQL   Flavor = "mysql"
)

func flavorOf(version string) Flavor {
	if strings.Contains(strings.ToLower(version), "mariadb") {
		return MariaDB
	}
	return MySQL
}

// initArgs are the flags that fill an empty data directory.
func (f Flavor) initArgs(d *workDir) []string {
	// --no-defaults comes first. Servers that share a temporary folder remove each other's tables.
	args := []string{"--no-defaults", "--datadir=" + d.inside("data"), "--tmpdir=" + d.inside("tmp")}
	args = append(args, asRoot()...)
	if f == MariaDB {
		// --force: also where the host's own name cannot be resolved.
		return append(args, "--auth-root-authentication-method=normal", "--skip-test-db", "--force")
	}
	return append(args, "--initialize-insecure", "--init-file="+d.inside("init.sql"))
}

// runArgs are the flags of the server.
func (f Flavor) runArgs(d *workDir, addr string) []string {
	host, port, _ := net.SplitHostPort(addr)
	args := []string{
		"--no-defaults",
		"--datadir=" + d.inside("data"),
		"--tmpdir=" + d.inside("tmp"),
		"--socket=" + d.inside("s"),
		"--pid-file=" + d.inside("pid"),
		"--bind-address=" + host,
		"--port=" + port,
		"--skip-name-resolve",
		"--max-connections=600",
		"--back-log=1000", // hundreds connect at once, on two busy cores:
		"--connect-timeout=60",
		"--local-infile=1",
		"--innodb-buffer-pool-size=256M",
	}
	args = append(args, asRoot()...)
	if f == MariaDB {
		// Its bootstrap knows no init-file, and at every start it does no harm.
		return append(args, "--init-file="+d.inside("init.sql"), "--innodb-log-file-size=64M")
	}
	return append(args, "--secure-file-priv=", "--mysqlx=OFF")
}

// syncArgs spare a server that isn't durable the waits for the disk, a hundred
// thousand and more in a run of the tests, and nothing else: it writes when and
// where it always does.
func (f Flavor) syncArgs(durable bool) []string {
	switch {
	case durable:
		return nil
	case f == MariaDB:
		return []string{"--debug-no-sync", "--innodb-flush-method=nosync"}
	}
	return []string{"--innodb-flush-method=nosync", "--sync-binlog=0"}
}

// asRoot is what both servers want to hear before they run as root. They do:
// their folder is 0700 and root's.
func asRoot() []string {
	if os.Geteuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}
