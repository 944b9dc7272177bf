package fold

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/txn"
)

// SettleAll makes the base rows say all of what a statement may read that may read anything. taken is
// for NoneMoved, inside a transaction.
func (f *Folder) SettleAll(ctx context.Context, p *plan.Plan) (taken Taken, err error) {
	if err := f.ApplyAll(ctx); err != nil {
		return nil, err
	}
	if err := f.Hold(ctx, p, true); err != nil {
		return nil, err
	}
	x := p.Exactly()
	if x == nil || f.Locks { // to roll up would unlock
		return nil, nil
	}
	taken = Taken{}
	for _, s := range x.Rows {
		if !f.InTransaction() {
			err = f.FoldTableAlone(ctx, s.Table)
		} else if taken[s.Table], err = f.FoldTable(ctx, s.Table, true); err == nil && f.HasSnapshot { // else it would get one, which the statement may not need
			err = reveal(ctx, f, s.Table)
		}
		if err != nil {
			return nil, err
		}
	}
	return taken, nil
}

// NoteAnything notes that a statement ran which may have done anything.
func (f *Folder) NoteAnything(p *plan.Plan) {
	if !f.InTransaction() {
		f.Ended()
		return
	}
	_, sets := p.Effect.(sqltext.SetAutocommit)
	f.HasSnapshot = f.HasSnapshot || p.Fixes || !sets && p.Effect != (sqltext.Call{OnlyReads: true}) // others may have read anything
	f.Transaction().NoteCall()
	if f.ReadOnly() { // it can't have written any
		return
	}
	for _, w := range p.Writes {
		written := f.Transaction().WrittenTo(w.Table)
		if written.SetUnbounded(); w.Table.Fed {
			written.Feed(true)
		}
	}
}

// SettleTexts applies what is pending before a SET by which texts are read otherwise, as its
// keys, times and conditions are texts, and forgets by which texts rows were written.
func (f *Folder) SettleTexts(ctx context.Context, text string) error {
	if f.Tx == nil || !slices.ContainsFunc(sqltext.Tokenize(text, f.Settings.Mode), func(t sqltext.Token) bool {
		return sqltext.Rereads[strings.ToUpper(t.Variable())]
	}) {
		return nil
	}
	for _, w := range f.Tx.Written {
		zoned := w.ByTime()
		if slices.ContainsFunc(w.Rows, func(r txn.WrittenRow) bool {
			return zoned || !catalog.Ascii(r.Base) || strings.ContainsRune(r.Base, '\\')
		}) {
			w.SetUnbounded()
		}
	}
	return f.ApplyAll(ctx)
}

// WatchSavepoints is for a statement that may go back to a savepoint. Increments that were
// made before that savepoint have been applied after it: they would be lost. A savepoint of
// ours tells whether it did, by being gone: check is called with the statement's error, or
// behind its rows. It is nil where nothing can be lost.
func (f *Folder) WatchSavepoints(ctx context.Context) (check func(error) error, err error) {
	if x := f.Open(); x == nil || !x.KeepsPending() {
		return nil, nil
	}
	if _, err := f.Do(ctx, "SAVEPOINT "+ownSavepoint); err != nil {
		return nil, err
	}
	return func(err error) error {
		if !f.Begun() { // it is over, and the savepoint with it
			return err
		}
		if _, rerr := f.Do(context.WithoutCancel(ctx), "RELEASE SAVEPOINT "+ownSavepoint); mysqlerr.Number(rerr) != mysqlerr.ErrNoSavepoint {
			return cmp.Or(err, rerr)
		}
		f.Abandon()
		return errors.New("countermysql: a routine went back to a savepoint that was set after increments; the transaction is rolled back")
	}, nil
}
