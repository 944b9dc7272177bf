package countermysql

import (
	"context"
	"slices"
	"strings"
)

// runTemporary executes CREATE and DROP TEMPORARY TABLE. While a temporary table
// has a counter table's name, that name is none of our business in this session.
func (c *conn) runTemporary(ctx context.Context, k *call) (outcome, error) {
	for _, s := range k.plan.scopes { // of CREATE TEMPORARY TABLE … SELECT
		if err := c.rollUp(ctx, s.t); err != nil {
			return outcome{}, err
		}
	}
	out, err := k.forward(ctx, k.text)
	if err != nil {
		return out, err
	}
	s, err := c.connector.schema(ctx)
	if err != nil {
		return out, err
	}
	toks := tokenize(k.text, c.session.mode)
	at := slices.IndexFunc(toks, func(t token) bool { return t.is("TABLE") })
	if toks[0].is("DROP") {
		for _, t := range toks[at+1:] {
			if hidden := s.lookup("", t.name, c.session.db); hidden != nil && t.ident() {
				c.hide(hidden, false)
			}
		}
		return out, nil
	}
	if toks = toks[at+1:]; len(toks) > 3 && toks[0].is("IF") {
		toks = toks[3:]
	}
	db, name := "", toks[0].name
	if len(toks) > 2 && toks[1].punct('.') {
		db, name = name, toks[2].name
	}
	if c.temporary == nil {
		c.temporary = map[string]bool{}
	}
	c.temporary[strings.ToLower(name)] = true
	if t := s.lookup(db, name, c.session.db); t != nil {
		c.hide(t, true)
	}
	return out, nil
}

// namesTemporary reports whether a text may name a temporary table of this session.
func (c *conn) namesTemporary(text string) bool {
	return c.temporary != nil && slices.ContainsFunc(tokenize(text, c.session.mode), func(t token) bool {
		return t.ident() && c.temporary[strings.ToLower(t.name)]
	})
}

// hide notes a temporary table that takes a counter table's name, or gives it back.
func (c *conn) hide(t *table, hidden bool) {
	if c.hidden == nil {
		c.hidden = map[string]bool{}
	}
	if hidden {
		c.hidden[t.String()] = true
	} else {
		delete(c.hidden, t.String())
	}
	c.visible = nil
}
