package random

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"regexp"
	"slices"
	"strings"

	"github.com/countermysql/countermysql"
)

// untold notes that the open transaction has run a statement behind which countermysql
// may show rows as they are now, beside others as of the snapshot: one that changed
// nothing, but has added slots to its rows, or may have cancelled them out (TestAcceptedFolded), or of which the server does
// not tell what it has written (TestAcceptedUntold). What is read then is locked.
type untold bool

// note follows a transaction.
func (u *untold) note(s *Script, step Step, plain *outcome) {
	switch {
	case step.Do == "exec" && writes.MatchString(step.SQL):
		*u = *u || untold(s.concurrent() && (plain.err != 0 || plain.affected == 0 || upserts.MatchString(step.SQL) || subtracts.MatchString(step.SQL) || slices.Contains(s.Options, "clientFoundRows=true")))
	case step.Do == "begin", step.Do == "commit", step.Do == "rollback", step.Do == "exec" && bounds.MatchString(step.SQL):
		*u = false
	}
}

// folded reports whether a statement that is no increment was refused because a row has been
// changed since the snapshot, by a fold: TestAcceptedSnapshotIsolation.
func (s *Script) folded(ctx context.Context, ours *side, step Step, args []any, x, y *outcome) bool {
	if !s.Cools || x.err != 0 || y.err != 1020 || !slices.Contains(s.Options, "innodb_snapshot_isolation=1") {
		return false
	}
	e, err := countermysql.Explain(ctx, ours.pool, strings.ReplaceAll(step.SQL, "{db}", ours.db), args...)
	return err == nil && e.Class != "increment"
}

// waits reports whether another client's step may wait for what the transaction has read.
func (u untold) waits(step Step) bool {
	return bool(u) && (step.Do == "other" || step.Do == "rollup")
}

// refuses reports whether a read was one of rows changed since the snapshot, which
// MariaDB's innodb_snapshot_isolation refuses, as it does any with locks.
func (u untold) refuses(step Step, ours *outcome) bool {
	return bool(u) && step.Do == "query" && ours.err == 1020
}

// explains reports whether a difference is of this kind: each row is plain's, as of its
// snapshot or as it is now.
func (u untold) explains(ctx context.Context, d *Difference, step Step, plain *side, x, y *outcome, args []any) bool {
	if !u || d.Kind != "rows" || step.Do != "query" {
		return false
	}
	if strings.Contains(step.SQL, "SUM(") {
		return true
	}
	c, err := plain.pool.Conn(ctx)
	if err != nil {
		return false
	}
	defer c.Close()
	defer c.Raw(func(any) error { return driver.ErrBadConn }) // the next has the level that it asks for
	if _, err := c.ExecContext(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED"); err != nil {
		return false
	}
	query := strings.ReplaceAll(step.SQL, "{db}", plain.db)
	ask := func() (*sql.Rows, error) { return c.QueryContext(ctx, query, args...) }
	if step.Prepared { // which has other types
		stmt, err := c.PrepareContext(ctx, query)
		if err != nil {
			return false
		}
		defer stmt.Close()
		ask = func() (*sql.Rows, error) { return stmt.QueryContext(ctx, args...) }
	}
	now := (&outcome{}).rows(ask())
	now.rename(plain.db)
	either := slices.Concat(x.lines(true), now.lines(true))
	return !slices.ContainsFunc(y.lines(true), func(line string) bool { return !slices.Contains(either, line) })
}

var (
	writes    = regexp.MustCompile(`(?i)^\s*(UPDATE|INSERT|DELETE)\b`)
	subtracts = regexp.MustCompile(`-\s*[?\d(]|\+\s*\(?\?`) // perhaps
	bounds    = regexp.MustCompile(`(?i)^\s*(BEGIN|START TRANSACTION|COMMIT|ROLLBACK\s*$)`)
)

// concurrent reports whether another client writes.
func (s *Script) concurrent() bool {
	return slices.ContainsFunc(s.Steps, func(step Step) bool { return step.Do == "other" })
}
