package testserver

import (
	"context"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is a child that dies with us.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it is gone
	err  error         // how it ended; read after done
}

// spawn starts cmd. The kernel kills the child when the thread that started it
// ends (Pdeathsig), and Go ends threads: so a goroutine holds on to its thread
// until the child is gone.
func spawn(cmd *exec.Cmd, chroot string) (*process, error) {
	cmd.SysProcAttr = childAttr(chroot)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			killRest(cmd.Process) // else a helper's child still writes while we remove its folder
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// wait returns how the child ended. It ends the child when ctx does.
func (p *process) wait(ctx context.Context) error {
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		p.end(syscall.SIGTERM)
		return ctx.Err()
	}
}

// end sends the signal, SIGKILL if that does not help, and waits.
func (p *process) end(sig syscall.Signal) {
	signalChild(p.cmd.Process, sig)
	select {
	case <-p.done:
		return
	case <-time.After(stopTimeout):
	}
	signalChild(p.cmd.Process, syscall.SIGKILL)
	<-p.done
}
