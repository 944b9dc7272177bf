// Package faults proves that no acknowledged increment is lost and none is
// counted twice when servers, connections and clients fail under load.
package faults

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Cut is what a proxy does to the next statement that passes it.
type Cut int32

const (
	noCut     Cut = iota
	CutBefore     // the connection breaks before the statement arrives
	CutAfter      // it breaks after the statement has arrived, before its answer
	CutWithin     // it breaks within the statement
	CutAnswer     // it breaks within the answer
	Swallow       // it stays open, and nothing passes any more
	Slow          // the statement is late
)

func (c Cut) String() string {
	return [...]string{"no cut", "cut before the statement", "cut after the statement", "cut within the statement", "cut within the answer", "half-open", "slow"}[c]
}

// Proxy is a loopback proxy that breaks connections.
type Proxy struct {
	listener net.Listener
	server   atomic.Value // its address
	armed    atomic.Int32
	Struck   atomic.Int64 // how often it has cut

	mu    sync.Mutex
	conns map[net.Conn]bool
	work  sync.WaitGroup
}

// NewProxy listens on a free port and forwards to the server.
func NewProxy(server string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, conns: map[net.Conn]bool{}}
	p.server.Store(server)
	p.work.Go(p.accept)
	return p, nil
}

// Addr is where the proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Strike arms the proxy: the next statement is cut.
func (p *Proxy) Strike(c Cut) { p.armed.Store(int32(c)) }

// Close ends the proxy and all its connections.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.cutAll()
	p.work.Wait()
}

// Move has the proxy lead to another server from now on, as one that follows a failover does.
func (p *Proxy) Move(server string) {
	p.server.Store(server)
	p.cutAll()
}

func (p *Proxy) cutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server.Load().(string))
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.mu.Unlock()
		l := &link{proxy: p, client: client, server: server}
		p.work.Go(l.statements)
		p.work.Go(l.answers)
	}
}

// link is one connection through the proxy.
type link struct {
	proxy          *Proxy
	client, server net.Conn
	next           atomic.Int32 // what happens to the next answer
	swallows       atomic.Bool
}

func (l *link) close() {
	_ = l.client.Close()
	_ = l.server.Close()
	l.proxy.mu.Lock()
	delete(l.proxy.conns, l.client)
	delete(l.proxy.conns, l.server)
	l.proxy.mu.Unlock()
}

func (l *link) statements() {
	defer l.close()
	buf := make([]byte, 1<<16)
	for first := true; ; first = false {
		n, err := l.client.Read(buf)
		if err != nil {
			return
		}
		send := buf[:n]
		if cut := Cut(l.proxy.armed.Load()); cut != noCut && !first && l.proxy.armed.CompareAndSwap(int32(cut), int32(noCut)) { // the first is the login
			l.proxy.Struck.Add(1)
			switch cut {
			case CutBefore:
				return
			case CutWithin:
				_, _ = l.server.Write(send[:rand.IntN(n)])
				return
			case CutAfter, CutAnswer:
				l.next.Store(int32(cut))
			case Swallow:
				l.swallows.Store(true)
			case Slow:
				time.Sleep(time.Duration(50+rand.IntN(150)) * time.Millisecond)
			}
		}
		if l.swallows.Load() && rand.IntN(2) == 0 { // the statement may arrive, or not
			_, _ = io.Copy(io.Discard, l.client)
			return
		}
		if _, err := l.server.Write(send); err != nil {
			return
		}
	}
}

func (l *link) answers() {
	defer l.close()
	buf := make([]byte, 1<<16)
	for {
		n, err := l.server.Read(buf)
		if err != nil {
			if l.swallows.Load() {
				_, _ = io.Copy(io.Discard, l.client) // until the client gives up
			}
			return
		}
		switch Cut(l.next.Load()) {
		case CutAfter:
			return
		case CutAnswer:
			_, _ = l.client.Write(buf[:rand.IntN(n)])
			return
		}
		if l.swallows.Load() {
			continue
		}
		if _, err := l.client.Write(buf[:n]); err != nil {
			return
		}
	}
}
