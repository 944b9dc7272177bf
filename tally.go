package countermysql

import (
	"context"
	"slices"
	"strings"
	"time"
)

// tally is how much DDL a server has begun since it started, by any client or as a
// replica. While it stays, no definition of a table, view, routine or trigger is
// another, nor a privilege, but for what was under way when it was taken.
type tally struct {
	counts string        // of each kind; "" if the server does not tell
	since  time.Duration // when the server began to count, by clock
}

// tallySQL asks for it: no privilege is needed, and it costs the same however many tables
// there are (https://dev.mysql.com/doc/refman/8.4/en/server-status-variables.html#statvar_Com_xxx).
const tallySQL = `SHOW GLOBAL STATUS WHERE Variable_name REGEXP '^Com_(alter|create|drop|grant|import|rename|revoke)' AND Variable_name NOT LIKE '%temporary%'
 OR Variable_name = 'Uptime_since_flush_status'`

// tally asks the server; whatever keeps it from answering says nothing of the schema.
func (c *Connector) tally(ctx context.Context) (t tally) {
	look, err := c.lookups()
	if err != nil {
		return tally{}
	}
	asked := clock()
	rows, err := look.QueryContext(ctx, tallySQL)
	if err != nil {
		return tally{}
	}
	defer rows.Close()
	var counts strings.Builder
	known := false
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return tally{}
		}
		if uptime, err := time.ParseDuration(value + "s"); err == nil && strings.HasPrefix(name, "Uptime") {
			t.since, known = asked-uptime, true
			continue
		}
		counts.WriteString(name + "=" + value + " ")
	}
	if rows.Err() != nil || !known {
		return tally{}
	}
	t.counts = counts.String()
	return t
}

// same reports whether no DDL has begun between two tallies. The server counts its
// uptime in whole seconds; one that counts from another moment has been started anew, or
// is another.
func (t tally) same(old tally) bool {
	return t.counts != "" && t.counts == old.counts && (t.since-old.since).Abs() < 3*time.Second
}

// settled reports whether nothing but DDL changes what was read. The rows of a table
// without a key do, and what the server has refused to change is tried again. On a
// Galera cluster every reading counts.
func (s *schema) settled() bool {
	if s.server.galera {
		return false
	}
	for _, t := range s.tables {
		if len(t.key) == 0 || t.missing != "" || t.narrow != "" || t.unmade != nil || t.lacks() || slices.ContainsFunc(t.touch, func(c *column) bool { return c.settles }) {
			return false
		}
	}
	return true
}

// lacks reports whether the slots table has no column for a listed one: see makesDo.
func (t *table) lacks() bool {
	for _, names := range [][]string{t.spec.counters, t.spec.touch} {
		for _, name := range names {
			if t.column(name) != nil && !t.virtual(name) {
				return true
			}
		}
	}
	return false
}
