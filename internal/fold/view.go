package fold

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/txn"
)

// View is how the open transaction sees a table that a query reads, after its pending
// increments have gone to base rows or been noted in the view. Of rows that are fresh it tells
// the slots only if they are corrected.
func (f *Folder) View(ctx context.Context, t *catalog.Table, l sqltext.Locking, q *plan.Sum, b plan.Binder, corrected bool) (slotsql.ReadView, error) {
	var s slotsql.ReadView
	if !f.InTransaction() {
		s.Locks = l.Clause
		if l.Shared && (f.Next != "" || f.Settings.ReadOnly) { // READ ONLY refuses FOR UPDATE
			s.Locks = t.Share(s.Locks)
		}
		return s, nil
	}
	x := f.Transaction()
	if ids, may := f.mayRead(t, q.Keys, b); may && x.HasPending(t) {
		if t.Spec.OwnSnapshot && l.Clause == "" {
			for _, e := range x.Pending[t.String()].Sorted() {
				s.Pending = append(s.Pending, slotsql.OwnIncrement(t, e))
			}
		} else if err := showPending(ctx, f, t, ids); err != nil {
			return s, err
		}
	}
	if l.Shared && f.ReadOnly() {
		return slotsql.ReadView{Locks: t.Share(l.Clause)}, nil
	}
	if l.Clause != "" {
		return f.lockingView(ctx, t, l, q, b)
	}
	own, err := f.ownWrites(ctx, t, corrected)
	own.Pending = s.Pending
	if err != nil || own.Locks == "" && !f.Shares(q) {
		return own, err
	}
	return f.keyedView(ctx, t, own, q, b)
}

// Shares reports whether the server locks with shared locks what the query reads in the
// open transaction.
func (f *Folder) Shares(q *plan.Sum) bool {
	mayWrite := f.Next == "" && !f.Settings.ReadOnly // READ ONLY refuses FOR UPDATE
	if f.Begun() {
		mayWrite = !f.ReadOnly()
	}
	return q.Keyed != nil && f.InTransaction() && mayWrite && (f.Level() == sqltext.Serializable || q.Stored && f.LocksGaps())
}

// keyedView is how a query that shares sees the rows whose keys it gives: they are
// locked exclusively, and their slots not at all. With a shared lock of both, increments
// would get the row, and wait for the slots: a deadlock when the transaction writes the
// row, and until then all others of their batch would wait, too.
func (f *Folder) keyedView(ctx context.Context, t *catalog.Table, s slotsql.ReadView, q *plan.Sum, b plan.Binder) (slotsql.ReadView, error) {
	for _, rows := range q.Keyed {
		where, ok := rows.Bind(b)
		if rows.Table != t || !ok {
			continue
		}
		locked, err := f.LockRows(ctx, t, sqltext.Quote(rows.Name), rows.Locking(), where)
		switch n := mysqlerr.Number(err); {
		case mysqlerr.BadValue[n], mysqlerr.Denied[n]: // the query itself says what is wrong with it, or may do with shared locks
			continue
		case err != nil:
			return s, err
		}
		more, err := f.correctionsOf(ctx, t, locked)
		if err != nil {
			return s, err
		}
		s.Own = append(s.Own, more...)
	}
	s.Locks = catalog.ShareMode
	return s, nil
}

// correctionsOf gives the slots of locked rows as they are.
func (f *Folder) correctionsOf(ctx context.Context, t *catalog.Table, locked []slotsql.LockedRow) ([]slotsql.RowOverride, error) {
	rows := make([]txn.WrittenRow, len(locked))
	for i, r := range locked {
		rows[i] = txn.RowOfKey(t, r.Key, false)
	}
	return corrections(ctx, f, t, rows)
}

// corrections gives the slots of rows that the transaction has locked or written as they are. Rarely
// one has any: one look tells of several that none has.
func corrections(ctx context.Context, f *Folder, t *catalog.Table, rows []txn.WrittenRow) (all []slotsql.RowOverride, err error) {
	var unread []string
	for _, row := range rows {
		if row.Sums == nil {
			unread = append(unread, "("+row.Slots+")")
		}
	}
	none := false
	if len(unread) > 1 && !t.Fed {
		look := "SELECT 1 FROM " + t.Slots() + " AS " + catalog.PrivateName + " WHERE (" + strings.Join(unread, " OR ") + ") AND " + t.Planned(catalog.PrivateName) + " LIMIT 1"
		if len(look) < f.Settings.Packet {
			found, err := f.Outside(ctx, look)
			if err != nil {
				return nil, err
			}
			none = len(found) == 0
		}
	}
	for i := range rows {
		row := &rows[i]
		if none && row.Sums == nil {
			row.Sums = slotsql.NoSums(t)
		} else if err := f.sums(ctx, t, row); err != nil {
			return nil, err
		}
		all = append(all, slotsql.RowOverride{Where: row.Base, Amounts: row.Sums})
	}
	return all, nil
}

// ShowOthers prepares a query that reads no counter. Plain MySQL would have written
// the rows that the transaction has incremented, and shows their other columns as
// they were then, not as of an older snapshot.
func (f *Folder) ShowOthers(ctx context.Context, read *plan.BaseRead, b plan.Binder) error {
	x := f.Open()
	if x == nil || x.Isolation != sqltext.RepeatableRead {
		return nil
	}
	for _, t := range read.Tables {
		if p := x.Pending[t.String()]; !p.Some() || !p.Late || t.Spec.OwnSnapshot {
			continue
		}
		if ids, may := f.mayRead(t, read.Keys, b); may {
			if err := showPending(ctx, f, t, ids); err != nil {
				return err
			}
		}
	}
	return nil
}

// ownWrites corrects the slots of the rows that the transaction has written.
func (f *Folder) ownWrites(ctx context.Context, t *catalog.Table, corrected bool) (slotsql.ReadView, error) {
	var s slotsql.ReadView
	x := f.Transaction()
	w := x.Written[t.String()]
	if x.Isolation != sqltext.RepeatableRead || w == nil {
		return s, nil
	}
	if w.Unbounded {
		s.Locks = catalog.ShareMode
		return s, nil
	}
	if !corrected && len(w.Rows) > 0 && !slices.ContainsFunc(w.Rows, func(r txn.WrittenRow) bool { return !r.Fresh }) {
		s.Fresh = true
		return s, nil
	}
	var err error
	s.Own, err = corrections(ctx, f, t, w.Rows)
	return s, err
}

// lockingView is how a locking SELECT sees a table: as it is now. The rows are
// locked first, which keeps their slots as they are; reading those under locks
// as well would keep others from the first slots of neighbouring keys.
func (f *Folder) lockingView(ctx context.Context, t *catalog.Table, l sqltext.Locking, q *plan.Sum, b plan.Binder) (slotsql.ReadView, error) {
	s := slotsql.ReadView{Locks: l.Clause}
	if own, known := lockedSums(f, q.Locked, b); known {
		s.Own = own
		return s, nil
	}
	for _, rows := range q.First {
		where, ok := rows.Bind(b)
		if rows.Table != t || !ok || where == "" {
			continue
		}
		if err := f.Reserved(t).lockOf(ctx, sqltext.Quote(rows.Name), rows.Locking(), where, s.Locks); err != nil {
			return s, err
		}
		locked, err := f.LockRowsAs(ctx, t, sqltext.Quote(rows.Name), rows.Locking(), where, s.Locks)
		if err != nil || len(locked) > txn.MaxWritten {
			return s, err
		}
		more, err := f.correctionsOf(ctx, t, locked)
		if err != nil {
			return s, err
		}
		s.Own = append(s.Own, more...)
	}
	return s, nil
}

// mayRead are the ids of the pending increments of the rows that a statement reads, if
// it gives their keys; nil: all. may is false if there are none.
func (f *Folder) mayRead(t *catalog.Table, keys []plan.KeyValue, b plan.Binder) (ids []string, may bool) {
	if keys == nil {
		return nil, true
	}
	for _, key := range keys {
		id, ok := key.Key(t, b)
		if !ok {
			return nil, true
		}
		if f.Tx.Pending[t.String()].Get(id.ID()) != nil {
			ids = append(ids, id.ID())
		}
	}
	return ids, ids != nil
}

// sums reads the slots of a row that the transaction has written. Its lock on
// the base row keeps them as they are.
func (f *Folder) sums(ctx context.Context, t *catalog.Table, row *txn.WrittenRow) error {
	if t.Fed {
		return f.Reserved(t).sums(ctx, row)
	}
	if row.Sums != nil {
		return nil
	}
	var cols []string
	for _, col := range t.Counters {
		cols = append(cols, "CAST(COALESCE(SUM("+sqltext.Quote(col.Name)+"), 0) AS CHAR)")
	}
	for _, col := range t.Touch {
		newest := "MAX(" + sqltext.Quote(col.Name) + ")" // under ORACLE, MariaDB's CONCAT leaves NULL out
		cols = append(cols, "IF("+newest+" IS NULL, 'NULL', CONCAT('CAST(''', "+newest+", ''' AS DATETIME("+strconv.Itoa(col.Scale)+"))'))")
	}
	group := ""
	if len(t.Key) > 0 {
		group = " GROUP BY " + strings.Join(catalog.QuoteNames(t.Key), ", ")
	}
	known := "1"
	if conds := t.Key.AsKnown(sqltext.Quote(t.Spec.Name), true); conds != nil {
		known = "(SELECT MIN((" + strings.Join(conds, " AND ") + ") IS TRUE) FROM " + t.Base() + " WHERE " + row.Base + ")"
	}
	query := "SELECT " + t.Key.Select(catalog.PrivateName) + ", " + strings.Join(cols, ", ") + ", MAX(" + sqltext.Quote(t.SlotCol) + "), " + known +
		" FROM " + t.Slots() + " AS " + catalog.PrivateName + " WHERE " + row.Slots + " AND " + t.Planned(catalog.PrivateName) + group
	virtual := slices.Concat(t.Counters, t.Touch)
	lastSlot, asKnown := len(virtual), len(virtual)+1 // behind the sums
	rows, err := f.Outside(ctx, query)
	if err == nil && len(rows) == 1 && catalog.KeepsUnits(t) {
		if k, told := t.Key.Cut(rows[0]); catalog.Reserved(told[lastSlot]) {
			if _, err = f.Reserved(t).untaken(ctx, []catalog.Key{k}); err == nil {
				rows, err = f.Outside(ctx, query)
			}
		}
	}
	if err != nil {
		return err
	}
	row.Sums = slotsql.NoSums(t)
	if row.Free = len(rows) == 0; row.Free {
		return nil
	}
	k, told := t.Key.Cut(rows[0])
	if err := f.StillKnown(ctx, t, told[asKnown] != "0", nil); err != nil {
		return err
	}
	if len(rows) != 1 || f.Transaction().WrittenTo(t).Folded[k.ID()] {
		return nil // the transaction has taken them itself, which others do not see yet
	}
	for i, col := range virtual {
		row.Sums[col.Name] = told[i]
	}
	return nil
}
