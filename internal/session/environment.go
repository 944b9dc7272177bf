package session

import (
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// Environment is what a session's statements depend on besides their texts: its settings, as
// they were read last, and what may have changed them since. It asks nobody.
type Environment struct {
	Settings Settings
	Initial  Settings // as the DSN made it
	Literals sqltext.Encoder
	Stale    bool // the settings may have changed: they are read before the next counter statement
	Changed  bool // a statement of the application's has changed them
	clock    bool // and perhaps its clock: SET timestamp
	Role     bool // and perhaps its privileges: SET ROLE
	Locks    bool // LOCK TABLES holds: of other tables, or for DDL of ours
}

// mayChange notes that a statement may change the session.
func (e *Environment) mayChange(text string) {
	e.Stale, e.Changed = true, true
	e.clock = e.clock || strings.Contains(strings.ToLower(text), "timestamp")
	e.Role = e.Role || strings.Contains(strings.ToLower(text), "role")
}

// Altered reports whether the session computes otherwise than a look-up
// connection, which is as the DSN made it.
func (e *Environment) Altered() bool {
	a, b := e.Settings, e.Initial
	return e.clock || a.Zone != b.Zone || a.Collation != b.Collation || a.SQLMode != b.SQLMode || a.Charset != b.Charset
}

// inZone makes a query on a look-up connection read TIMESTAMPs as this session
// writes them: keys and times of touch columns.
func (e *Environment) inZone(query string) string {
	if e.Settings.Zone == e.Initial.Zone {
		return query
	}
	if e.Settings.MariaDB {
		return "SET STATEMENT time_zone = " + catalog.Text(e.Settings.Zone) + " FOR " + query
	}
	return "SELECT /*+ SET_VAR(time_zone = '" + e.Settings.Zone + "') */" + strings.TrimPrefix(query, "SELECT")
}

// untimed lets a query of ours wait for locks for as long as the statement that it is
// for would: MySQL ends queries after max_execution_time, those that lock as well, and
// nothing else (https://dev.mysql.com/doc/refman/8.4/en/server-system-variables.html).
func (e *Environment) untimed(query string) string {
	begin, rest, ok := strings.Cut(query, "SELECT ")
	ok = ok && strings.Trim(begin, "(") == "" // or the first part of a UNION: the hint is for all of it
	if !ok || e.Settings.MariaDB || !e.Settings.Timed && !e.Stale {
		return query
	}
	return begin + "SELECT /*+ SET_VAR(max_execution_time = 0) */ " + rest
}
