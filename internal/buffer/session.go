package buffer

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/session"
)

// flusher stores, in a session of its own.
type flusher struct {
	of         *Table
	former     []string         // ids that it had
	id         string           // of this buffer, among those of all processes
	registered bool             // it has its row; always while something is unsettled: a new row would say that it was stored
	own        *session.Session // nil: it is to be opened
	rested     int              // ticks without work
	number     uint64           // of the last statement or transaction
	settled    uint64           // how often its row has been used to settle
	slotsUntil time.Time        // when it tries base rows again
	looked     time.Time        // when the schema was read for what the table lacked
	unsettled  []*entry         // of that, if nobody knows whether it was stored
	taken      []*entry         // by the flush that is under way
	left       []*entry         // of these, for the next one
}

func newFlusher(b *Table) flusher { return flusher{of: b, id: newID()} }

func newID() string {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // it never fails
	return hex.EncodeToString(id)
}

// renew gives up the flusher's row, which somebody has locked: perhaps a transaction of the flusher's own whose
// connection broke, and which the server has not given up. Nothing is unsettled, so that nobody will look for it.
func (f *flusher) renew() {
	f.former, f.id, f.registered = append(f.former, f.id), newID(), false
}

// maxRest is for how many ticks without work the session is kept.
const maxRest = 30

// rest ends the session if there is nothing to do for long.
func (f *flusher) rest() {
	if f.rested++; f.rested > maxRest {
		f.close()
	}
}

func (f *flusher) close() {
	if f.own != nil {
		_ = f.own.Close()
		f.own = nil
	}
}

func (f *flusher) table() string { return catalog.Flushes(f.of.spec.DB) }

func (f *flusher) where() string { return whose(f.id) }

func whose(id string) string { return " WHERE flusher = '" + id + "'" }

// session is the flusher's: strict, so that no number is cut in silence.
func (f *flusher) session(ctx context.Context) (*session.Session, error) {
	f.rested = 0
	ctx, cancel := limited(ctx)
	defer cancel()
	if f.own == nil {
		own, err := session.Open(ctx, f.of.config.Shared)
		if err != nil {
			return nil, err
		}
		f.own = own
		if err := session.ForOurs(ctx, own, 2, "sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES')"); err != nil {
			f.close()
			return nil, err
		}
	}
	if !f.registered {
		if err := f.register(ctx); err != nil {
			f.close()
			return nil, err
		}
		f.registered = true
	}
	return f.own, nil
}

// register makes the row in which flushes leave their numbers.
func (f *flusher) register(ctx context.Context) error {
	insert := "INSERT IGNORE INTO " + f.table() + " (flusher, of_table, batch) VALUES ('" + f.id + "', " + catalog.Text(f.of.spec.Name) + ", " + strconv.FormatUint(f.number, 10) + ")"
	_, err := f.own.Do(ctx, insert)
	if mysqlerr.Number(err) == mysqlerr.ErrNoTable && f.of.config.Create {
		if _, err := f.own.Do(ctx, catalog.CreateFlushes(f.of.spec.DB)); err != nil {
			return err
		}
		_, err = f.own.Do(ctx, insert)
	}
	if mysqlerr.Number(err) == mysqlerr.ErrNoTable {
		return fmt.Errorf("%w; run countermysql init, or: %s", err, catalog.CreateFlushes(f.of.spec.DB))
	}
	f.settled = 0
	if err == nil { // what processes have left that were killed long ago
		_, err := f.own.Do(ctx, "DELETE FROM "+f.table()+" WHERE stored_at < NOW() - INTERVAL 30 DAY LIMIT 1000")
		f.own.Overlook(err)
	}
	return err
}

// leave takes the flusher's rows back and ends the session. Where it can't, another process does, in 30 days.
func (f *flusher) leave(ctx context.Context) {
	defer f.close()
	if !f.registered || f.unsettled != nil {
		return
	}
	ids := append([]string{f.id}, f.former...)
	for tries := 0; len(ids) > 0 && tries < 2; {
		s, err := f.session(ctx) // a new one, if the buffer was idle
		if err != nil {
			return
		}
		if _, err = s.Do(ctx, "DELETE FROM "+f.table()+whose(ids[0])); err != nil && mysqlerr.Number(err) == 0 {
			f.close() // the server, or a firewall, has ended it
			tries++
			continue
		}
		ids = ids[1:]
	}
}

// settle finds out what became of the statement, or the transaction, that was not answered. A transaction held the
// flusher's row from before anything was written, so it is over when this one gets that row; a statement that begins
// later finds that the row has been settled, and does nothing. Where nodes do not see each other's locks, only one of
// the two that write the row commits.
func (f *flusher) settle(ctx context.Context) error {
	if f.unsettled == nil {
		return nil
	}
	ctx, cancel := limited(ctx)
	defer cancel()
	s, err := f.session(ctx)
	if err != nil {
		return err
	}
	if err = s.Start(ctx); err != nil {
		f.close()
		return err
	}
	rows, err := s.Read(ctx, "SELECT batch, settled FROM "+f.table()+f.where()+" FOR UPDATE")
	if err == nil {
		_, err = s.Do(ctx, "UPDATE "+f.table()+" SET settled = settled + 1"+f.where())
	}
	if err = s.Finish(ctx, err); mysqlerr.Number(err) == mysqlerr.ErrNoTable {
		rows = nil // who dropped it waited for the transaction's end, and what told how it ended is gone
	} else if err != nil {
		f.close()
		if refused(mysqlerr.Number(err)) { // until it is known whether that was stored, nothing may be sent
			return fmt.Errorf("looking for the last flush: its row%s in %s is locked, by its own transaction, if the server has not noticed that its connection broke, or by another; KILL that connection: %w", f.where(), f.table(), err)
		}
		return fmt.Errorf("looking for the last flush: %w", err)
	}
	if len(rows) > 0 {
		n, err := strconv.ParseUint(rows[0][1], 10, 64)
		if err != nil {
			return err
		}
		f.settled = n + 1
	}
	was := f.unsettled
	f.unsettled, f.registered = nil, len(rows) > 0
	for _, e := range was {
		switch {
		case len(rows) == 0: // to send it again might count it twice
			f.of.lose(e, "nobody knows whether the last flush was stored: its row in countermysql_flushes is gone")
		case rows[0][0] == strconv.FormatUint(f.number, 10):
			f.of.stored(e)
		default:
			f.later(e)
		}
	}
	return nil
}
