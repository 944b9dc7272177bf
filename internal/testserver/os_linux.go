package testserver

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// childAttr: own process group, so that Ctrl-C reaches us first, and a helper
// script dies together with what it has started.
func childAttr(chroot string) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Chroot: chroot, Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func signalChild(p *os.Process, sig syscall.Signal) {
	_ = syscall.Kill(-p.Pid, sig) // the error is that it is gone already
}

// killRest ends what is left of an ended child's process group. It does not
// wait for ever: where no init collects orphans, dead ones stay in the group.
func killRest(p *os.Process) {
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if syscall.Kill(-p.Pid, syscall.SIGKILL) != nil {
			return
		}
	}
}

const locksWork = true

// tryLock takes the lock that ends with the process, or reports false.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// mountDisk mounts a tmpfs that everybody may enter.
func mountDisk(dir, size string) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=0755,size="+size)
}

func unmountDisk(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }

// spareMemory is what new programs can have without swapping, in bytes: MemAvailable
// of https://man7.org/linux/man-pages/man5/proc_meminfo.5.html, 0 where it isn't told.
func spareMemory() uint64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "MemAvailable:")
	var kB uint64
	if _, err := fmt.Sscan(rest, &kB); err != nil {
		return 0
	}
	return kB << 10
}

// unmountUnder detaches what an interrupted debootstrap has left mounted
// (/proc, /sys), so that removing its tree removes nothing else.
func unmountUnder(dir string) error {
	f, err := os.Open("/proc/self/mounts")
	if err != nil {
		return err
	}
	defer f.Close()
	var points []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) > 1 && strings.HasPrefix(fields[1], dir+"/") {
			points = append(points, fields[1])
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	for _, p := range slices.Backward(points) { // later mounts lie inside earlier ones
		if err := syscall.Unmount(p, syscall.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", p, err)
		}
	}
	return nil
}
