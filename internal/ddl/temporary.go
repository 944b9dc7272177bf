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
		err := x.Send()
		if err == nil {
			d.noteDefined(x.Text)
		}
		return err
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
		d.noteDefined(x.Text)
		d.NoteWrites(slices.DeleteFunc(slices.Clone(x.Plan.Writes), func(w plan.WriteTarget) bool { return !w.Feeds }), plan.Binder{}, 0) // by a routine that its query calls
	}
	return err
}

// noteDefined follows what a statement has made of temporary tables. The server drops and renames one before
// another table of its name.
func (d *Definer) noteDefined(text string) {
	toks := sqltext.Tokenize(sqltext.Opened(text, d.Settings.Mode), d.Settings.Mode)
	from, to := d.renamesTemporary(toks)
	switch {
	case toks[0].Is("DROP"):
		named := sqltext.BehindTable(toks)
		for i := range named {
			if i == 0 || named[i-1].Punct(',') {
				from = append(from, named[i:])
			}
		}
	case sqltext.EffectOf(toks) == (sqltext.Temporary{}):
		to = append(to, sqltext.BehindTable(toks))
	}
	for _, of := range from {
		d.forget(of)
	}
	for _, of := range to {
		d.noteTemporary(of)
	}
}

// noteTemporary remembers the name of a temporary table.
func (d *Definer) noteTemporary(of []sqltext.Token) {
	if _, name, ok := sqltext.TableName(of); ok {
		if full := d.fullName(of); !slices.Contains(d.temporary[strings.ToLower(name)], full) {
			d.temporary[strings.ToLower(name)] = append(d.temporary[strings.ToLower(name)], full)
		}
	}
}

// forget forgets that of a temporary table that is gone; one of another database, or written in another way, stays.
func (d *Definer) forget(of []sqltext.Token) {
	_, name, _ := sqltext.TableName(of)
	name = strings.ToLower(name)
	d.temporary[name] = slices.DeleteFunc(d.temporary[name], func(known string) bool { return known == d.fullName(of) })
	if len(d.temporary[name]) == 0 {
		delete(d.temporary, name)
	}
}

func (d *Definer) fullName(of []sqltext.Token) string {
	return sqltext.JoinName(d.named(of))
}

// named is the table whose name begins some tokens, and its database, which is the session's if none is there.
func (d *Definer) named(of []sqltext.Token) (db, name string) {
	db, name, _ = sqltext.TableName(of)
	return cmp.Or(db, d.Settings.DB), name
}

// MayMake refuses a text that makes such a temporary table as mayHide does, be it in version comments or behind
// another statement.
func (d *Definer) MayMake(ctx context.Context, text string) error {
	text = sqltext.Opened(text, d.Settings.Mode)
	for _, part := range sqltext.Statements(text, sqltext.Tokenize(text, d.Settings.Mode)) {
		toks := sqltext.Tokenize(part, d.Settings.Mode)
		if sqltext.EffectOf(toks) == (sqltext.Temporary{}) && !toks[0].Is("DROP") {
			if err := d.mayHide(ctx, sqltext.BehindTable(toks)); err != nil {
				return err
			}
		}
	}
	return nil
}

// mayHide refuses a temporary table that takes the name of a listed table or its slots
// table: the session would count rows of the one in slots of the other.
func (d *Definer) mayHide(ctx context.Context, of []sqltext.Token) error {
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
	return nil
}

// renamesTemporary are the names that ALTER TABLE or RENAME TABLE takes from and gives to tables, where
// one may be a temporary one of this session; none if it does nothing like that.
func (d *Definer) renamesTemporary(toks []sqltext.Token) (from, to [][]sqltext.Token) {
	if len(d.temporary) == 0 || !toks[0].Is("ALTER") && !toks[0].Is("RENAME") {
		return nil, nil
	}
	for _, r := range sqltext.Renamings(toks) {
		from, to = append(from, r.From), append(to, r.To)
	}
	if to == nil || !slices.ContainsFunc(from, func(of []sqltext.Token) bool {
		_, name, ok := sqltext.TableName(of)
		return ok && d.temporary[strings.ToLower(name)] != nil
	}) {
		return nil, nil
	}
	return from, to
}

// NamesTemporary reports whether a text may name a temporary table of this session.
func (d *Definer) NamesTemporary(text string) bool {
	return len(d.temporary) > 0 && slices.ContainsFunc(sqltext.Tokenize(text, d.Settings.Mode), func(t sqltext.Token) bool {
		return t.Ident() && d.temporary[strings.ToLower(t.Name)] != nil
	})
}
