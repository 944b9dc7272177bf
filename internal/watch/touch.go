package watch

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
)

// Want notes columns, not touch columns, that have kept an increment of a table from slots.
// Nothing else tells which columns are set beside increments, and a touch column for nothing
// makes reads dearer.
func (w *Watcher) Want(ctx context.Context, t *catalog.Table, columns []*catalog.Column) {
	found := false
	for _, c := range columns {
		name := t.FullName(c)
		if _, known := w.wanted.LoadOrStore(name, true); known {
			continue
		}
		found = true
		if !w.config.CreateSlots {
			w.config.Warn("wanted "+name, "countermysql: increments that set this column to the present time are as slow as on plain MySQL, because it is no touch column; list it with counterTouch, and run countermysql init",
				"column", name)
		}
	}
	if found && w.config.CreateSlots && !w.config.Lookups.Retired() {
		w.read(ctx, ofAnyone)
	}
}

// WantedOf are the columns of a table that increments want and that may be had.
func (w *Watcher) WantedOf(t *catalog.Table) (wanted []*catalog.Column) {
	if !catalog.Ready(t) || t.Degraded != nil || t.Verbatim() {
		return nil
	}
	for _, col := range t.Columns {
		if _, ok := w.wanted.Load(t.FullName(col)); ok && col.Touchable {
			wanted = append(wanted, col)
		}
	}
	return wanted
}

// wantsMore reports whether there are columns to be made.
func (w *Watcher) wantsMore(s *catalog.Schema) bool {
	return w.config.CreateSlots && slices.ContainsFunc(s.All(), func(t *catalog.Table) bool { return w.WantedOf(t) != nil })
}

// addTouch makes those that are wanted, and reports whether there may be news. No
// statement fails for want of them.
func (w *Watcher) addTouch(ctx context.Context, look *sql.DB, t *catalog.Table, wanted []*catalog.Column) (again bool) {
	ddl := t.DDL().Touch(wanted, "")
	err := w.refused.unless(ddl, func() error {
		var comment string
		if err := look.QueryRowContext(ctx, fmt.Sprintf("SELECT CONCAT(%s, UTC_TIMESTAMP() + INTERVAL %d SECOND)", catalog.SettlesPrefix, catalog.Settling/time.Second)).Scan(&comment); err != nil {
			return err
		}
		_, err := look.ExecContext(ctx, t.DDL().Touch(wanted, " COMMENT '"+comment+"'"))
		return err
	})
	if n := mysqlerr.Number(err); err == nil || n == mysqlerr.ErrDuplicateColumn {
		return true
	}
	w.config.Warn("refused "+ddl, "countermysql: increments that set a column to the present time are as slow as on plain MySQL, because it is no touch column, and it could not become one",
		"table", t.String(), "statement", ddl, "error", err)
	return false
}
