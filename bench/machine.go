package main

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/load"
	"github.com/shirou/gopsutil/v4/mem"
)

// fact is a line about the machine or the software on it.
type fact struct{ Name, Value string }

// describeMachine tells what can be found out.
func describeMachine(ctx context.Context) (facts []fact) {
	add := func(name, format string, args ...any) {
		facts = append(facts, fact{name, numbers.Sprintf(format, args...)})
	}
	if cpus, err := cpu.InfoWithContext(ctx); err == nil && len(cpus) > 0 {
		add("CPU", "%s, %d cores for the servers and the clients together", cpus[0].ModelName, runtime.NumCPU())
	}
	if m, err := mem.VirtualMemoryWithContext(ctx); err == nil {
		add("memory", "%.1f GiB", float64(m.Total)/(1<<30))
	}
	if h, err := host.InfoWithContext(ctx); err == nil {
		add("system", "%s %s, kernel %s, %s", h.Platform, h.PlatformVersion, h.KernelVersion, h.KernelArch)
	}
	if l, err := load.AvgWithContext(ctx); err == nil {
		add("load before", "%.2f in the last minute", l.Load1)
	}
	if d, err := flushTime(os.TempDir()); err == nil {
		add("disk", "%s for a write of 4 KiB and its fsync, median", duration(d))
	}
	add("Go", "%s", runtime.Version())
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, m := range build.Deps {
			if slices.Contains([]string{"github.com/go-sql-driver/mysql", "github.com/redis/go-redis/v9"}, m.Path) {
				add(m.Path, "%s", m.Version)
			}
		}
	}
	if commit, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=12").Output(); err == nil {
		add("countermysql", "commit %s", strings.TrimSpace(string(commit)))
	}
	add("date", "%s", time.Now().UTC().Format("2 January 2006"))
	return facts
}

// flushTime is what every durable commit has to wait for.
func flushTime(dir string) (time.Duration, error) {
	f, err := os.CreateTemp(dir, "countermysql-flush-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // in the temporary folder
	defer f.Close()
	var times []time.Duration
	page := make([]byte, 4096)
	for range 200 {
		begin := time.Now()
		if _, err := f.Write(page); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		times = append(times, time.Since(begin))
	}
	return percentile(times, 0.5), nil
}
