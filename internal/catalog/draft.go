package catalog

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// draft is a table that is still being read. What judges it, and sets what follows, is here
// and no method of Table, so that nobody does so later: a Schema is immutable.
type draft struct{ *Table }

// absent are the listed columns that the table does not have: a migration may
// add them later, and statements pass until then.
func (t draft) absent() []string {
	return slices.DeleteFunc(slices.Concat(t.Spec.Counters, t.Spec.Touch), func(name string) bool { return t.Column(name) != nil })
}

// nameSlots gives the slot number's column its name. One that is there keeps it, while the
// slots table is for the key as it is. It tells keys of several columns, of TIMESTAMPs or of
// another type that they have got since from others, and every statement on slots names it:
// what was planned for another key fails, even where the server would have values for the
// columns that it does not know, or would cut what it knows.
func (t draft) nameSlots() {
	n := len(t.Key)
	there := ""
	if n < len(t.stored) && numbersSlots(t.stored[n]) {
		if there = t.stored[n].Name; t.DDL().keyed(t.stored) && t.DDL().refit(t.stored) == nil {
			t.SlotCol = there
			return
		}
	}
	if there == "" {
		if i := slices.IndexFunc(t.stored, numbersSlots); i >= 0 {
			there = t.stored[i].Name
		}
	}
	name := SlotColumn
	if n != 1 {
		name = "key" + strconv.Itoa(n) + "_" + name
	}
	for i, c := range t.Key {
		if c.DataType == "timestamp" {
			name = "utc" + strconv.Itoa(i+1) + "_" + name
		}
	}
	if there != "" && t.DDL().keyed(t.stored) {
		types := fnv.New32a()
		for _, c := range t.Key {
			fmt.Fprintln(types, keyDefinition(c))
		}
		name = fmt.Sprintf("type%08x_%s", types.Sum32(), name)
	}
	for t.Key.Has(name) || t.Virtual(name) || strings.EqualFold(name, there) {
		name = "countermysql_" + name
	}
	t.SlotCol = name
}

// mayTouch finds the columns whose times could be kept in slots: nothing but queries
// reads them. computed is what the server computes with.
func (t draft) mayTouch(create, computed string) {
	if _, period := sqltext.Behind(create, "PERIOD", "FOR"); period {
		return
	}
	names := sqltext.Identifiers(computed)
	for _, c := range t.Columns {
		c.Touchable = c.moment() && c.generated == "" && !t.Virtual(c.Name) && !names[strings.ToLower(c.Name)] && !t.Key.Has(c.Name) && len(sqltext.UniqueWith(create, c.Name)) == 0 &&
			!slices.ContainsFunc(t.Columns, func(g *Column) bool { return g.generated != "" && sqltext.MentionsWord(g.generated, c.Name) })
	}
}

// setsKey reports whether the body of a trigger may set a column of a unique key:
// SET NEW.id = …, or as an argument of a procedure.
func (t draft) setsKey(body string) bool {
	toks := sqltext.Tokenize(body, sqltext.Mode{})
	for i, tok := range toks {
		switch {
		case tok.Is("CALL"):
			return true
		case !tok.Is("NEW") || i+3 >= len(toks) || !toks[i+3].Punct('=') && !toks[i+3].Punct(':'):
		case slices.ContainsFunc(t.Unique, func(k UniqueKey) bool { return k.Columns.Has(toks[i+2].Name) }):
			return true
		}
	}
	return false
}
