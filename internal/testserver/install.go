package testserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// installation says where the programs of a flavor are.
type installation struct {
	server      string
	initProgram string // fills the data directory
	chroot      string // if set, both are paths inside it
}

func install(ctx context.Context, f Flavor, progress func(string)) (installation, error) {
	switch f {
	case MariaDB:
		return installMariaDB(ctx, progress)
	case MySQL:
		return installMySQL(ctx, progress)
	}
	return installation{}, fmt.Errorf("unknown flavor %q: it is %q or %q", f, MariaDB, MySQL)
}

func installMariaDB(ctx context.Context, progress func(string)) (installation, error) {
	if inst, ok := findMariaDB(); ok {
		return inst, nil
	}
	err := apt(ctx, progress, "MariaDB", func() bool { _, ok := findMariaDB(); return ok },
		"mariadb-server-core", "mariadb-client-core")
	if err != nil {
		return installation{}, remedy("mariadb-server", err)
	}
	inst, ok := findMariaDB()
	if !ok {
		return installation{}, remedy("mariadb-server", errors.New("mariadbd or mariadb-install-db is still missing"))
	}
	return inst, nil
}

func findMariaDB() (installation, bool) {
	inst := installation{server: find("mariadbd"), initProgram: find("mariadb-install-db")}
	// The script needs my_print_defaults, which is in another package.
	return inst, inst.server != "" && inst.initProgram != "" && find("my_print_defaults") != ""
}

func installMySQL(ctx context.Context, progress func(string)) (installation, error) {
	// With MariaDB installed, mysqld is MariaDB.
	if path := find("mysqld"); path != "" {
		if out, err := exec.CommandContext(ctx, path, "--version").Output(); err == nil && flavorOf(string(out)) == MySQL {
			return installation{server: path, initProgram: path}, nil
		}
	}
	t := mysqlTree{dir: mysqlTreeDir, progress: progress}
	if err := t.ensure(ctx); err != nil {
		return installation{}, remedy("mysql-server", err)
	}
	return installation{server: "/usr/sbin/mysqld", initProgram: "/usr/sbin/mysqld", chroot: t.dir}, nil
}

// remedy tells the reader what to do about err, which may be long.
func remedy(pkg string, err error) error {
	return fmt.Errorf("no server to be had: install %s so that its programs are on PATH, "+
		"or name running servers by %s (the demo: by -dsn). The cause: %w", pkg, EnvDSN, err)
}

// find looks in PATH and where servers are but PATH often does not lead.
func find(program string) string {
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	for _, dir := range []string{"/usr/sbin", "/usr/libexec", "/usr/local/sbin", "/usr/local/bin"} {
		if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return path
		}
	}
	return ""
}

// apt installs packages, unless another process has meanwhile.
func apt(ctx context.Context, progress func(string), what string, installed func() bool, packages ...string) error {
	if _, err := os.Stat("/etc/debian_version"); err != nil {
		return fmt.Errorf("%s is not installed, and can be installed automatically on Debian and Ubuntu only", what)
	}
	var sudo []string
	if os.Geteuid() != 0 {
		if exec.CommandContext(ctx, "sudo", "-n", "true").Run() != nil {
			return fmt.Errorf("%s is not installed, and installing it needs root or sudo without a password", what)
		}
		sudo = []string{"sudo", "-n"}
	}
	unlock, err := lock(ctx, "apt")
	if err != nil {
		return err
	}
	defer unlock()
	if installed() {
		return nil
	}

	progress(fmt.Sprintf("installing %s (apt-get install %s)", what, strings.Join(packages, " ")))
	get := append(sudo, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=300")
	// One bad source fails the update; the packages may be had all the same.
	updateErr := output(ctx, append(get[:len(get):len(get)], "update"))
	// --no-remove: the developer's own server may conflict, and it must stay.
	args := append(get[:len(get):len(get)], "install", "--no-install-recommends", "--no-remove")
	if err := output(ctx, append(args, packages...)); err != nil {
		return errors.Join(err, updateErr)
	}
	return nil
}

// output runs a command and puts the end of what it said into its error.
func output(ctx context.Context, args []string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // dpkg tidies up
	cmd.WaitDelay = time.Minute
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, tail(out.Bytes()))
	}
	return nil
}

// cacheDir is where things are kept for the next test run.
func cacheDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/cache", nil
	}
	dir, err := os.UserCacheDir()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	return dir, err
}

// lock waits until no other process (of `go test ./...`, one a package) is
// installing the same thing.
func lock(ctx context.Context, name string) (unlock func(), err error) {
	dir, err := cacheDir()
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "countermysql-"+name+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		ok, err := tryLock(f)
		if ok && err == nil {
			return func() { _ = f.Close() }, nil
		}
		if err == nil {
			select {
			case <-time.After(200 * time.Millisecond):
				continue
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		_ = f.Close()
		return nil, fmt.Errorf("waiting for %s: %w", f.Name(), err)
	}
}
