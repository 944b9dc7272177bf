package session

// UnsafeUpdates lets MariaDB delete slots, by their primary key, under sql_safe_updates:
// it refuses any join with a list of values
// (https://mariadb.com/kb/en/server-system-variables/#sql_safe_updates).
func (s *Settings) UnsafeUpdates() string {
	switch {
	case !s.SafeUpdates || !s.MariaDB:
		return s.Unsnapshot()
	case s.SnapshotIsolation:
		return "SET STATEMENT sql_safe_updates=OFF, innodb_snapshot_isolation=OFF FOR "
	}
	return "SET STATEMENT sql_safe_updates=OFF FOR "
}

// Insert begins a statement that writes slots: strictly in every session, so that no key is
// cut to what the slots table can hold, and none is made up for a column that it has got
// (https://dev.mysql.com/doc/refman/8.4/en/sql-mode.html#sql-mode-strict;
// https://mariadb.com/kb/en/set-statement/).
func (s *Settings) Insert() string {
	strictly := s.SQLMode + ",STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO" // MySQL warns of the first without the others
	switch {
	case s.Strict:
		return s.Unsnapshot() + "INSERT "
	case !s.MariaDB:
		return "INSERT /*+ SET_VAR(sql_mode = '" + strictly + "') */ "
	case s.SnapshotIsolation:
		return "SET STATEMENT innodb_snapshot_isolation=OFF, sql_mode='" + strictly + "' FOR INSERT "
	}
	return "SET STATEMENT sql_mode='" + strictly + "' FOR INSERT "
}

// Unsnapshot lets MariaDB write a slot that changed since the transaction's
// snapshot (https://mariadb.com/kb/en/innodb-system-variables/#innodb_snapshot_isolation).
func (s *Settings) Unsnapshot() string {
	if s.SnapshotIsolation {
		return "SET STATEMENT innodb_snapshot_isolation=OFF FOR "
	}
	return ""
}

// NoWaiting lets MariaDB refuse a lock at once
// (https://mariadb.com/kb/en/innodb-system-variables/#innodb_lock_wait_timeout).
func (s *Settings) NoWaiting() string {
	switch {
	case !s.MariaDB:
		return ""
	case s.SnapshotIsolation:
		return "SET STATEMENT innodb_lock_wait_timeout=0, innodb_snapshot_isolation=OFF FOR "
	}
	return "SET STATEMENT innodb_lock_wait_timeout=0 FOR "
}
