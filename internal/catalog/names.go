package catalog

import "github.com/countermysql/countermysql/internal/sqltext"

// PrivateBase is what folds call a base table that is locked, or named, otherwise.
const PrivateBase = "countermysql_base"

// PrivateName is the alias of the slots table wherever we join it to the user's
// tables; no user's name is hidden by it.
const PrivateName = "countermysql_slots"

// ShareMode is understood by both servers.
const ShareMode = "LOCK IN SHARE MODE"

// Later is the later of two times either of which may be NULL, or x a zero date: of that MySQL's GREATEST and IF
// make NULL in strict mode, where they are shown or compared, and COALESCE does not.
func Later(x, y string) string {
	if x == "NULL" {
		return y
	}
	return "COALESCE(GREATEST(" + y + ", " + x + "), " + y + ", " + x + ")"
}

// FullName is db.table.column.
func (t *Table) FullName(c *Column) string {
	return sqltext.JoinName(t.Spec.DB, t.Spec.Name, c.Name)
}
