package buffer

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
)

// errGone says that a row is missing or has become NULL, or is locked; errUnregistered that the flusher's own is
// missing, or its table; errKept that the transaction did not get as far as the rows it was to store.
var (
	errGone         = errors.New("the row is gone")
	errUnregistered = errors.New("the row in countermysql_flushes is gone")
	errKept         = errors.New("a lock of somebody's keeps the flush from beginning")
)

// refused reports whether a statement was not to wait for a lock, or met another transaction.
func refused(n uint16) bool {
	return n == mysqlerr.ErrLockWait || n == mysqlerr.ErrNoWait || n == mysqlerr.ErrDeadlock
}

// slotsFor is for how long rows go into slots where a statement on base rows had to wait for a lock.
const slotsFor = 30 * time.Second

// kept is an error of what comes before the rows: that it was refused says nothing about them.
func kept(err error) error {
	if refused(mysqlerr.Number(err)) {
		return fmt.Errorf("%w: %w", errKept, err)
	}
	return err
}

// attempt stores rows in one transaction: in slots, or, of a table that takes none, one on its base row. An error but
// errUnsettled says that nothing is stored, nor will be.
func (f *flusher) attempt(ctx context.Context, t *catalog.Table, rows []*row) error {
	err := f.send(ctx, t, rows)
	switch {
	case errors.Is(err, errUnregistered):
	case errors.Is(err, errKept) && f.registered:
		f.renew()
	default:
		return err
	}
	return f.send(ctx, t, rows) // nothing was written, and nothing is unsettled whose number the row that was would tell
}

// send is one attempt.
func (f *flusher) send(ctx context.Context, t *catalog.Table, rows []*row) error {
	ctx, cancel := limited(ctx)
	defer cancel()
	reused := f.own != nil
	s, err := f.session(ctx)
	if err != nil {
		return kept(err)
	}
	err = s.Start(ctx)
	if err != nil && reused && mysqlerr.Number(err) == 0 { // it was idle, and the server, or a firewall, has ended it
		f.close()
		if s, err = f.session(ctx); err == nil {
			err = s.Start(ctx)
		}
	}
	if err != nil {
		f.close()
		return kept(err)
	}
	f.number++
	err = f.write(ctx, s, t, rows)
	if err != nil {
		_ = s.Finish(ctx, err) // rolls back
		if n := mysqlerr.Number(err); n == 0 && !errors.Is(err, errGone) && !errors.Is(err, errUnregistered) || mysqlerr.Uncertain(n) {
			f.close()
		} else if refused(n) {
			s.Stats.Unheard(n)
		}
		return err
	}
	for _, r := range rows {
		f.unsettled = append(f.unsettled, r.entry)
	}
	if err := s.Finish(ctx, nil); err != nil {
		f.close()
		return fmt.Errorf("%w: %w", errUnsettled, err)
	}
	f.unsettled = nil
	return nil
}

// write writes in the open transaction, first the flusher's row.
func (f *flusher) write(ctx context.Context, s *session.Session, t *catalog.Table, rows []*row) error {
	n, err := s.Do(ctx, "UPDATE "+f.table()+" SET batch = "+strconv.FormatUint(f.number, 10)+f.where())
	switch {
	case mysqlerr.Number(err) == mysqlerr.ErrNoTable, err == nil && n != 1:
		f.registered = false
		return errUnregistered
	case err != nil:
		return kept(err)
	}
	u := f.upsert(s, t, rows)
	switch {
	case t.Verbatim():
		used, touched := u.Used()
		n, err = s.Do(ctx, string(slotsql.NewDirectTemplate(t, u.Name, u.Columns, used, touched, false).Fill(nil, s.Settings.NoWaiting(), "", 0, u)))
	case len(rows) == 1:
		n, err = s.Do(ctx, u.One())
	default:
		_, err = s.Do(ctx, u.Many())
	}
	if err == nil && n == 0 {
		return errGone
	}
	return err
}

// atOnce stores rows in one statement, on their base rows. Nothing is stored if one of them is gone, or locked, perhaps by
// increments of a transaction, which slots go along with; or, with an error, if the server refuses it.
func (f *flusher) atOnce(ctx context.Context, t *catalog.Table, rows []*row) (stored bool, err error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	s, err := f.session(ctx)
	if err != nil {
		return false, kept(err)
	}
	f.number++
	n, err := s.Do(ctx, f.upsert(s, t, rows).Flush(strconv.FormatUint(f.number, 10), "'"+f.id+"'", strconv.FormatUint(f.settled, 10)))
	switch {
	case err == nil && n > 0:
		f.ended(t, rows, true)
		return true, nil
	case err == nil:
		return false, nil
	case mysqlerr.Settled(err):
		if refused(mysqlerr.Number(err)) { // something of the rows is locked, as a gap of an index: they should not wait there each time
			f.slotsUntil = time.Now().Add(slotsFor)
		}
		return false, err
	case errors.Is(err, driver.ErrBadConn): // nothing was sent: it was idle, and the server, or a firewall, has ended it
		f.close()
		return false, nil
	}
	for _, r := range rows {
		f.unsettled = append(f.unsettled, r.entry)
	}
	f.close()
	return false, fmt.Errorf("%w: %w", errUnsettled, err)
}

func increments(rows []*row) []*slotsql.RowIncrement {
	all := make([]*slotsql.RowIncrement, len(rows))
	for i, r := range rows {
		all[i] = r.increment
	}
	return all
}

func (f *flusher) upsert(s *session.Session, t *catalog.Table, rows []*row) *slotsql.Upsert {
	return &slotsql.Upsert{Table: t, Name: t.Spec.Name, Columns: t.Key, Entries: increments(rows), Lock: t.NoWait(), Slot: s.Slot(t), Insert: s.Settings.Insert()}
}

// store stores rows: all of them, or those that can be.
func (f *flusher) store(ctx context.Context, t *catalog.Table, rows []*row) error {
	if len(rows) == 0 {
		return nil
	}
	if t.Verbatim() && len(rows) > 1 { // its base rows take them one by one
		return f.each(ctx, t, rows)
	}
	var direct error
	if !t.Verbatim() && time.Now().After(f.slotsUntil) {
		stored, err := f.atOnce(ctx, t, rows)
		if stored || errors.Is(err, errUnsettled) || err != nil && mysqlerr.Number(err) == 0 {
			return err
		}
		direct = err
	}
	err := f.attempt(ctx, t, rows)
	switch n := mysqlerr.Number(err); {
	case err == nil:
		f.ended(t, rows, t.Verbatim())
		return nil
	case errors.Is(err, errUnsettled), errors.Is(err, errKept): // before what the server said to COMMIT: it would wait here, and count again when it is settled
		return err
	case errors.Is(err, errGone), refused(n), n == mysqlerr.ErrOutOfRange, n == mysqlerr.ErrBadNull, mysqlerr.BadValue[n]:
		if len(rows) > 1 {
			return f.some(ctx, t, rows)
		}
		if t.Verbatim() {
			direct = err
		}
		return f.one(ctx, t, rows[0], err, direct)
	}
	return err
}

func (f *flusher) each(ctx context.Context, t *catalog.Table, rows []*row) error {
	for _, r := range rows {
		if err := f.store(ctx, t, []*row{r}); err != nil {
			return err
		}
	}
	return nil
}

// ended notes that rows are stored.
func (f *flusher) ended(t *catalog.Table, rows []*row, direct bool) {
	for _, r := range rows {
		f.of.stored(r.entry)
	}
	if !direct {
		f.of.config.Slotted(t, increments(rows))
	}
}

// later leaves an entry for the next flush.
func (f *flusher) later(e *entry) {
	e.back()
	f.left = append(f.left, e)
}

// some stores those of several rows that are neither gone nor locked.
func (f *flusher) some(ctx context.Context, t *catalog.Table, rows []*row) error {
	s, err := f.session(ctx)
	if err != nil {
		return err
	}
	u := f.upsert(s, t, rows)
	s.Leased.Release()
	missed, err := f.ask(ctx, s, u.Culprits(u.Table.SkipLocked()))
	if err != nil {
		return err
	}
	if len(missed) == 0 { // not any more, or it is a slot that is full
		half := len(rows) / 2
		if err := f.store(ctx, t, rows[:half]); err != nil {
			return err
		}
		return f.store(ctx, t, rows[half:])
	}
	gone, err := f.ask(ctx, s, u.Culprits(""))
	if err != nil {
		return err
	}
	var rest, single []*row
	for i, r := range rows {
		switch {
		case !slices.Contains(missed, i):
			rest = append(rest, r)
		case slices.Contains(gone, i):
			single = append(single, r)
		default:
			f.later(r.entry)
		}
	}
	if err := f.store(ctx, t, rest); err != nil {
		return err
	}
	return f.each(ctx, t, single)
}

// ask reads numbers of rows.
func (f *flusher) ask(ctx context.Context, s *session.Session, query string) (numbers []int, err error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	found, err := s.Read(ctx, query)
	if err != nil {
		if mysqlerr.Number(err) == 0 {
			f.close()
		}
		return nil, err
	}
	for _, r := range found {
		n, err := strconv.Atoi(r[0])
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// one decides of a row that its slot does not take, nor its base row, by what the server said to each; direct is nil
// if the base row was locked.
func (f *flusher) one(ctx context.Context, t *catalog.Table, r *row, err, direct error) error {
	if refused(mysqlerr.Number(err)) {
		f.later(r.entry)
		return nil
	}
	s, serr := f.session(ctx)
	if serr != nil {
		return serr
	}
	u := f.upsert(s, t, []*row{r})
	s.Leased.Release()
	gone, aerr := f.ask(ctx, s, u.Culprits(""))
	if aerr != nil {
		return aerr
	}
	if len(gone) > 0 {
		if all := r.apart(); all != nil { // some counter may be NULL, and the others not
			f.taken = append(f.taken, all...)
			var rows []*row
			for _, e := range all {
				if one := f.of.row(r.was, t, e); one != nil {
					rows = append(rows, one)
				}
			}
			return f.each(ctx, t, rows)
		}
		f.of.lose(r.entry, "the row is gone, or its counter NULL")
		return nil
	}
	switch n := mysqlerr.Number(direct); {
	case errors.Is(err, errGone), n == mysqlerr.ErrBadNull, n == 0, refused(n): // it was gone, and is back; or it was locked
		f.later(r.entry)
	case mysqlerr.Beyond[n]:
		f.of.lose(r.entry, "out of the counter's range")
	default:
		return direct
	}
	return nil
}
