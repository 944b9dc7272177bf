package countermysql

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"
)

// settling is for how long increments that set a new touch column still go to the base
// row: every process has read the schema by then, and no read leaves out a time in slots.
// It is counted from before the column is made, which may wait a moment.
const settling = 2 * schemaTooOld

// settlesPrefix begins the comment that says, in the slots table, until when.
const settlesPrefix = "'countermysql from '"

const settlesSQL = "COLUMN_COMMENT LIKE CONCAT(" + settlesPrefix + ", '%') AND COLUMN_COMMENT > CONCAT(" + settlesPrefix + ", UTC_TIMESTAMP())"

// mayTouch finds the columns whose times could be kept in slots: nothing but queries
// reads them. computed is what the server computes with.
func (t *table) mayTouch(create, computed string) {
	if strings.Contains(create, "PERIOD FOR") {
		return
	}
	names := identifiers(computed)
	for _, c := range t.cols {
		c.touchable = c.moment() && c.generated == "" && !t.virtual(c.name) && !names[strings.ToLower(c.name)] && !t.inKey(c.name) && len(uniqueWith(create, c.name)) == 0 &&
			!slices.ContainsFunc(t.cols, func(g *column) bool { return g.generated != "" && mentionsWord(g.generated, c.name) })
	}
}

func (c *column) moment() bool { return c.dataType == "datetime" || c.dataType == "timestamp" }

// want notes the columns that have kept an increment from slots. Nothing else tells which
// columns are set beside increments, and a touch column for nothing makes reads dearer.
func (c *Connector) want(ctx context.Context, k *call) {
	t, found := k.plan.increment.t, false
	if t.verbatim() || !k.wantsNow() {
		return
	}
	for _, set := range k.plan.wanted {
		if t.virtual(set.c.name) {
			continue
		}
		if _, known := c.wanted.LoadOrStore(wantedName(t, set.c), true); known {
			continue
		}
		found = true
		if !c.config.CreateSlots {
			c.once("wanted "+wantedName(t, set.c), "countermysql: increments that set this column to the present time are as slow as on plain MySQL, because it is no touch column; list it with counterTouch, and run countermysql init",
				"column", wantedName(t, set.c))
		}
	}
	if found && c.config.CreateSlots && !c.closed.Load() {
		c.read(ctx, true)
	}
}

// wantsNow reports whether an increment would go to slots, were its wanted columns touch
// columns.
func (k *call) wantsNow() bool {
	return k.plan.wanted != nil && !slices.ContainsFunc(k.plan.wanted, func(set touch) bool {
		_, ok := set.sql(k.binder())
		return !ok
	})
}

// wanting says what keeps an increment from slots.
func (k *call) wanting() string {
	t := k.plan.increment.t
	for _, set := range k.plan.wanted {
		switch name := wantedName(t, set.c); {
		case t.virtual(set.c.name):
		case k.conn.connector.config.CreateSlots:
			return "it sets " + name + " to the present time, which becomes a touch column when such an increment has run"
		default:
			return "it sets " + name + " to the present time, which is no touch column; list it, counterTouch=" + name + ", and run countermysql init"
		}
	}
	return "a touch column that it sets is so new that other processes may not know it; within a minute all do"
}

func wantedName(t *table, c *column) string { return joinName(t.spec.db, t.spec.name, c.name) }

// wantedOf are the columns of a table that increments want and that may be had.
func (c *Connector) wantedOf(t *table) (wanted []*column) {
	if t.unfit != nil || t.missing != "" || t.degraded != nil || t.verbatim() {
		return nil
	}
	for _, col := range t.cols {
		if _, ok := c.wanted.Load(wantedName(t, col)); ok && col.touchable {
			wanted = append(wanted, col)
		}
	}
	return wanted
}

// wantsMore reports whether there are columns to be made.
func (c *Connector) wantsMore(s *schema) bool {
	return c.config.CreateSlots && slices.ContainsFunc(s.all(), func(t *table) bool { return c.wantedOf(t) != nil })
}

// touchSQL makes columns for times.
func (t *table) touchSQL(wanted []*column, comment string) string {
	var adds []string
	for _, c := range wanted {
		adds = append(adds, "ADD COLUMN "+t.slotDefinition(c)+comment)
	}
	return "ALTER TABLE " + t.slots() + " " + strings.Join(adds, ", ")
}

// addTouch makes those that are wanted, and reports whether there may be news. No
// statement fails for want of them.
func (c *Connector) addTouch(ctx context.Context, look *sql.DB, t *table, wanted []*column) (again bool) {
	ddl := t.touchSQL(wanted, "")
	err := c.unlessRefused(ddl, func() error {
		var comment string
		if err := look.QueryRowContext(ctx, fmt.Sprintf("SELECT CONCAT(%s, UTC_TIMESTAMP() + INTERVAL %d SECOND)", settlesPrefix, settling/time.Second)).Scan(&comment); err != nil {
			return err
		}
		_, err := look.ExecContext(ctx, t.touchSQL(wanted, " COMMENT '"+comment+"'"))
		return err
	})
	if n := errorNumber(err); err == nil || n == errDuplicateColumn {
		return true
	}
	c.once("refused "+ddl, "countermysql: increments that set a column to the present time are as slow as on plain MySQL, because it is no touch column, and it could not become one",
		"table", t.String(), "statement", ddl, "error", err)
	return false
}
