package countermysql

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// runTemporary executes CREATE and DROP TEMPORARY TABLE.
func (c *conn) runTemporary(ctx context.Context, k *call) (outcome, error) {
	toks := sqltext.Tokenize(k.text, c.Settings.Mode)
	if toks[0].Is("DROP") {
		return k.forward(ctx, k.text)
	}
	name := behindTable(toks)
	if err := c.mayHide(ctx, name); err != nil {
		return outcome{}, err
	}
	for _, s := range k.Plan.Scopes { // of CREATE TEMPORARY TABLE … SELECT
		if err := c.FoldTableAlone(ctx, s.Table); err != nil {
			return outcome{}, err
		}
	}
	out, err := k.forward(ctx, k.text)
	if err == nil {
		c.noteTemporary(name)
	}
	return out, err
}

// noteTemporary remembers the name of a temporary table.
func (c *conn) noteTemporary(name []sqltext.Token) {
	if _, name, ok := sqltext.TableName(name); ok {
		c.temporary[strings.ToLower(name)] = true
	}
}

// mayHide refuses a temporary table that takes the name of a listed table or its slots
// table: the session would count rows of the one in slots of the other.
func (c *conn) mayHide(ctx context.Context, of []sqltext.Token) error {
	s, err := c.Known(ctx)
	if err != nil {
		return err
	}
	db, name, _ := sqltext.TableName(of)
	taken := s.Key(cmp.Or(db, c.Settings.DB), name)
	for _, spec := range s.Specs {
		if taken == s.Key(spec.DB, spec.Name) || taken == s.Key(spec.DB, spec.SlotsTable) {
			return &RefusedError{Table: sqltext.JoinName(spec.DB, spec.Name), What: "a temporary table named " + name,
				Reason: "it would hide one of the two tables in which the counters are", Remedy: "give the temporary table another name"}
		}
	}
	return nil
}

// renamesTemporary is the new name that ALTER TABLE or RENAME TABLE gives to a temporary
// table of this session; nil if it does nothing like that.
func (c *conn) renamesTemporary(toks []sqltext.Token) []sqltext.Token {
	if len(c.temporary) == 0 || !toks[0].Is("ALTER") && !toks[0].Is("RENAME") {
		return nil
	}
	if _, name, ok := sqltext.TableName(behindTable(toks)); !ok || !c.temporary[strings.ToLower(name)] {
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

// namesTemporary reports whether a text may name a temporary table of this session.
func (c *conn) namesTemporary(text string) bool {
	return len(c.temporary) > 0 && slices.ContainsFunc(sqltext.Tokenize(text, c.Settings.Mode), func(t sqltext.Token) bool {
		return t.Ident() && c.temporary[strings.ToLower(t.Name)]
	})
}
