package main

import (
	"context"
	"os"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/process"
)

// effort is the processor time that was used up to a moment, in seconds.
type effort struct {
	client float64 // by this program
	all    float64 // by the whole machine
	idle   float64 // by nobody
}

// effortNow is zero where the system does not tell.
func effortNow(ctx context.Context) (e effort) {
	self, err := process.NewProcessWithContext(ctx, int32(os.Getpid()))
	if err != nil {
		return effort{}
	}
	own, err := self.TimesWithContext(ctx)
	if err != nil {
		return effort{}
	}
	machine, err := cpu.TimesWithContext(ctx, false)
	if err != nil || len(machine) != 1 {
		return effort{}
	}
	m := machine[0]
	e.client = own.User + own.System
	e.idle = m.Idle + m.Iowait
	e.all = m.User + m.Nice + m.System + m.Irq + m.Softirq + m.Steal
	return e
}

// since gives a round its costs. What this program has not used is the
// server's, on a machine that does nothing else.
func (e effort) since(before effort, operations float64, r *round) {
	client, all, idle := e.client-before.client, e.all-before.all, e.idle-before.idle
	if all+idle == 0 {
		return
	}
	per := float64(time.Second) / operations
	r.clientCPU = time.Duration(client * per)
	r.serverCPU = time.Duration(max(all-client, 0) * per)
	r.idle = idle / (all + idle)
}
