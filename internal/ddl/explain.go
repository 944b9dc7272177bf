package ddl

import (
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// ExplainDrop tells what DROP TABLE or TRUNCATE sends, and when; own says that the text is the user's.
func (d *Definer) ExplainDrop(drop *plan.Drop, text string, tell func(when, text string, own bool)) {
	for _, t := range drop.Tables {
		tell("slots are added to their rows first, under LOCK TABLES if it is of one table", slotsql.KeysOfSlots(t), false)
	}
	tell("as it is", text, true)
	truncate := truncates(sqltext.Tokenize(text, d.Settings.Mode))
	for _, t := range drop.Tables {
		tell("then the slots go too", t.DDL().End(truncate), false)
	}
}
