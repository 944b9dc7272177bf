package ddl

import (
	"cmp"
	"context"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/fold"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// alter executes DDL. What was counted before a table got a new name goes with it.
func (d *Definer) alter(ctx context.Context, x Statement, tables []*catalog.Table, toks []sqltext.Token) error {
	err := d.alterLocked(ctx, x, tables, toks)
	if err != nil && d.Usable() && !mysqlerr.Uncertain(mysqlerr.Number(err)) { // then it has renamed none
		return err
	}
	toks = sqltext.Tokenize(sqltext.Opened(x.Text, d.Settings.Mode), d.Settings.Mode)
	for _, t := range tables {
		if to := d.renamed(t, toks); to != "" {
			d.follow(ctx, t, to, err)
		}
	}
	return err
}

// alterLocked executes it. A new name of a key or a counter, or none, another key, another table
// in its place, or an emptied partition would leave standing what others add to the slots
// between the rollup and the ALTER: they are kept out, and those of the old key have no slots
// table behind it.
func (d *Definer) alterLocked(ctx context.Context, x Statement, tables []*catalog.Table, toks []sqltext.Token) (err error) {
	replaces := sqltext.WordAt(toks, 1, "OR") // CREATE OR REPLACE
	if len(tables) != 1 || !toks[0].Is("ALTER") && !toks[0].Is("RENAME") && !replaces {
		return x.Send()
	}
	t := tables[0]
	locked, slotted, rekeys := false, false, !replaces && plan.RekeysIn(toks)
	if rekeys || replaces || t.TakesNamesIn(toks) || sqltext.HasWord(toks, "TRUNCATE") {
		if locked, slotted, err = d.lockOut(ctx, t, false); err != nil {
			return err
		}
	}
	if rekeys && slotted {
		err = d.unclaimed(ctx, t)
	}
	if err == nil {
		err = x.Send()
	}
	if locked {
		remakes := rekeys && err == nil && d.config.CreateSlots
		if remakes {
			d.Watcher.NoteChange()
			if slotted { // it is empty, and made anew with the new key
				_, err = d.Do(ctx, "DROP TABLE "+t.Slots())
			}
		}
		err = cmp.Or(err, d.unlock(ctx))
		switch {
		case notUnderLock[mysqlerr.Number(err)]:
			err = x.Send()
		case remakes && err == nil: // under LOCK TABLES it could not
			_ = d.Watcher.DropFeeders(ctx, t) // which tells: what the application has asked for is done
		}
	}
	return err
}

// unclaimed refuses DDL behind which a slots table is to be empty, if it holds counts that no counter takes.
func (d *Definer) unclaimed(ctx context.Context, t *catalog.Table) error {
	holding, err := catalog.HoldingUnclaimed(ctx, t, d.Read)
	if err != nil || len(holding) == 0 {
		return err
	}
	problem, remedy := catalog.Claimless(t, holding[0])
	return &catalog.RefusedError{Table: t.String(), What: "another key", Reason: problem, Remedy: remedy}
}

// mayLeave refuses DDL that gives a counter table's name, or rows of it, to another table
// while others may add to its slots, which go by name and key: what they add until the
// DDL has its lock would be counted for the wrong rows.
func (d *Definer) mayLeave(ctx context.Context, t *catalog.Table, toks []sqltext.Token) error {
	what, taken, s := "", true, d.Watcher.Current()
	for i, tok := range toks {
		switch {
		case !toks[0].Is("ALTER"):
		case tok.Is("EXCHANGE"):
			what = "EXCHANGE PARTITION"
		case tok.Is("CONVERT") && sqltext.WordAt(toks, i+1, "PARTITION"): // MariaDB: to a table
			what = "CONVERT PARTITION"
		}
	}
	for _, r := range sqltext.Renamings(toks) {
		if toks[0].Is("RENAME") && s.Key(d.named(r.To)) == s.Key(t.Spec.DB, t.Spec.Name) {
			what = "RENAME TABLE that gives its name to another table"
			taken = d.Opens(ctx, t.Base()) != mysqlerr.ErrNoTable // or another process has renamed or dropped it
		}
	}
	if what == "" || !taken || t.Closed || t.Missing != "" && d.Opens(ctx, t.Slots()) == mysqlerr.ErrNoTable {
		return nil
	}
	return &catalog.RefusedError{Table: t.String(), What: what, Reason: "others may add to its slots meanwhile, which go by its name and keys",
		Remedy: "close the slots table before (countermysql drop --stop-only), and make it anew behind (countermysql init)"}
}

// notUnderLock are the errors of DDL that needs tables which are not locked,
// those of foreign keys for example.
var notUnderLock = map[uint16]bool{1099: true, 1100: true, 1192: true}

// mayNotLock reports whether LOCK TABLES was refused as it always will be.
func mayNotLock(err error) bool {
	n := mysqlerr.Number(err)
	return mysqlerr.Denied[n] || notUnderLock[n]
}

// lockOut keeps everybody else from a table and its slots table, which it leaves
// empty, until UNLOCK TABLES; locked is false where that can't be had. Where there is no
// slots table, none can be made meanwhile for the key that the table has now. Where the rows
// are to go, it may leave slots that can't be folded.
func (d *Definer) lockOut(ctx context.Context, t *catalog.Table, goes bool) (locked, slotted bool, err error) {
	if t.Galera { // see [session.Session.DropEmpty]
		return false, false, nil
	}
	both := ", " + t.Slots() + " WRITE, " + t.Slots() + " AS " + catalog.PrivateName + " WRITE"
	for slotted = true; ; slotted = !slotted {
		others := ""
		if slotted {
			others = both
		}
		switch _, err := d.Do(ctx, "LOCK TABLES "+t.Base()+" WRITE"+others); {
		case slotted && mysqlerr.Number(err) == mysqlerr.ErrNoTable:
			continue
		case mayNotLock(err), mysqlerr.Number(err) == mysqlerr.ErrNoTable: // then it has to do without, or says so itself
			return false, false, nil
		case err != nil:
			return false, false, err
		}
		d.Ended() // it commits
		d.Locks = true
		var there bool // although it was not a moment ago
		if slotted {
			if err = d.foldLocked(ctx, t); goes {
				err = d.mayStay(ctx, err)
			}
		} else {
			_, err = d.Lookups.Query(ctx, "SELECT 1 FROM "+t.Slots()+" LIMIT 0")
			if there = err == nil; mysqlerr.Number(err) != 0 {
				err = nil
			}
		}
		if err == nil && !there {
			return true, slotted, nil
		}
		if err = cmp.Or(err, d.unlock(ctx)); err != nil {
			return false, false, err
		}
	}
}

// follow adds what was counted between the rollup and the renaming of a table to its base rows, which
// have no slots table any more: later, where the server has not told whether it has renamed it, or
// somebody has its rows locked.
func (d *Definer) follow(ctx context.Context, t *catalog.Table, to string, sent error) {
	err := sent
	if sent == nil {
		_, err = fold.FollowName(ctx, d.Folder, t, to, d.config.CreateSlots)
	}
	if err != nil {
		d.config.FollowLater(t, to, d.config.CreateSlots)
	}
}

// renamed is the name that a table has behind the statement; "" for its own.
func (d *Definer) renamed(t *catalog.Table, toks []sqltext.Token) (to string) {
	s := d.Watcher.Current()
	own := s.Key(t.Spec.DB, t.Spec.Name)
	at := own
	for _, r := range sqltext.Renamings(toks) {
		if s.Key(d.named(r.From)) == at {
			to, at = sqltext.Qualified(d.named(r.To)), s.Key(d.named(r.To))
		}
	}
	if at == own {
		return ""
	}
	return to
}

// foldLocked rolls up a table that this session has locked, with its slots
// table. A BEGIN would unlock them.
func (d *Definer) foldLocked(ctx context.Context, t *catalog.Table) (err error) {
	if d.Autocommit() {
		if _, err := d.Do(ctx, "SET autocommit = 0"); err != nil {
			return err
		}
		defer func() {
			if _, serr := d.Do(context.WithoutCancel(ctx), "SET autocommit = 1"); err == nil {
				err = serr
			}
		}()
	}
	_, err = d.FoldTable(ctx, t, false)
	return d.Finish(ctx, err)
}
