package ddl

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// RunTemporary executes CREATE and DROP TEMPORARY TABLE.
func (d *Definer) RunTemporary(ctx context.Context, x Statement) error {
	if sqltext.Tokenize(x.Text, d.Settings.Mode)[0].Is("DROP") {
		return x.Send()
	}
	if err := d.May(ctx, x.Plan, x.Text); err != nil {
		return err
	}
	if from := x.Plan.Exactly(); from != nil { // of CREATE TEMPORARY TABLE … SELECT
		for _, s := range from.Rows {
			if err := d.FoldTableAlone(ctx, s.Table); err != nil {
				return err
			}
		}
	}
	err := x.Send()
	if err == nil {
		d.NoteWrites(slices.DeleteFunc(slices.Clone(x.Plan.Writes), func(w plan.WriteTarget) bool { return !w.Feeds }), plan.Binder{}, 0) // by a routine that its query calls
	}
	return err
}

// named is the table whose name begins some tokens, and its database, which is the session's if none is there.
func (d *Definer) named(of []sqltext.Token) (db, name string) {
	db, name, _ = sqltext.TableName(of)
	return cmp.Or(db, d.Settings.DB), name
}

// MayMake refuses a text that makes such a temporary table as mayName does, be it in version comments or behind
// another statement.
func (d *Definer) MayMake(ctx context.Context, text string) error {
	text = sqltext.Opened(text, d.Settings.Mode)
	for _, part := range sqltext.Statements(text, sqltext.Tokenize(text, d.Settings.Mode)) {
		toks := sqltext.Tokenize(part, d.Settings.Mode)
		if sqltext.EffectOf(toks) == (sqltext.Temporary{}) && !toks[0].Is("DROP") {
			if err := d.mayName(ctx, sqltext.BehindTable(toks)); err != nil {
				return err
			}
		}
	}
	return nil
}

// mayRename refuses ALTER TABLE or RENAME TABLE that gives a temporary table such a name.
func (d *Definer) mayRename(ctx context.Context, toks []sqltext.Token) error {
	renamings := sqltext.Renamings(toks)
	if len(d.temporary) == 0 || !slices.ContainsFunc(renamings, func(r sqltext.Renaming) bool { return d.isTemporary(ctx, r.From) }) {
		return nil
	}
	for _, r := range renamings { // perhaps that one, by its next name
		if err := d.mayName(ctx, r.To); err != nil {
			return err
		}
	}
	return nil
}

// isTemporary asks the server: a name may be that of a table by now whose temporary one is gone.
func (d *Definer) isTemporary(ctx context.Context, of []sqltext.Token) bool {
	rows, err := d.Read(ctx, "SHOW CREATE TABLE "+sqltext.Qualified(d.named(of)))
	return err == nil && strings.HasPrefix(rows[0][1], "CREATE TEMPORARY")
}

// mayName refuses a temporary table that takes the name of a listed table or its slots
// table: the session would count rows of the one in slots of the other. Another name is
// remembered.
func (d *Definer) mayName(ctx context.Context, of []sqltext.Token) error {
	s, err := d.Known(ctx)
	if err != nil {
		return err
	}
	db, name := d.named(of)
	taken := s.Key(db, name)
	for _, spec := range s.Specs {
		if taken == s.Key(spec.DB, spec.Name) || taken == s.Key(spec.DB, spec.SlotsTable) {
			return &catalog.RefusedError{Table: sqltext.JoinName(spec.DB, spec.Name), What: "a temporary table named " + name,
				Reason: "it would hide one of the two tables in which the counters are", Remedy: "give the temporary table another name"}
		}
	}
	d.temporary[strings.ToLower(name)] = true
	return nil
}

// NamesTemporary reports whether a text may name a temporary table of this session.
func (d *Definer) NamesTemporary(text string) bool {
	return len(d.temporary) > 0 && slices.ContainsFunc(sqltext.Tokenize(text, d.Settings.Mode), func(t sqltext.Token) bool {
		return t.Ident() && d.temporary[strings.ToLower(t.Name)]
	})
}
