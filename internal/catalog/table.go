package catalog

import (
	"cmp"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// At is the table for folds into base rows under another name or lock.
func (t *Table) At(base string) *Table {
	return &Table{Spec: t.Spec, Key: t.Key, Unique: t.Unique, Counters: t.Counters, Touch: t.Touch,
		SlotCol: t.SlotCol, SlotsWidth: t.SlotsWidth, MariaDB: t.MariaDB, elsewhere: base + " AS " + PrivateBase}
}

// Ref is what folds call the base row, and from the table that it is in.
func (t *Table) Ref() string {
	if t.elsewhere != "" {
		return PrivateBase
	}
	return sqltext.Quote(t.Spec.Name)
}

func (t *Table) From() string { return cmp.Or(t.elsewhere, t.Base()) }

// RenamesIn reports whether ALTER TABLE gives a key column, counter or touch
// column another name.
func (t *Table) RenamesIn(toks []sqltext.Token) bool {
	for i, tok := range toks {
		rest := toks[i+1:]
		if !tok.Is("CHANGE") && (!tok.Is("RENAME") || len(rest) == 0 || !rest[0].Is("COLUMN")) {
			continue
		}
		for len(rest) > 2 && (rest[0].Is("COLUMN") || rest[0].Is("IF") || rest[0].Is("EXISTS")) {
			rest = rest[1:]
		}
		if len(rest) < 2 || !t.InKey(rest[0].Name) && !t.Virtual(rest[0].Name) {
			continue
		}
		if to := rest[1]; !to.Is("TO") || len(rest) < 3 {
			if !strings.EqualFold(to.Name, rest[0].Name) {
				return true
			}
		} else if !strings.EqualFold(rest[2].Name, rest[0].Name) {
			return true
		}
	}
	return false
}

// EndSQL ends the slots as TRUNCATE or DROP TABLE has ended the base rows.
func (t *Table) EndSQL(truncate bool) string {
	if truncate {
		return "TRUNCATE TABLE " + t.Slots()
	}
	return "DROP TABLE IF EXISTS " + t.Slots()
}

// Indexes reads those that the optimizer may use from SHOW CREATE TABLE.
func (t *Table) Indexes(create string, toks []sqltext.Token) []index {
	var found []index
	for i := 2; i < len(toks); i++ {
		before := toks[i-1]
		if !toks[i].Is("KEY") || !before.Punct(',') && !before.Is("PRIMARY") && !before.Is("UNIQUE") {
			continue // a foreign key, or of words
		}
		open := i + 1
		for open < len(toks)-1 && !toks[open].Punct('(') {
			open++
		}
		end := sqltext.ClosingParen(toks, open)
		hidden := false
		for _, tok := range toks[end:] {
			if tok.Punct(',') || tok.Punct(')') && tok != toks[end] {
				break
			}
			hidden = hidden || tok.Is("IGNORED") || tok.Kind == sqltext.Versioned && strings.Contains(create[tok.Start:tok.End], "INVISIBLE")
		}
		if x := t.sorts(toks[open+1 : end]); len(x) > 0 && !hidden {
			found = append(found, x)
		}
	}
	return found
}

// sorts reads an index's columns up to one that is a prefix or an expression.
func (t *Table) sorts(toks []sqltext.Token) index {
	var x index
	for i := 0; i < len(toks); i += 2 {
		c := t.Column(toks[i].Name)
		if !toks[i].Ident() || c == nil {
			return x
		}
		desc := i+1 < len(toks) && toks[i+1].Is("DESC")
		if desc {
			i++
		}
		if i+1 < len(toks) && !toks[i+1].Punct(',') {
			return x
		}
		x = append(x, SortKey{c, desc})
	}
	if len(t.Unique) > 0 && t.Unique[0].Name == "PRIMARY" {
		for _, c := range t.Unique[0].Columns {
			x = append(x, SortKey{C: c})
		}
	}
	return x
}

// SortedBy reports whether an index gives the rows in this order, forwards or
// backwards.
func (t *Table) SortedBy(order []SortKey) bool {
	return slices.ContainsFunc(t.Indexed, func(x index) bool {
		return len(order) <= len(x) && slices.EqualFunc(order, x[:len(order)], func(by, of SortKey) bool {
			return by.C == of.C && (by.Desc != of.Desc) == (order[0].Desc != x[0].Desc)
		})
	})
}

// Finds reports whether an index leads to rows by the column.
func (t *Table) Finds(c *Column) bool {
	return slices.ContainsFunc(t.Indexed, func(x index) bool { return x[0].C == c })
}

// ForeignKeySQL ties the slots to the base rows; orphans would be refused.
func (t *Table) ForeignKeySQL() []string {
	return []string{
		"DELETE " + PrivateName + " FROM " + t.Slots() + " AS " + PrivateName + " LEFT JOIN " + t.Base() + " AS base ON " + t.SameKey("base", PrivateName) +
			" WHERE base." + sqltext.Quote(t.Key[0].Name) + " IS NULL",
		t.TieSQL(),
	}
}

// TieSQL gives the slots table a foreign key to the base table.
func (t *Table) TieSQL() string {
	key := strings.Join(QuoteNames(t.Key), ", ")
	return "ALTER TABLE " + t.Slots() + " ADD FOREIGN KEY (" + key + ") REFERENCES " + t.Base() + " (" + key + ") ON DELETE CASCADE"
}

// TiedSQL asks whether the slots table has a foreign key.
func (t *Table) TiedSQL() string {
	return "SELECT 1 FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = " + Text(t.Spec.DB) + " AND TABLE_NAME = " + Text(t.Spec.SlotsTable)
}

// AsKnown are those of the whole key of the table called name.
func (t *Table) AsKnown(name string, byKey bool) (conds []string) {
	for _, c := range t.Key {
		conds = append(conds, c.asKnown(name+"."+sqltext.Quote(c.Name), byKey)...)
	}
	return conds
}

// Incrementable are the conditions of a row whose increments a slot may hold.
func (t *Table) Incrementable(name string, byKey bool) []string {
	conds := t.AsKnown(name, byKey)
	for _, untold := range t.untoldKey(name) {
		conds = append(conds, "NOT ("+untold+")")
	}
	return conds
}

func (t *Table) WritesKey(k Key) bool {
	for i, c := range t.Key {
		if !c.Writes(k[i]) {
			return false
		}
	}
	return true
}

// SelectKey is the select list that reads the key of the table called name.
func (t *Table) SelectKey(name string) string {
	exprs := make([]string, len(t.Key))
	for i, c := range t.Key {
		ref := name + "." + sqltext.Quote(c.Name)
		switch {
		case c.StringKey():
			exprs[i] = "HEX(" + ref + ")"
		case c.zerofill(): // as a number has it, without zeros before
			exprs[i] = "CAST(" + ref + " + 0 AS CHAR)"
		default:
			exprs[i] = "CAST(" + ref + " AS CHAR)" // as text even with parseTime
		}
	}
	if len(exprs) == 0 {
		return "1"
	}
	return strings.Join(exprs, ", ")
}

// Where selects the key's row of the table called name.
func (t *Table) Where(k Key, name string) string { return WhereEqual(t.Key, k, name) }

// untoldKey tells the rows of the table called name whose key has no text of its own: with
// such a date in it, or a TIMESTAMP whose text is that of another one, in the hour that comes twice when
// summer time ends: a slots table could have them under another key. Their increments are
// verbatim.
func (t *Table) untoldKey(name string) (conds []string) {
	for _, c := range t.Key {
		ref := name + "." + sqltext.Quote(c.Name)
		if c.Dated() {
			conds = append(conds, "DAYOFMONTH("+ref+") = 0", "MONTH("+ref+") = 0")
		}
		if c.DataType == "timestamp" {
			conds = append(conds, "UNIX_TIMESTAMP("+ref+") <> UNIX_TIMESTAMP(CAST("+ref+" AS CHAR))")
		}
	}
	return conds
}

// WhereAny selects the rows of several keys.
func (t *Table) WhereAny(keys []Key, name string) string { return WhereAny(t.Key, keys, name) }

// Compare is the canonical order of keys, in which every transaction takes its
// locks: numbers by value, all else by bytes.
func (t *Table) Compare(x, y Key) int { return CompareKeys(t.Key, x, y) }

// Describe writes a key for people.
func (t *Table) Describe(k Key) string {
	if len(t.Key) == 0 {
		return "the only row"
	}
	parts := make([]string, len(t.Key))
	for i, c := range t.Key {
		v := k[i]
		if c.StringKey() {
			b, err := hex.DecodeString(v)
			if err == nil && c.Collation != "" {
				v = strconv.Quote(string(b))
			} else {
				v = "0x" + v
			}
		}
		parts[i] = c.Name + "=" + v
	}
	return strings.Join(parts, " ")
}

// Planned is true of every row of a slots table that is for the known key; of one that
// another process has made anew, for another key, it is an error, 1054.
func (t *Table) Planned(name string) string {
	return name + "." + sqltext.Quote(t.SlotCol) + " IS NOT NULL"
}

// UniqueKey is a primary or unique key whose columns are indexed in full.
type UniqueKey struct {
	Name    string
	Columns []*Column
}

// Table is a base table with counters and what the driver knows about it.
// It is immutable: DDL makes a new one.
type Table struct {
	Spec     Spec
	Columns  []*Column
	Key      []*Column   // the key columns of the slots table; empty for a keyless one-row table
	Unique   []UniqueKey // every usable unique key, the primary key first
	Counters []*Column
	Touch    []*Column // spec.touch and ON UPDATE CURRENT_TIMESTAMP columns
	SlotCol  string    // name of the slot number's column

	SlotsWidth int       // columns that SELECT * gives of the slots table
	stored     []*Column // all of them

	elsewhere string // where folds find the base rows; "": in the base table

	Indexed        []index
	AllUnique      int    // number of unique keys, usable or not
	CheckedBy      string // the CHECK constraint or foreign key that looks at a counter in the base row; "": none
	Derived        bool   // a generated column reads a touch column
	InsertTriggers bool
	DeleteTriggers bool
	MakesKeys      bool // one of them may give a row other keys than the INSERT names
	Parents        []ForeignKey
	UpdateTriggers bool
	Unfit          []string  // why it can't be a counter table
	Degraded       []string  // why it could not become one; but it is one
	Computed       []*Column // generated columns that read a counter
	Unsummed       bool      // what is read of counters is not what base row and slots add up to
	Unfolded       bool      // nothing can be added to base rows in one transaction with slots
	Closed         bool      // its slots table takes no more increments: it is being left
	Missing        string    // DDL that has to run first; "" when the slots table is in order
	Unmade         error     // why it could not be run; nil: nobody has tried
	Unseen         bool      // the user may not see the slots table, if there is one
	Taken          bool      // the slots table's name is that of a table which is none
	Narrow         string    // DDL for slots that can't hold every digit of a column's new type; "": they can

	MariaDB   bool
	Galera    bool
	RollsBack bool
}

// ForeignKey is a foreign key of a counter table, or of a parent of it.
type ForeignKey struct {
	ParentDB, Parent     string
	column               string // of the parent, that is referenced
	changesKey, Cascades bool   // an UPDATE of the parent changes the key; either rule writes the base row
}

// SameKeyAs reports whether keys of an older version of the table mean the same in it.
func (t *Table) SameKeyAs(old *Table) bool {
	return slices.EqualFunc(t.Key, old.Key, func(c, o *Column) bool {
		return c.sameDigits(o) && c.Collation == o.Collation && (c.DataType == o.DataType || c.Integer() && o.Integer())
	})
}

// Extends reports whether increments of an older version of the table mean the same in it:
// it may have got columns behind those that it had, as where a process makes a touch column
// or lists another counter.
func (t *Table) Extends(old *Table) bool {
	extends := func(cols, old []*Column) bool {
		return len(cols) >= len(old) && slices.EqualFunc(cols[:len(old)], old, (*Column).sameDigits)
	}
	return t == old || t.SameKeyAs(old) && extends(t.Counters, old.Counters) && extends(t.Touch, old.Touch)
}

func (t *Table) String() string { return t.Spec.DB + "." + t.Spec.Name }

func (t *Table) Column(name string) *Column { return FindColumn(t.Columns, name) }

func (t *Table) Counter(name string) *Column { return FindColumn(t.Counters, name) }

// Verbatim reports whether increments go to the base row, where they are as right.
func (t *Table) Verbatim() bool { return t.Closed || t.Narrow != "" || t.Unfolded }

// Watched is what wants each increment to meet the counter's value in the base row; "":
// nothing does.
func (t *Table) Watched() string {
	switch {
	case t.CheckedBy != "":
		return "a " + t.CheckedBy + " reads the counter"
	case t.Degraded != nil && !t.Unfolded:
		return "the table has been changed so that it could not become a counter table"
	}
	return ""
}

// Virtual reports whether the column's value is not in the base row alone.
func (t *Table) Virtual(name string) bool {
	return FindColumn(t.Counters, name) != nil || FindColumn(t.Touch, name) != nil
}

func (t *Table) InKey(name string) bool { return FindColumn(t.Key, name) != nil }

// Changes reports whether to set the column called name changes one of cols: it is
// one, or one is generated from it.
func (t *Table) Changes(cols []*Column, name string) bool {
	return FindColumn(cols, name) != nil || slices.ContainsFunc(t.Columns, func(g *Column) bool {
		return g.generated != "" && !strings.EqualFold(g.Name, name) && sqltext.MentionsWord(g.generated, name) && t.Changes(cols, g.Name)
	})
}

// Lock is how an increment locks the base row. On Galera shared locks of several sessions
// can keep what another node has written to the row from being applied: then all wait,
// until innodb_lock_wait_timeout ends it.
func (t *Table) Lock() string {
	if t.Galera {
		return "FOR UPDATE"
	}
	return ShareMode
}

// NoWait is lock that fails at once where it would wait. On Galera it waits:
// where another node's write ends a statement with NOWAIT, the server forgets the
// session's own timeouts, and every later lock wait fails at once.
func (t *Table) NoWait() string {
	switch {
	case t.Galera:
		return t.Lock()
	case t.MariaDB:
		return "LOCK IN SHARE MODE NOWAIT"
	}
	return "FOR SHARE NOWAIT"
}

// SkipLocked is ShareMode that sees no row where it would wait.
func (t *Table) SkipLocked() string {
	if t.MariaDB {
		return "LOCK IN SHARE MODE SKIP LOCKED"
	}
	return "FOR SHARE SKIP LOCKED"
}

// Share is a clause that locks exclusively, with shared locks.
func (t *Table) Share(exclusive string) string {
	switch {
	case strings.HasSuffix(exclusive, "NOWAIT") && t.Galera:
		return ShareMode // see noWait
	case strings.HasSuffix(exclusive, "NOWAIT"):
		return t.NoWait()
	case strings.HasSuffix(exclusive, "SKIP LOCKED"):
		return t.SkipLocked()
	}
	_, wait, _ := strings.Cut(exclusive, "FOR UPDATE")
	return ShareMode + wait // WAIT n, on MariaDB
}

func (t *Table) Base() string { return sqltext.Quote(t.Spec.DB) + "." + sqltext.Quote(t.Spec.Name) }

func (t *Table) Slots() string {
	return sqltext.Quote(t.Spec.DB) + "." + sqltext.Quote(t.Spec.SlotsTable)
}

// opensSlots fails where the slots table is not there, or not for the user.
func (t *Table) opensSlots() string { return "SELECT 1 FROM " + t.Slots() + " LIMIT 0" }

// setsKey reports whether the body of a trigger may set a column of a unique key:
// SET NEW.id = …, or as an argument of a procedure.
func (t *Table) setsKey(body string) bool {
	toks := sqltext.Tokenize(body, sqltext.Mode{})
	for i, tok := range toks {
		switch {
		case tok.Is("CALL"):
			return true
		case !tok.Is("NEW") || i+3 >= len(toks) || !toks[i+3].Punct('=') && !toks[i+3].Punct(':'):
		case slices.ContainsFunc(t.Unique, func(k UniqueKey) bool { return FindColumn(k.Columns, toks[i+2].Name) != nil }):
			return true
		}
	}
	return false
}

// lacks reports whether the slots table has no column for a listed one: see makesDo.
func (t *Table) lacks() bool {
	for _, names := range [][]string{t.Spec.Counters, t.Spec.Touch} {
		for _, name := range names {
			if t.Column(name) != nil && !t.Virtual(name) {
				return true
			}
		}
	}
	return false
}

// WholeKey is true of rows whose dates in the key have a month and a day, or nothing at
// all, and an error, 1690, of others: with NO_ZERO_IN_DATE the server makes another key
// of them in a UNION. Such a row has no slots, so it is looked at where it counts. "" if
// the key has no dates.
func (t *Table) WholeKey(name string) string {
	var conds []string
	for _, c := range t.Key {
		if ref := sqltext.Quote(name) + "." + sqltext.Quote(c.Name); c.Dated() {
			conds = append(conds, "(DAYOFMONTH("+ref+") = 0 OR MONTH("+ref+") = 0) AND "+ref+" + 0 <> 0")
		}
	}
	if conds == nil {
		return ""
	}
	return "18446744073709551615 + (" + strings.Join(conds, " OR ") + ") > 0"
}

func (t *Table) AddTo(c *Column, amount string) string {
	col := sqltext.Quote(c.Name)
	return col + " = " + t.Slots() + "." + col + " + " + amount
}

// SameKey compares the keys of two tables, given by their quoted names.
func (t *Table) SameKey(x, y string) string {
	if len(t.Key) == 0 {
		return "TRUE"
	}
	conds := make([]string, len(t.Key))
	for i, c := range t.Key {
		conds[i] = x + "." + sqltext.Quote(c.Name) + " = " + y + "." + sqltext.Quote(c.Name)
	}
	return strings.Join(conds, " AND ")
}

// mayTouch finds the columns whose times could be kept in slots: nothing but queries
// reads them. computed is what the server computes with.
func (t *Table) mayTouch(create, computed string) {
	if strings.Contains(create, "PERIOD FOR") {
		return
	}
	names := sqltext.Identifiers(computed)
	for _, c := range t.Columns {
		c.Touchable = c.moment() && c.generated == "" && !t.Virtual(c.Name) && !names[strings.ToLower(c.Name)] && !t.InKey(c.Name) && len(sqltext.UniqueWith(create, c.Name)) == 0 &&
			!slices.ContainsFunc(t.Columns, func(g *Column) bool { return g.generated != "" && sqltext.MentionsWord(g.generated, c.Name) })
	}
}

// TouchSQL makes columns for times.
func (t *Table) TouchSQL(wanted []*Column, comment string) string {
	var adds []string
	for _, c := range wanted {
		adds = append(adds, "ADD COLUMN "+t.slotDefinition(c)+comment)
	}
	return "ALTER TABLE " + t.Slots() + " " + strings.Join(adds, ", ")
}
