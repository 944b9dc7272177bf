package countermysql

import (
	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
)

// upsert prepares a statement for entries by the slots table's own key.
func (c *conn) upsert(t *catalog.Table, entries []*slotsql.RowIncrement) *slotsql.Upsert {
	return &slotsql.Upsert{Table: t, Name: t.Spec.Name, Columns: t.Key, Entries: entries, Lock: t.Lock(), Slot: c.slot(t), Insert: c.insert()}
}

// unsafeUpdates lets MariaDB delete slots, by their primary key, under sql_safe_updates:
// it refuses any join with a list of values
// (https://mariadb.com/kb/en/server-system-variables/#sql_safe_updates).
func (c *conn) unsafeUpdates(t *catalog.Table) string {
	switch {
	case !c.session.safe || !t.MariaDB:
		return c.unsnapshot()
	case c.session.snapshot:
		return "SET STATEMENT sql_safe_updates=OFF, innodb_snapshot_isolation=OFF FOR "
	}
	return "SET STATEMENT sql_safe_updates=OFF FOR "
}

// insert begins a statement that writes slots: strictly in every session, so that no key is
// cut to what the slots table can hold, and none is made up for a column that it has got
// (https://dev.mysql.com/doc/refman/8.4/en/sql-mode.html#sql-mode-strict;
// https://mariadb.com/kb/en/set-statement/).
func (c *conn) insert() string {
	strictly := c.session.sqlMode + ",STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO" // MySQL warns of the first without the others
	switch s := c.connector.watcher.Current(); {
	case c.session.strict:
		return c.unsnapshot() + "INSERT "
	case s == nil || !s.Server.MariaDB:
		return "INSERT /*+ SET_VAR(sql_mode = '" + strictly + "') */ "
	case c.session.snapshot:
		return "SET STATEMENT innodb_snapshot_isolation=OFF, sql_mode='" + strictly + "' FOR INSERT "
	}
	return "SET STATEMENT sql_mode='" + strictly + "' FOR INSERT "
}

// unsnapshot lets MariaDB write a slot that changed since the transaction's
// snapshot (https://mariadb.com/kb/en/innodb-system-variables/#innodb_snapshot_isolation).
func (c *conn) unsnapshot() string {
	if c.session.snapshot {
		return "SET STATEMENT innodb_snapshot_isolation=OFF FOR "
	}
	return ""
}

// slot is the slot that the connection writes for a table: one and the same until the
// transaction ends.
func (c *conn) slot(t *catalog.Table) int {
	return c.leased.Slot(&c.connector.trafficOf(t).leases, c.connector.slotRange, c.session.server, t.Spec.Slots)
}
