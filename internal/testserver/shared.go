package testserver

import (
	"context"
	"sync"
)

var shared struct {
	mu      sync.Mutex
	servers []*Server
}

// Shared returns the servers of FromEnv, started for the first test of a process
// that asks: a start takes longer than most tests. TestMain has to StopShared.
func Shared(ctx context.Context) ([]*Server, error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.servers == nil {
		servers, err := FromEnv(ctx)
		if err != nil {
			return nil, err
		}
		shared.servers = servers
	}
	return shared.servers, nil
}

// StopShared stops what Shared has started, if it has.
func StopShared() {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	for _, s := range shared.servers {
		s.Stop()
	}
	shared.servers = nil
}
