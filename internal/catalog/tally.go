package catalog

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Tally is how much DDL a server has begun since it started, by any client or as a
// replica. While it stays, no definition of a table, view, routine or trigger is
// another, nor a privilege, but for what was under way when it was taken.
type Tally struct {
	Counts string        // of each kind; "" if the server does not tell
	Since  time.Duration // when the server began to count, by clock
}

// TallySQL asks for it: no privilege is needed, and it costs the same however many tables
// there are (https://dev.mysql.com/doc/refman/8.4/en/server-status-variables.html#statvar_Com_xxx).
const TallySQL = `SHOW GLOBAL STATUS WHERE Variable_name REGEXP '^Com_(alter|create|drop|grant|import|rename|revoke)' AND Variable_name NOT LIKE '%temporary%'
 OR Variable_name = 'Uptime_since_flush_status'`

// Same reports whether no DDL has begun between two tallies. The server counts its
// uptime in whole seconds; one that counts from another moment has been started anew, or
// is another.
func (t Tally) Same(old Tally) bool {
	return t.Counts != "" && t.Counts == old.Counts && (t.Since-old.Since).Abs() < 3*time.Second
}

// SameRights reports whether no right has been given or taken away between two tallies.
func (t Tally) SameRights(old Tally) bool {
	return t.Counts == "" || old.Counts == "" || t.rights() == old.rights()
}

func (t Tally) rights() string {
	these, _ := t.parted("Com_grant", "Com_revoke")
	return these
}

// parted are the counts of some kinds, by the beginnings of their names, and the others.
func (t Tally) parted(kinds ...string) (these, others string) {
	for _, count := range strings.Fields(t.Counts) {
		if slices.ContainsFunc(kinds, func(kind string) bool { return strings.HasPrefix(count, kind) }) {
			these += count + " "
		} else {
			others += count + " "
		}
	}
	return these, others
}

// Creates counts so many CREATE TABLEs more. What others have begun beside them it lacks, and
// the next look sees that.
func (t *Tally) Creates(n int) {
	counts := strings.Fields(t.Counts)
	for i, count := range counts {
		if made, is := strings.CutPrefix(count, createTables); is {
			before, _ := strconv.Atoi(made) // what the server counts
			counts[i] = createTables + strconv.Itoa(before+n)
		}
	}
	t.Counts = strings.Join(counts, " ")
}

const createTables = "Com_create_table="

// SlotsToMake are the tables whose slots tables there were not, where nothing else was to be
// made or altered, and the server refused none.
func (s *Schema) SlotsToMake() (made []*Table) {
	for _, t := range s.Tables {
		switch {
		case t.Missing == "" && t.Narrow == "" || t.Unfit != nil:
		case t.Missing != t.DDL().Create() || t.Unmade != nil:
			return nil
		default:
			made = append(made, t)
		}
	}
	return made
}

// Settled reports whether nothing but DDL changes what was read. The rows of a table
// without a key do, and what the server has refused to change is tried again. On a
// Galera cluster every reading counts.
func (s *Schema) Settled() bool {
	if s.Server.Galera {
		return false
	}
	for _, t := range s.Tables {
		if len(t.Key) == 0 || t.Missing != "" || t.Narrow != "" || t.Unmade != nil || t.lacks() || slices.ContainsFunc(t.Touch, func(c *Column) bool { return c.Settles }) {
			return false
		}
	}
	return true
}
