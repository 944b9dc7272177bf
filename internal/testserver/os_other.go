//go:build !linux

package testserver

import (
	"errors"
	"os"
	"syscall"
)

// Outside Linux nothing is installed and no kernel ends a child with its
// parent: a killed test leaves its server behind.

func childAttr(string) *syscall.SysProcAttr { return nil }

func signalChild(p *os.Process, sig syscall.Signal) {
	if p.Signal(sig) != nil { // Windows knows only Kill
		_ = p.Kill()
	}
}

func killRest(*os.Process) {}

// locksWork tells sweep that it cannot know which folders are in use.
const locksWork = false

func tryLock(*os.File) (bool, error) { return true, nil }

func unmountUnder(string) error { return errors.ErrUnsupported }

func mountDisk(string, string) error { return errors.ErrUnsupported }

func unmountDisk(string) error { return errors.ErrUnsupported }

func spareMemory() uint64 { return 0 }
