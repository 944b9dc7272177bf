package testserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An init-file holds one statement a line. With skip-name-resolve root@localhost is good for
// the socket only.
const grants = "CREATE USER IF NOT EXISTS root@'127.0.0.1';\n" +
	"GRANT ALL PRIVILEGES ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;\n"

// initialize fills the data directory with a copy of one that was made before: to make one
// takes MySQL as long as to start, and a run of the tests starts some fifty.
func (s *Server) initialize(ctx context.Context) error {
	if err := os.WriteFile(s.dir.host("init.sql"), []byte(grants), 0o600); err != nil {
		return err
	}
	for _, arg := range s.opts.args {
		if strings.HasPrefix(arg, "--lower-case-table-names=") { // MySQL keeps it for ever
			return s.make(ctx, arg)
		}
	}
	unlock, err := lock(ctx, "data-"+string(s.flavor))
	if err != nil {
		return err
	}
	defer unlock()
	made, err := s.template()
	if err != nil {
		return err
	}
	if made.fits() {
		return os.CopyFS(s.dir.host("data"), os.DirFS(made.data()))
	}
	if err := s.make(ctx); err != nil {
		return err
	}
	if err := os.Remove(s.dir.host("data/auto.cnf")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err // in it is the server's own UUID
	}
	if err := made.keep(s.dir.host("data")); err != nil {
		s.opts.progress(fmt.Sprintf("the data directory is not kept for the next server: %v", err))
	}
	return nil
}

// make lets the server make its data directory.
func (s *Server) make(ctx context.Context, flags ...string) error {
	proc, err := s.spawn(s.inst.initProgram, slices.Concat(s.flavor.initArgs(s.dir), s.flavor.syncArgs(s.opts.durable), flags))
	if err != nil {
		return err
	}
	if err := proc.wait(ctx); err != nil {
		return fmt.Errorf("initializing the data directory: %w: %s", err, s.dir.logTail())
	}
	return nil
}

// template is a data directory that is kept, and what it was made with.
type template struct{ dir, of string }

func (s *Server) template() (template, error) {
	cache, err := cacheDir()
	if err != nil {
		return template{}, err
	}
	program, err := os.Stat(filepath.Join(s.inst.chroot, s.inst.server))
	if err != nil {
		return template{}, err
	}
	args := strings.ReplaceAll(strings.Join(s.flavor.initArgs(s.dir), " "), s.dir.seen, "")
	return template{
		dir: filepath.Join(cache, "countermysql-data-"+string(s.flavor)),
		of:  fmt.Sprint(s.inst.chroot, s.inst.server, program.Size(), program.ModTime(), args, grants),
	}, nil
}

func (t template) data() string { return filepath.Join(t.dir, "data") }

// fits reports whether it is whole, and made with what is installed now.
func (t template) fits() bool {
	of, err := os.ReadFile(filepath.Join(t.dir, "of"))
	return err == nil && string(of) == t.of
}

// keep puts a copy of a data directory in its place. What it was made with comes last: then it is whole.
func (t template) keep(data string) error {
	if err := errors.Join(os.RemoveAll(filepath.Join(t.dir, "of")), os.RemoveAll(t.dir)); err != nil {
		return err
	}
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return err
	}
	if err := os.CopyFS(t.data(), os.DirFS(data)); err != nil {
		return errors.Join(err, os.RemoveAll(t.dir))
	}
	return os.WriteFile(filepath.Join(t.dir, "of"), []byte(t.of), 0o600)
}
