package catalog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/sqltext"
)

func CurrentTimestamp(digits int64) string {
	return "CURRENT_TIMESTAMP(" + strconv.FormatInt(digits, 10) + ")"
}

// Settling is for how long increments that set a new touch column still go to the base
// row: every process has read the schema by then, and no read leaves out a time in slots.
// It is counted from before the column is made, which may wait a moment.
const Settling = 2 * SchemaTooOld

// SettlesPrefix begins the comment that says, in the slots table, until when.
const SettlesPrefix = "'countermysql from '"

const settlesSQL = "COLUMN_COMMENT LIKE CONCAT(" + SettlesPrefix + ", '%') AND COLUMN_COMMENT > CONCAT(" + SettlesPrefix + ", UTC_TIMESTAMP())"

// mayTouch finds the columns whose times could be kept in slots: nothing but queries
// reads them. computed is what the server computes with.
func (t *Table) mayTouch(create, computed string) {
	if strings.Contains(create, "PERIOD FOR") {
		return
	}
	names := sqltext.Identifiers(computed)
	for _, c := range t.Columns {
		c.Touchable = c.moment() && c.generated == "" && !t.Virtual(c.Name) && !names[strings.ToLower(c.Name)] && !t.Key.Has(c.Name) && len(sqltext.UniqueWith(create, c.Name)) == 0 &&
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
