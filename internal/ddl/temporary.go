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
	toks := sqltext.Tokenize(x.Text, d.Settings.Mode)
	if toks[0].Is("DROP") {
		return x.Send()
	}
	if err := d.May(ctx, x.Plan, toks); err != nil {
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
		d.noteTemporary(behindTable(toks))
		d.NoteWrites(slices.DeleteFunc(slices.Clone(x.Plan.Writes), func(w plan.WriteTarget) bool { return !w.Feeds }), plan.Binder{}, 0) // by a routine that its query calls
	}
	return err
}

// noteTemporary remembers the name of a temporary table.
func (d *Definer) noteTemporary(name []sqltext.Token) {
	if _, name, ok := sqltext.TableName(name); ok {
		d.temporary[strings.ToLower(name)] = true
	}
}

// mayHide refuses a temporary table that takes the name of a listed table or its slots
// table: the session would count rows of the one in slots of the other.
func (d *Definer) mayHide(ctx context.Context, of []sqltext.Token) error {
	s, err := d.Known(ctx)
	if err != nil {
		return err
	}
	db, name, _ := sqltext.TableName(of)
	taken := s.Key(cmp.Or(db, d.Settings.DB), name)
	for _, spec := range s.Specs {
		if taken == s.Key(spec.DB, spec.Name) || taken == s.Key(spec.DB, spec.SlotsTable) {
			return &catalog.RefusedError{Table: sqltext.JoinName(spec.DB, spec.Name), What: "a temporary table named " + name,
				Reason: "it would hide one of the two tables in which the counters are", Remedy: "give the temporary table another name"}
		}
	}
	return nil
}

// renamesTemporary is the new name that ALTER TABLE or RENAME TABLE gives to a temporary
// table of this session; nil if it does nothing like that.
func (d *Definer) renamesTemporary(toks []sqltext.Token) []sqltext.Token {
	if len(d.temporary) == 0 || !toks[0].Is("ALTER") && !toks[0].Is("RENAME") {
		return nil
	}
	if _, name, ok := sqltext.TableName(behindTable(toks)); !ok || !d.temporary[strings.ToLower(name)] {
		return nil
	}
	return sqltext.NewName(toks)
}

// behindTable is what begins with the table's name in DDL of a table.
func behindTable(toks []sqltext.Token) []sqltext.Token {
	at := 1 + slices.IndexFunc(toks, func(t sqltext.Token) bool { return t.Is("TABLE") || t.Is("TABLES") })
	if at == 0 {
		return nil
	}
	for sqltext.WordAt(toks, at, "IF") || sqltext.WordAt(toks, at, "NOT") || sqltext.WordAt(toks, at, "EXISTS") {
		at++
	}
	return toks[at:]
}

// NamesTemporary reports whether a text may name a temporary table of this session.
func (d *Definer) NamesTemporary(text string) bool {
	return len(d.temporary) > 0 && slices.ContainsFunc(sqltext.Tokenize(text, d.Settings.Mode), func(t sqltext.Token) bool {
		return t.Ident() && d.temporary[strings.ToLower(t.Name)]
	})
}
