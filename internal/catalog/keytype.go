package catalog

import "strconv"

// The slots table's key has the types that the base table's had when the schema was read.
// Another client may have given the base table other ones since, with keys that the slots
// table can't hold: it would round or cut them, or take two for one. So whatever writes
// slots looks at the key that it copies, in the same statement. What that finds is added to
// the base row, and what locks rows has the schema read anew.

// Unless turns conditions into those of the rows that do not meet them.
func Unless(conds []string) []string {
	out := make([]string, len(conds))
	for i, cond := range conds {
		out[i] = "(" + cond + ") IS NOT TRUE"
	}
	return out
}

// asKnown are the conditions, never NULL in what they say of a column of the known type, by
// which a value of the column is one that its own type holds as it is. byKey says that the
// row was found by a number given for it, as numbers are compared with that: then none needs a look.
// What is too long or out of range needs none either, as slots are written strictly: only
// that spaces are cut is no error.
func (c *Column) asKnown(ref string, byKey bool) []string {
	as := func(kind string) []string { return []string{ref + " LIKE CAST(" + ref + " AS " + kind + ")"} }
	digits := ""
	if c.Scale > 0 {
		digits = "(" + strconv.Itoa(c.Scale) + ")"
	}
	length := strconv.Itoa(c.length())
	switch {
	case c.Integer() && (byKey || c.zerofill()):
		return nil
	case c.Integer() && c.Unsigned():
		return as("UNSIGNED")
	case c.Integer():
		return as("SIGNED")
	}
	switch c.DataType {
	case "char", "varchar":
		conds := []string{"COLLATION(" + ref + ") = '" + c.Collation + "'"}
		if !c.padded() {
			conds = append(conds, "CHAR_LENGTH("+ref+") <= "+length)
		}
		if !c.padded() && c.DataType == "char" {
			conds = append(conds, ref+" NOT LIKE '% '")
		}
		return conds
	case "enum", "set":
		function := map[string]string{"enum": "ELT", "set": "MAKE_SET"}[c.DataType]
		return []string{"COLLATION(" + ref + ") = '" + c.Collation + "'", "COALESCE(" + function + "(" + ref + " + 0, " + c.members() + "), '') = " + ref}
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
	return as(c.DataType) // DATE, and UUID, INET4 and INET6
}
