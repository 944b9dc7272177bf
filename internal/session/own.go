package session

import (
	"context"
	"database/sql/driver"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// startTransaction begins a transaction whatever the sql_mode: under ORACLE,
// MariaDB's BEGIN opens a block.
const startTransaction = "START TRANSACTION"

// Ends of transactions of ours: after them the application is where it was, whatever
// its completion_type.
const (
	CommitOnly   = "COMMIT AND NO CHAIN NO RELEASE"
	BeginAgain   = "ROLLBACK AND CHAIN NO RELEASE" // with the same isolation level and access mode
	RollbackOnly = "ROLLBACK AND NO CHAIN NO RELEASE"
)

// SendBegin sends the BEGIN that is still to be sent.
func (s *Session) SendBegin(ctx context.Context) error {
	d := s.Unbegun
	if s.First = d != nil; !s.First {
		return nil
	}
	raw, err := s.Raw.(driver.ConnBeginTx).BeginTx(ctx, d.Opts)
	if err != nil {
		return s.Cut(ctx, s.Failed(err)) // or COMMIT would have nothing to send, and succeed
	}
	s.Unbegun, d.Raw = nil, raw
	return nil
}

// BeginImplied begins the transaction that an increment begins on plain MySQL with
// autocommit = 0.
func (s *Session) BeginImplied(ctx context.Context) error {
	if !s.implies() {
		return nil
	}
	_, err := s.Do(ctx, startTransaction)
	return err
}

// WithoutGaps has the next transaction, and that alone, lock no gap.
const WithoutGaps = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED"

// OutsideGaps runs a statement that looks at slots, and may wait for others then: it may not have the gap locked in
// which those wait to insert theirs, while they hold what it waits for. The level makes no other difference to one
// that is a transaction by itself, reads nothing of other tables, and finds its row by a whole key: only by others
// it would pass a row as it was before whoever has it locked (semi-consistent reads), and of several miss one that
// comes. What has failed, or changed no row, may not have begun a transaction: MySQL looks at no table where no
// partition can have the row.
func OutsideGaps(ctx context.Context, s *Session, run func() (affected int64, err error)) (int64, error) {
	s.LevelKept = true
	if _, err := s.Do(ctx, WithoutGaps); err != nil {
		return 0, err
	}
	affected, err := run()
	s.LevelKept = err != nil || affected == 0
	return affected, err
}

// OwnLevel says of the next transaction what is so anyway.
func OwnLevel(s *Session) string { return "SET TRANSACTION ISOLATION LEVEL " + s.Settings.Isolation }

// SetLevelBack gives the next transaction its level again, before it begins.
func SetLevelBack(ctx context.Context, s *Session) error {
	if !s.LevelKept {
		return nil
	}
	_, err := s.Do(ctx, OwnLevel(s))
	s.LevelKept = err != nil
	return err
}

// ForOurs makes a session one for work beside the application's: READ COMMITTED, so that no gap is
// locked, with waits for locks of so many seconds, and with other settings besides.
func ForOurs(ctx context.Context, s *Session, seconds int, settings string) error {
	known, err := s.Watcher.Schema(ctx)
	if err != nil {
		return err
	}
	set := "SET " + sqltext.Untimed + "SESSION autocommit = 1, lock_wait_timeout = 2, innodb_lock_wait_timeout = " + strconv.Itoa(seconds) + ", " + settings
	if known.Server.SnapshotIsolation {
		set += ", innodb_snapshot_isolation = OFF"
	}
	for _, stmt := range []string{set, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"} {
		if _, err := s.Do(ctx, stmt); err != nil {
			return err
		}
	}
	return s.ReadSettings(ctx, known)
}

// Start begins a transaction of ours. What was read before it fixes no snapshot.
func (s *Session) Start(ctx context.Context) error {
	if err := SetLevelBack(ctx, s); err != nil {
		return err
	}
	_, err := s.Do(ctx, startTransaction)
	s.HasSnapshot = false
	return err
}

// Finish ends a transaction of ours: it commits, or rolls back after an error, of
// which the first is the one to report.
func (s *Session) Finish(ctx context.Context, err error) error {
	s.Ended()
	if err == nil {
		_, err = s.Do(ctx, CommitOnly)
	}
	if err != nil {
		_ = s.RollBack() // the first error is the one to report
	}
	return err
}

// ReadOnlyAgain has the next transaction be what SET TRANSACTION has said, where one of ours
// was that and its statement was refused as a write: on plain MySQL it still is to come.
func ReadOnlyAgain(ctx context.Context, s *Session, level string) error {
	_, err := s.Do(ctx, "SET TRANSACTION ISOLATION LEVEL "+level+", READ ONLY")
	if err == nil {
		s.Next = level
	}
	return err
}

// Again runs a transaction of ours, once more after a deadlock, which undid it: rows
// that are not there yet are locked before they are inserted, and others behind those
// that were listed first, so that two side by side deadlock that never would by
// themselves.
func Again(ctx context.Context, run func() error) error {
	for try := 0; ; try++ {
		err := run()
		if mysqlerr.Number(err) != mysqlerr.ErrDeadlock || try == MaxRetries {
			return err
		}
		if !Pause(ctx, rand.N(time.Millisecond<<try)) { // or the same meet again
			return err
		}
	}
}

// Pause waits; false if the context ends.
func Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// AgainAlone is Again for what is a transaction by itself, if none is open: beside shared
// locks of increments it may deadlock where it would wait on plain MySQL. once says that it may not be
// sent again.
func (s *Session) AgainAlone(ctx context.Context, once bool, run func() error) error {
	if once || s.InTransaction() || !s.Usable() { // given up: run tells why
		return run()
	}
	return Again(ctx, run)
}

// MaxRetries bounds how often an increment is sent again after a deadlock that
// undid it.
const MaxRetries = 10
