package catalog

import (
	"strings"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// PrivateBase is what folds call a base table that is locked, or named, otherwise.
const PrivateBase = "countermysql_base"

// PrivateName is the alias of the slots table wherever we join it to the user's
// tables; it hides none of the user's that is not an OwnName.
const PrivateName = "countermysql_slots"

// OwnName reports whether statements of ours call tables so: one of that name would be taken for
// ours there.
func OwnName(name string) bool {
	return strings.EqualFold(name, PrivateName) || strings.EqualFold(name, PrivateBase)
}

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
