package catalog

import "strings"

// LockKeepsSlots reports whether who has locked a row keeps everybody from its slots: other nodes of a cluster
// do not see the lock, and the triggers of derived counters do not ask for it.
func LockKeepsSlots(t *Table) bool { return !t.Cluster && !t.Fed }

// Lock is how an increment locks the base row. On Galera shared locks of several sessions
// can keep what another node has written to the row from being applied: then all wait,
// until innodb_lock_wait_timeout ends it.
func (t *Table) Lock() string {
	if t.Galera {
		return "FOR UPDATE"
	}
	return ShareMode
}

// NoWait is Lock that fails at once where it would wait. On Galera it waits:
// where another node's write ends a statement with NOWAIT, the server forgets the
// session's own timeouts, and every later lock wait fails at once.
func (t *Table) NoWait() string {
	switch {
	case t.Galera:
		return t.Lock()
	case t.MariaDB:
		return "LOCK IN SHARE MODE NOWAIT"
	}
	return "FOR SHARE NOWAIT"
}

// SkipLocked is ShareMode that sees no row where it would wait.
func (t *Table) SkipLocked() string {
	if t.MariaDB {
		return "LOCK IN SHARE MODE SKIP LOCKED"
	}
	return "FOR SHARE SKIP LOCKED"
}

// Share is a clause that locks exclusively, with shared locks.
func (t *Table) Share(exclusive string) string {
	switch {
	case strings.HasSuffix(exclusive, "NOWAIT") && t.Galera:
		return ShareMode // see NoWait
	case strings.HasSuffix(exclusive, "NOWAIT"):
		return t.NoWait()
	case strings.HasSuffix(exclusive, "SKIP LOCKED"):
		return t.SkipLocked()
	}
	_, wait, _ := strings.Cut(exclusive, "FOR UPDATE")
	return ShareMode + wait // WAIT n, on MariaDB
}
