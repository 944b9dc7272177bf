package countermysql

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// want notes the columns that have kept an increment from slots. Nothing else tells which
// columns are set beside increments, and a touch column for nothing makes reads dearer.
func (c *Connector) want(ctx context.Context, k *call) {
	t, found := k.Plan.Increment.Table, false
	if t.Verbatim() || !k.wantsNow() {
		return
	}
	for _, set := range k.Plan.Wanted {
		if t.Virtual(set.C.Name) {
			continue
		}
		if _, known := c.wanted.LoadOrStore(wantedName(t, set.C), true); known {
			continue
		}
		found = true
		if !c.config.CreateSlots {
			c.once("wanted "+wantedName(t, set.C), "countermysql: increments that set this column to the present time are as slow as on plain MySQL, because it is no touch column; list it with counterTouch, and run countermysql init",
				"column", wantedName(t, set.C))
		}
	}
	if found && c.config.CreateSlots && !c.closed.Load() {
		c.read(ctx, asServed)
	}
}

// wantsNow reports whether an increment would go to slots, were its wanted columns touch
// columns.
func (k *call) wantsNow() bool {
	return k.Plan.Wanted != nil && !slices.ContainsFunc(k.Plan.Wanted, func(set plan.Touch) bool {
		_, ok := set.SQL(k.binder())
		return !ok
	})
}

// wanting says what keeps an increment from slots.
func (k *call) wanting() string {
	t := k.Plan.Increment.Table
	for _, set := range k.Plan.Wanted {
		switch name := wantedName(t, set.C); {
		case t.Virtual(set.C.Name):
		case k.conn.connector.config.CreateSlots:
			return "it sets " + name + " to the present time, which becomes a touch column when such an increment has run"
		default:
			return "it sets " + name + " to the present time, which is no touch column: it becomes one by counterTouch=" + name + " and countermysql init, or by itself where processes have create_slots"
		}
	}
	return "a touch column that it sets is so new that other processes may not know it; within a minute all do"
}

func wantedName(t *catalog.Table, c *catalog.Column) string {
	return sqltext.JoinName(t.Spec.DB, t.Spec.Name, c.Name)
}

// wantedOf are the columns of a table that increments want and that may be had.
func (c *Connector) wantedOf(t *catalog.Table) (wanted []*catalog.Column) {
	if t.Unfit != nil || t.Missing != "" || t.Degraded != nil || t.Verbatim() {
		return nil
	}
	for _, col := range t.Columns {
		if _, ok := c.wanted.Load(wantedName(t, col)); ok && col.Touchable {
			wanted = append(wanted, col)
		}
	}
	return wanted
}

// wantsMore reports whether there are columns to be made.
func (c *Connector) wantsMore(s *catalog.Schema) bool {
	return c.config.CreateSlots && slices.ContainsFunc(s.All(), func(t *catalog.Table) bool { return c.wantedOf(t) != nil })
}

// addTouch makes those that are wanted, and reports whether there may be news. No
// statement fails for want of them.
func (c *Connector) addTouch(ctx context.Context, look *sql.DB, t *catalog.Table, wanted []*catalog.Column) (again bool) {
	ddl := t.TouchSQL(wanted, "")
	err := c.unlessRefused(ddl, func() error {
		var comment string
		if err := look.QueryRowContext(ctx, fmt.Sprintf("SELECT CONCAT(%s, UTC_TIMESTAMP() + INTERVAL %d SECOND)", catalog.SettlesPrefix, catalog.Settling/time.Second)).Scan(&comment); err != nil {
			return err
		}
		_, err := look.ExecContext(ctx, t.TouchSQL(wanted, " COMMENT '"+comment+"'"))
		return err
	})
	if n := mysqlerr.Number(err); err == nil || n == mysqlerr.ErrDuplicateColumn {
		return true
	}
	c.once("refused "+ddl, "countermysql: increments that set a column to the present time are as slow as on plain MySQL, because it is no touch column, and it could not become one",
		"table", t.String(), "statement", ddl, "error", err)
	return false
}
