package session

import (
	"context"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/watch"
)

// SchemaFor is the schema that a text is planned by. To make tables, and to drop those that
// it knows or that are not listed, the old one will do: who makes many does not have it read
// for each.
func (s *Session) SchemaFor(ctx context.Context, text string) (*catalog.Schema, error) {
	if known := s.Watcher.Current(); known != nil && s.Watcher.Changed() {
		toks := sqltext.Tokenize(text, s.Settings.Mode)
		of, what := sqltext.Definition(toks)
		_, changed := known.ChangedBy(toks, text)
		if sqltext.MakesTable(toks) || known.DropsKnown(toks) || of == "TABLE" && toks[0].In(sqltext.MakesTables) && !sqltext.HasWord(what, "SELECT", "LIKE", "TABLE", "WITH", "VALUES") && !changed {
			return known, nil
		}
	}
	return s.Known(ctx)
}

// Known is what is known of the schema: under LOCK TABLES without waiting for what is
// new, as a reading of it may wait for these locks.
func (s *Session) Known(ctx context.Context) (*catalog.Schema, error) {
	if known := s.Watcher.Current(); known != nil && s.Locks {
		return known, nil
	}
	if s.Watcher.Changed() {
		ctx = watch.Holding(ctx, s.Begun())
	}
	return s.Watcher.Schema(ctx)
}

// SeesMore fails if a statement names a configured table that the session sees by a role
// it has set, and the look-up connections don't: its slots would be left out.
func (s *Session) SeesMore(ctx context.Context, known *catalog.Schema, stmt string) error {
	for _, spec := range known.Specs {
		t := (&catalog.Table{Spec: spec}).String()
		if !slices.Contains(known.Unknown, t) || !strings.Contains(strings.ToLower(stmt), strings.ToLower(spec.Name)) {
			continue
		}
		if s.Opens(ctx, sqltext.Qualified(spec.DB, spec.Name)) != 0 {
			continue // so does the statement itself
		}
		if now, err := s.Watcher.Refresh(watch.Holding(ctx, s.Begun())); err != nil || !slices.Contains(now.Unknown, t) { // somebody has made it
			continue
		}
		return &catalog.UnfitError{Table: t, Reasons: []string{"the driver's look-up connections, which have not the role that this session has set, don't see it; make that the user's default role (SET DEFAULT ROLE)"}}
	}
	return nil
}

// Opens has the server open a table, and is the number of its error.
func (s *Session) Opens(ctx context.Context, table string) uint16 {
	err := s.Try(ctx, "SELECT "+sqltext.Uncached+"1 FROM "+table+" LIMIT 0")
	s.Overlook(err)
	return mysqlerr.Number(err)
}

// HoldsLocks reports whether LOCK TABLES still holds: then no table can be used by
// a name that was not locked.
func (s *Session) HoldsLocks(ctx context.Context, known *catalog.Schema) bool {
	return slices.ContainsFunc(known.All(), func(t *catalog.Table) bool {
		return s.Opens(ctx, t.Base()+" AS "+catalog.PrivateName) == mysqlerr.ErrNotLocked
	})
}
