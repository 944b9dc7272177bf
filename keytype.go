package countermysql

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The slots table's key has the types that the base table's had when the schema was read.
// Another client may have given the base table other ones since, with keys that the slots
// table can't hold: it would round or cut them, or take two for one. So whatever writes
// slots looks at the key that it copies, in the same statement. What that finds is added to
// the base row, and what locks rows has the schema read anew.

// asKnown are the conditions, never NULL in what they say of a column of the known type, by
// which a value of the column is one that its own type holds as it is. byKey says that the
// row was found by a number given for it: then no number needs a look (see binder.sound).
// What is too long or out of range needs none either, as slots are written strictly: only
// that spaces are cut is no error.
func (c *column) asKnown(ref string, byKey bool) []string {
	as := func(kind string) []string { return []string{ref + " LIKE CAST(" + ref + " AS " + kind + ")"} }
	digits := ""
	if c.scale > 0 {
		digits = "(" + strconv.Itoa(c.scale) + ")"
	}
	length := strconv.Itoa(c.length())
	switch {
	case c.integer() && (byKey || c.zerofill()):
		return nil
	case c.integer() && c.unsigned():
		return as("UNSIGNED")
	case c.integer():
		return as("SIGNED")
	}
	switch c.dataType {
	case "char", "varchar":
		conds := []string{"COLLATION(" + ref + ") = '" + c.collation + "'"}
		if !c.padded() {
			conds = append(conds, "CHAR_LENGTH("+ref+") <= "+length)
		}
		if !c.padded() && c.dataType == "char" {
			conds = append(conds, ref+" NOT LIKE '% '")
		}
		return conds
	case "enum", "set":
		function := map[string]string{"enum": "ELT", "set": "MAKE_SET"}[c.dataType]
		return []string{"COLLATION(" + ref + ") = '" + c.collation + "'", "COALESCE(" + function + "(" + ref + " + 0, " + c.members() + "), '') = " + ref}
	case "binary":
		return []string{"LENGTH(" + ref + ") = " + length}
	case "varbinary":
		return []string{"LENGTH(" + ref + ") <= " + length}
	case "decimal":
		if c.zerofill() {
			return []string{ref + " = CAST(" + ref + " AS DECIMAL(" + c.arguments() + "))"}
		}
		return as("DECIMAL(" + c.arguments() + ")")
	case "datetime", "timestamp":
		return as("DATETIME" + digits)
	case "time":
		return as("TIME" + digits)
	case "year":
		return []string{ref + " LIKE '____'"}
	}
	return as(c.dataType) // DATE, and UUID, INET4 and INET6
}

func (c *column) zerofill() bool { return strings.Contains(c.columnType, "zerofill") }

// padded reports whether the column's collation takes texts that differ in spaces at their
// end for the same (https://dev.mysql.com/doc/refman/8.4/en/charset-unicode-sets.html;
// https://mariadb.com/kb/en/supported-character-sets-and-collations/).
func (c *column) padded() bool {
	return !strings.Contains(c.collation, "_0900_") && !strings.Contains(c.collation, "nopad")
}

// arguments is what stands in the parentheses of the column's type.
func (c *column) arguments() string {
	_, arguments, _ := strings.Cut(c.columnType, "(")
	return arguments[:max(strings.LastIndexByte(arguments, ')'), 0)]
}

// members are those of an ENUM or SET, as literals. Where the session reads a backslash
// otherwise, they are none, and increments verbatim.
func (c *column) members() string { return strings.ReplaceAll(c.arguments(), `\`, `\\`) }

// asKnown are those of the whole key of the table called name.
func (t *table) asKnown(name string, byKey bool) (conds []string) {
	for _, c := range t.key {
		conds = append(conds, c.asKnown(name+"."+quoteIdent(c.name), byKey)...)
	}
	return conds
}

// incrementable are the conditions of a row whose increments a slot may hold.
func (t *table) incrementable(name string, byKey bool) []string {
	conds := t.asKnown(name, byKey)
	for _, untold := range t.untoldKey(name) {
		conds = append(conds, "NOT ("+untold+")")
	}
	return conds
}

// unless turns conditions into those of the rows that do not meet them.
func unless(conds []string) []string {
	out := make([]string, len(conds))
	for i, cond := range conds {
		out[i] = "(" + cond + ") IS NOT TRUE"
	}
	return out
}

// writes reports whether the key column would be written so by its own type: a text may
// have zeros or spaces before a number.
func (c *column) writes(v string) bool {
	if !c.integer() {
		return true
	}
	digits := strings.TrimPrefix(v, "-")
	return digits == "0" && v == digits || digits != "" && digits[0] != '0' && strings.Trim(digits, "0123456789") == ""
}

func (t *table) writesKey(k key) bool {
	for i, c := range t.key {
		if !c.writes(k[i]) {
			return false
		}
	}
	return true
}

// tables are those that the plan reads or writes.
func (p *plan) tables() []*table {
	all := slices.Clone(p.reads)
	for _, s := range p.scopes {
		all = append(all, s.t)
	}
	if p.cleaning != nil {
		all = append(all, p.cleaning.t)
	}
	return all
}

// errOtherKey says that the base table's key has got another type than is known.
var errOtherKey = fmt.Errorf("%w (another type)", errOtherSlots)

// stillKnown fails where rows that are locked have keys of another type than is known, as
// the server or the keys tell. While they are locked nobody changes that.
func (c *conn) stillKnown(ctx context.Context, t *table, asKnown bool, rows []lockedRow) error {
	if asKnown && !slices.ContainsFunc(rows, func(r lockedRow) bool { return !t.writesKey(r.key) }) {
		return nil
	}
	cols, err := c.connector.query(by(ctx, c.initial.kin), "SELECT COLUMN_NAME, COLUMN_TYPE, COLLATION_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = "+
		text(t.spec.db)+" AND TABLE_NAME = "+text(t.spec.name))
	if err != nil {
		return err
	}
	for _, k := range t.key {
		if !slices.ContainsFunc(cols, func(now []string) bool {
			return strings.EqualFold(now[0], k.name) && now[1] == k.columnType && now[2] == k.collation
		}) {
			c.connector.changes.Add(1)
			return errOtherKey
		}
	}
	return nil // a value that its type should not have
}
