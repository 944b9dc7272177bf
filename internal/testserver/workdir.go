package testserver

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"time"
)

const workDirPrefix = "countermysql-"

// workDir is the temporary folder of one server:
//
//	data/ tmp/ init.sql log pid s (the socket) owner (locked while in use)
type workDir struct {
	path  string // as this process sees it
	seen  string // as the server sees it: shorter in a chroot
	log   *os.File
	owner *os.File
	disk  bool // a file system of its own, in memory, is mounted there
	gone  bool
}

// inMemory is how large the files of a server may get that are kept in memory, and
// leastMemory what the machine must have to spare for that: one takes some 300 MB.
const (
	inMemory    = "4g"
	leastMemory = 6 << 30
)

// newWorkDir makes a folder, under the chroot's /tmp if there is one, and on a disk
// of the size if one is given. Without a size the server's files are kept in memory
// if that can be had and durable is false: a file system takes a multiple of the
// servers' own time to create and drop tables, of which the tests make thousands.
func newWorkDir(chroot, disk string, durable bool) (*workDir, error) {
	base := os.TempDir()
	if chroot != "" {
		base = filepath.Join(chroot, "tmp")
	} else if len(base) > 60 {
		base = "/tmp" // a socket's path may have 107 bytes, on macOS 103
	}
	sweep(base)
	path, err := os.MkdirTemp(base, workDirPrefix)
	if err != nil {
		return nil, err
	}
	d := &workDir{path: path, seen: path}
	if chroot != "" {
		d.seen = filepath.Join("/tmp", filepath.Base(path))
	}
	if disk != "" {
		if err := mountDisk(path, disk); err != nil {
			return nil, errors.Join(fmt.Errorf("a disk of %s on %s: %w", disk, path, err), d.remove())
		}
		d.disk = true
	} else if !durable && spareMemory() >= leastMemory {
		d.disk = mountDisk(path, inMemory) == nil // only root may, and not in every container
	}
	if err := d.fill(); err != nil {
		return nil, errors.Join(err, d.remove())
	}
	return d, nil
}

func (d *workDir) fill() (err error) {
	if d.owner, err = os.Create(d.host("owner")); err != nil {
		return err
	}
	if ok, err := tryLock(d.owner); err != nil || !ok {
		return fmt.Errorf("locking %s: %w", d.owner.Name(), err)
	}
	// Appending: servers started one after the other share it.
	if d.log, err = os.OpenFile(d.host("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	return errors.Join(os.Mkdir(d.host("data"), 0o700), os.Mkdir(d.host("tmp"), 0o700))
}

// host is the path of a file of the folder in this process.
func (d *workDir) host(name string) string { return filepath.Join(d.path, name) }

// inside is the path of a file of the folder in the server.
func (d *workDir) inside(name string) string { return filepath.Join(d.seen, name) }

func (d *workDir) logTail() string {
	b, err := os.ReadFile(d.host("log"))
	if err != nil {
		return err.Error()
	}
	return "the end of its log:\n" + tail(b)
}

func (d *workDir) remove() error {
	if d.gone {
		return nil
	}
	d.gone = true
	var err error
	if d.disk {
		err = unmountDisk(d.path)
	}
	err = errors.Join(err, os.RemoveAll(d.path))
	if d.log != nil {
		err = errors.Join(err, d.log.Close())
	}
	if d.owner != nil { // last: the lock keeps sweep away
		err = errors.Join(err, d.owner.Close())
	}
	return err
}

// sweep removes the folders of processes that were killed, about 200 MB each.
// The kernel has released their locks. A folder that cannot be looked at is
// somebody else's.
func sweep(base string) {
	if !locksWork {
		return
	}
	owners, _ := filepath.Glob(filepath.Join(base, workDirPrefix+"*", "owner"))
	for _, name := range owners {
		if info, err := os.Stat(name); err != nil || time.Since(info.ModTime()) < time.Minute {
			continue // perhaps created, but not yet locked
		}
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		if ok, err := tryLock(f); ok && err == nil {
			_ = unmountDisk(filepath.Dir(name)) // few have one
			_ = os.RemoveAll(filepath.Dir(name))
		}
		_ = f.Close()
	}
}

// freeAddr is a free loopback address. Its port is below those that systems
// give to outgoing connections, so that a killed server finds it free again.
func freeAddr() (string, error) {
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 15000+rand.IntN(15000))
		l, err := net.Listen("tcp", addr)
		if err == nil {
			return addr, l.Close()
		}
	}
	return "", errors.New("no free port on 127.0.0.1")
}
