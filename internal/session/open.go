package session

import (
	"cmp"
	"context"
	"database/sql/driver"
)

// Open is a session on a connection of its own, as the DSN makes it.
func Open(ctx context.Context, shared *Shared) (*Session, error) {
	raw, below, err := shared.Connect(ctx)
	if err != nil {
		return nil, err
	}
	shared.Lookups.Enter()
	s, err := begin(ctx, shared, raw, below)
	if err != nil {
		raw.Close()
		shared.Lookups.Leave()
		return nil, err
	}
	return s, nil
}

func begin(ctx context.Context, shared *Shared, raw, below driver.Conn) (*Session, error) {
	known, err := shared.Watcher.Schema(ctx)
	if err != nil {
		return nil, err
	}
	wire, err := newWire(raw, below)
	if err != nil {
		return nil, err
	}
	s := &Session{Transactions: Transactions{Shared: shared, Wire: wire}}
	if err := s.ReadSettings(ctx, known); err != nil {
		return nil, err
	}
	return s, s.Settings.Readable()
}

// Unwrap returns go-sql-driver's own connection. What is sent through it is
// not seen by countermysql.
func (s *Session) Unwrap() driver.Conn {
	_ = SetLevelBack(context.Background(), s)
	_ = s.SendBegin(context.Background()) // if it fails, so does what is sent next
	return s.Below
}

// Ping asks the server for a sign of life.
func (s *Session) Ping(ctx context.Context) error {
	return s.Failed(s.Raw.(driver.Pinger).Ping(ctx))
}

// IsValid reports whether the connection may go back to the pool. One that is
// returned inside a transaction may not: closing it is what rolls back.
func (s *Session) IsValid() bool {
	if s.InTransaction() && s.Autocommit() || s.Tx != nil && len(s.Tx.Unsent()) > 0 {
		return false
	}
	return s.Usable()
}

// Close ends the session.
func (s *Session) Close() error {
	s.Ended()
	if s.Lost() {
		return nil // its deputy closes it
	}
	err := s.Raw.Close()
	s.Lookups.Leave()
	if s.Closed != nil {
		err = cmp.Or(err, s.Closed())
		s.Closed = nil
	}
	return err
}
