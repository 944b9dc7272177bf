package countermysql

import (
	"context"
	"slices"
	"strings"
)

// temporaries are the temporary tables of a session.
type temporaries struct {
	made    map[string]bool // their names, in small letters
	hidden  map[string]bool // counter tables whose names they have taken
	visible *schema         // the schema without those
}

// runTemporary executes CREATE and DROP TEMPORARY TABLE. While a temporary table
// has a counter table's name, that name is none of our business in this session.
func (c *conn) runTemporary(ctx context.Context, k *call) (outcome, error) {
	for _, s := range k.plan.scopes { // of CREATE TEMPORARY TABLE … SELECT
		if err := c.rollUp(ctx, s.t); err != nil {
			return outcome{}, err
		}
	}
	toks := tokenize(k.text, c.session.mode)
	if toks[0].is("DROP") {
		out, err := k.forward(ctx, k.text)
		if err == nil {
			err = c.unhide(ctx, toks)
		}
		return out, err
	}
	toks = toks[1+slices.IndexFunc(toks, func(t token) bool { return t.is("TABLE") }):]
	if len(toks) > 3 && toks[0].is("IF") {
		toks = toks[3:]
	}
	hidden, err := c.named(ctx, toks)
	if err != nil {
		return outcome{}, err
	}
	if hidden != nil && c.open().hasPending(hidden) { // while its row can be reached
		if err := c.apply(ctx, hidden, nil); err != nil {
			return outcome{}, err
		}
	}
	out, err := k.forward(ctx, k.text)
	if err == nil {
		c.noteTemporary(toks, hidden)
	}
	return out, err
}

// noteTemporary remembers a temporary table, and what it hides.
func (c *conn) noteTemporary(toks []token, hidden *table) {
	_, name, _ := tableName(toks)
	c.temporary.made[strings.ToLower(name)] = true
	if hidden != nil {
		c.temporary.hide(hidden, true)
	}
}

// named is the counter table whose name the tokens begin with; nil if there is none.
func (c *conn) named(ctx context.Context, toks []token) (*table, error) {
	s, err := c.schema(ctx)
	if err != nil {
		return nil, err
	}
	db, name, _ := tableName(toks)
	return s.lookup(db, name, c.session.db), nil
}

// renamed notes that ALTER TABLE or RENAME TABLE has given a temporary table of
// this session a new name.
func (c *conn) renamed(ctx context.Context, toks []token) error {
	if len(c.temporary.made) == 0 || !toks[0].is("ALTER") && !toks[0].is("RENAME") {
		return nil
	}
	from := toks[1+slices.IndexFunc(toks, func(t token) bool { return t.is("TABLE") }):]
	if _, name, ok := tableName(from); !ok || !c.temporary.made[strings.ToLower(name)] {
		return nil
	}
	to := newName(toks)
	if to == nil {
		return nil
	}
	old, err := c.named(ctx, from)
	if err != nil {
		return err
	}
	hidden, err := c.named(ctx, to)
	if err != nil {
		return err
	}
	if old != nil {
		c.temporary.hide(old, false)
	}
	c.noteTemporary(to, hidden)
	return nil
}

// newName finds the table's new name in ALTER TABLE … RENAME [TO|AS] x and in
// RENAME TABLE … TO x; nil if columns or indexes are renamed, or nothing.
func newName(toks []token) []token {
	for i := 1; i < len(toks)-1; i++ {
		to := toks[i+1:]
		switch {
		case toks[0].is("RENAME") && toks[i].is("TO"):
			return to
		case !toks[i].is("RENAME"), to[0].is("COLUMN"), to[0].is("INDEX"), to[0].is("KEY"):
			continue
		}
		if len(to) > 1 && (to[0].is("TO") || to[0].is("AS") || to[0].punct('=')) {
			to = to[1:]
		}
		return to
	}
	return nil
}

// unhide gives back the names of the tables that a DROP TABLE has dropped.
func (c *conn) unhide(ctx context.Context, toks []token) error {
	if len(c.temporary.hidden) == 0 {
		return nil
	}
	s, err := c.schema(ctx)
	if err != nil {
		return err
	}
	for at := 1; at < len(toks); at++ {
		if toks[at-1].is("TABLE") || toks[at-1].is("TABLES") || toks[at-1].is("EXISTS") || toks[at-1].punct(',') {
			if db, name, ok := tableName(toks[at:]); ok {
				if t := s.lookup(db, name, c.session.db); t != nil {
					c.temporary.hide(t, false)
				}
			}
		}
	}
	return nil
}

// tableName reads a table's name, with its database if that is given.
func tableName(toks []token) (db, name string, ok bool) {
	switch {
	case len(toks) == 0 || !toks[0].ident():
		return "", "", false
	case len(toks) > 2 && toks[1].punct('.'):
		return toks[0].name, toks[2].name, true
	}
	return "", toks[0].name, true
}

// namesTemporary reports whether a text may name a temporary table of this session.
func (c *conn) namesTemporary(text string) bool {
	return len(c.temporary.made) > 0 && slices.ContainsFunc(tokenize(text, c.session.mode), func(t token) bool {
		return t.ident() && c.temporary.made[strings.ToLower(t.name)]
	})
}

// hide notes a temporary table that takes a counter table's name, or gives it back.
func (t *temporaries) hide(of *table, hidden bool) {
	if hidden {
		t.hidden[of.String()] = true
	} else {
		delete(t.hidden, of.String())
	}
	t.visible = nil
}

// visibleIn is a schema without the tables that are hidden.
func (t *temporaries) visibleIn(s *schema) *schema {
	if len(t.hidden) == 0 {
		return s
	}
	if t.visible == nil || t.visible.fingerprint != s.fingerprint {
		t.visible = s.without(t.hidden)
	}
	return t.visible
}
