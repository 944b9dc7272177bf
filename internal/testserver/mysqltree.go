package testserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// mysqlTreeDir is where MySQL is kept for the next test run. Debian packages
// MySQL in sid only and in conflict with MariaDB, so it gets a root of its own.
const mysqlTreeDir = "/var/cache/countermysql-mysql"

// mysqlTree is a small Debian sid with MySQL in it, entered by chroot.
type mysqlTree struct {
	dir      string
	progress func(string)
}

// ensure makes the tree unless it is there. A tree counts as there when the
// marker is in it: without one, debootstrap may have been interrupted.
func (t mysqlTree) ensure(ctx context.Context) error {
	if os.Geteuid() != 0 {
		return errors.New("MySQL is not installed, and installing it automatically needs root")
	}
	if t.marked() {
		return nil
	}
	unlock, err := lock(ctx, "mysql")
	if err != nil {
		return err
	}
	defer unlock()
	if t.marked() {
		return nil
	}
	if t.works(ctx) != nil {
		if err := t.build(ctx); err != nil {
			return err
		}
	}
	return os.WriteFile(t.marker(), nil, 0o644)
}

func (t mysqlTree) marker() string { return filepath.Join(t.dir, ".countermysql-complete") }

func (t mysqlTree) marked() bool {
	_, err := os.Stat(t.marker())
	return err == nil
}

// works finds trees that are complete but were made without the marker.
func (t mysqlTree) works(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "/usr/sbin/mysqld", "--version")
	cmd.Dir = "/"
	cmd.SysProcAttr = childAttr(t.dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("mysqld --version in %s: %w\n%s", t.dir, err, tail(out))
	}
	return nil
}

func (t mysqlTree) build(ctx context.Context) error {
	if find("debootstrap") == "" {
		err := apt(ctx, t.progress, "debootstrap", func() bool { return find("debootstrap") != "" },
			"debootstrap", "debian-archive-keyring")
		if err != nil {
			return err
		}
	}
	if err := unmountUnder(t.dir); err != nil {
		return err
	}
	if err := os.RemoveAll(t.dir); err != nil {
		return err
	}
	t.progress("installing MySQL into " + t.dir + " (debootstrap, about a minute)")
	begin := time.Now()
	if err := t.debootstrap(ctx); err != nil {
		return err
	}
	if err := t.works(ctx); err != nil {
		return err
	}
	t.progress(fmt.Sprintf("installed MySQL in %.0f s", time.Since(begin).Seconds()))
	return nil
}

// debootstrap runs as a child that dies with us: one that goes on would write
// into the tree that the next process has begun.
func (t mysqlTree) debootstrap(ctx context.Context) error {
	cmd := exec.Command(find("debootstrap"), "--variant=minbase", "--include=mysql-server-core", "sid", t.dir)
	cmd.WaitDelay = 5 * time.Second // its children may hold the pipe
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	p, err := spawn(cmd, "")
	if err == nil {
		err = p.wait(ctx)
	}
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(t.dir, "debootstrap", "debootstrap.log"))
		return fmt.Errorf("debootstrap: %w\n%s\n%s", err, tail(out.Bytes()), tail(log))
	}
	return nil
}
