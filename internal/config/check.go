package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/traffic"
)

// Resolve is what the driver keeps counters by: the tables, with the defaults filled in,
// sorted by db and name. All mistakes are reported together, each a *catalog.ConfigError;
// parameters of ours which are left in the server's own configuration are some.
func (c *Settings) Resolve(cfg *mysql.Config) ([]catalog.Spec, error) {
	specs, mistakes := c.check(cfg.DBName)
	for _, key := range sqltext.SortedKeys(cfg.Params) {
		if ourParam(key) {
			mistakes = append(mistakes, &catalog.ConfigError{Place: "mysql.Config.Params[" + strconv.Quote(key) + "]", Problem: "it is not for the server",
				Remedy: "read the DSN with countermysql.ParseDSN, or set it in countermysql.Config"})
		}
	}
	return specs, errors.Join(mistakes...)
}

// check fills in the defaults and sorts by db and name, or reports all mistakes,
// each a *catalog.ConfigError.
func (c *Settings) check(defaultDB string) ([]catalog.Spec, []error) {
	if c == nil {
		return nil, nil
	}
	k := &checker{}
	slots := k.slots(c.Slots, DefaultSlots, cmp.Or(c.At.slots, "Config.Slots"))
	readOwn := k.readOwn(c.ReadOwn, Latest, cmp.Or(c.At.readOwn, "Config.ReadOwn"))
	if _, ok := traffic.ParseSlotRange(c.SlotRange); !ok {
		k.report(cmp.Or(c.At.slotRange, "Config.SlotRange"), remedySlotRange, "%s is not a range of slots", sqltext.Excerpt(c.SlotRange))
	}
	if c.Rollup != 0 && c.Rollup != Never && c.Rollup < time.Second {
		k.report(cmp.Or(c.At.rollup, "Config.Rollup"), remedyRollup, "%s is not a possible interval of rollups", c.Rollup)
	}
	reserve := k.rows(c.Reserve, cmp.Or(c.At.reserve, "Config.Reserve"))
	for i := range c.Tables {
		t := &c.Tables[i]
		in := fmt.Sprintf("Config.Tables[%d].", i)
		spec := checkedSpec{at: cmp.Or(t.At.table, in+"Table")}
		ok := k.table(&spec, t, defaultDB) && k.slotsTable(&spec, t, in)
		spec.Slots = k.slots(t.Slots, slots, cmp.Or(t.At.slots, in+"Slots"))
		spec.OwnSnapshot = k.readOwn(t.ReadOwn, readOwn, cmp.Or(t.At.readOwn, in+"ReadOwn")) == Snapshot
		k.columns(&spec, t, in)
		k.recount(&spec, t, in)
		k.derived(&spec, t, in)
		k.buffered(&spec, t, in)
		k.history(&spec, t, in)
		k.reserve(&spec, t, reserve, in)
		if ok {
			k.specs = append(k.specs, spec)
		}
	}
	if k.homeless != nil {
		k.report(k.homelessAt, "name a database in the DSN, or write db."+k.homeless[0], "the DSN names no database for %s", sqltext.Excerpt(strings.Join(k.homeless, ",")))
	}
	k.clashes()
	specs := make([]catalog.Spec, len(k.specs))
	for i, spec := range k.specs {
		specs[i] = spec.Spec
	}
	slices.SortFunc(specs, func(a, b catalog.Spec) int {
		return cmp.Or(cmp.Compare(a.DB, b.DB), cmp.Compare(a.Name, b.Name))
	})
	return specs, k.mistakes
}

// checker gathers the mistakes of one configuration.
type checker struct {
	specs    []checkedSpec
	mistakes []error

	homeless   []string // tables without a database
	homelessAt string   // the place of the first
}

type checkedSpec struct {
	catalog.Spec
	at      string // the place of the table
	slotsAt string // the place of its slots table, or of the table

	historyAt string // the place of its history table, or of what makes it
	derivedAt string // the place of its formulas
}

// String is the table's name as a user would write it.
func (s *checkedSpec) String() string { return sqltext.JoinName(s.DB, s.Name) }

func (k *checker) report(place, remedy, problem string, args ...any) {
	k.mistakes = append(k.mistakes, &catalog.ConfigError{Place: place, Problem: fmt.Sprintf(problem, args...), Remedy: remedy})
}

// remedySlots and remedyReadOwn are for all places where these can be set.
const (
	remedySlots     = "use 1 to 1024"
	remedySlotRange = "use auto, or numbers from 0 to 65535 as 16-31, up to 1024 of them"
	remedyReadOwn   = "use latest or snapshot"
	remedyOwnName   = "choose another name with slots_table"
	remedyEvery     = "use 10ms to 1h, as 1s"
	remedyKeys      = "use 1 to 10000000"
	remedyRollup    = "use at least a second, as 30s or 5m, or never"
)

// parseInterval reads "30s" or "never".
func parseInterval(s string) (time.Duration, error) {
	if s == "never" {
		return Never, nil
	}
	return time.ParseDuration(s)
}

func (k *checker) slots(n, inherited int, place string) int {
	switch {
	case n == 0:
		return inherited
	case n < 1 || n > traffic.MaxSlots:
		k.report(place, remedySlots, "%d is not a possible number of slots", n)
	}
	return n
}

func (k *checker) readOwn(r, inherited, place string) string {
	switch r {
	case "":
		return inherited
	case Latest, Snapshot:
	default:
		k.report(place, remedyReadOwn, "%s is not a way to read one's own increments", sqltext.Excerpt(r))
	}
	return r
}

func (k *checker) table(spec *checkedSpec, t *Table, defaultDB string) bool {
	if t.Table == "" && t.At.broken {
		return false
	}
	parts, err := sqltext.SplitName(t.Table)
	var bad *sqltext.NameError
	switch {
	case t.Table == "":
		k.report(spec.at, "write table or db.table", "the table's name is empty")
	case errors.As(err, &bad):
		k.report(spec.at, bad.Remedy, "table %s %s", sqltext.Excerpt(t.Table), bad.Problem)
	case len(parts) > 2:
		k.report(spec.at, "write table or db.table, and a name that holds a dot in backquotes", "table %s has more than two names", sqltext.Excerpt(t.Table))
	case catalog.OwnName(parts[len(parts)-1]):
		k.report(spec.at, "give it another name, or take it from the list", "the table's name, %s, is the driver's own", sqltext.Excerpt(t.Table))
	case len(parts) == 1 && defaultDB == "":
		k.homeless, k.homelessAt = append(k.homeless, sqltext.JoinName(parts[0])), cmp.Or(k.homelessAt, spec.at)
	case len(parts) == 1:
		spec.DB, spec.Name = defaultDB, parts[0]
		return true
	default:
		spec.DB, spec.Name = parts[0], parts[1]
		return true
	}
	return false
}

func (k *checker) slotsTable(spec *checkedSpec, t *Table, in string) bool {
	if t.SlotsTable == "" {
		spec.SlotsTable, spec.slotsAt = spec.Name+"_slots", spec.at
		if utf8.RuneCountInString(spec.SlotsTable) > sqltext.MaxName {
			k.report(spec.at, "choose a shorter name with slots_table", "the slots table's name, %s, has more than 64 characters", sqltext.Excerpt(spec.SlotsTable))
			return false
		}
		if catalog.OwnName(spec.SlotsTable) {
			k.report(spec.at, remedyOwnName, "the slots table's name, %s, is the driver's own", sqltext.Excerpt(spec.SlotsTable))
			return false
		}
		return true
	}
	spec.slotsAt = cmp.Or(t.At.slotsTable, in+"SlotsTable")
	parts, err := sqltext.SplitName(t.SlotsTable)
	var bad *sqltext.NameError
	switch {
	case errors.As(err, &bad):
		k.report(spec.slotsAt, bad.Remedy, "slots table %s %s", sqltext.Excerpt(t.SlotsTable), bad.Problem)
	case len(parts) > 1:
		k.report(spec.slotsAt, "leave the database out: the slots table lives in the table's own (and put a name that holds a dot in backquotes)",
			"slots table %s is more than a table's name", sqltext.Excerpt(t.SlotsTable))
	case catalog.OwnName(parts[0]):
		k.report(spec.slotsAt, remedyOwnName, "the slots table's name, %s, is the driver's own", sqltext.Excerpt(t.SlotsTable))
	default:
		spec.SlotsTable = parts[0]
		return true
	}
	return false
}

func (k *checker) columns(spec *checkedSpec, t *Table, in string) {
	if len(t.Counters) == 0 && !t.At.broken {
		k.report(cmp.Or(t.At.table, in+"Counters"), "list its counters, or remove the table", "table %s has no counters", sqltext.Excerpt(t.Table))
	}
	for i, text := range t.Counters {
		place := cmp.Or(nth(t.At.counters, i), fmt.Sprintf("%sCounters[%d]", in, i))
		switch name, ok := k.column(text, place); {
		case !ok:
		case hasColumn(spec.Counters, name):
			k.report(place, "list it once", "counter %s of table %s is listed twice", sqltext.Excerpt(name), sqltext.Excerpt(t.Table))
		default:
			spec.Counters = append(spec.Counters, name)
		}
	}
	for i, text := range t.Touch {
		place := cmp.Or(nth(t.At.touch, i), fmt.Sprintf("%sTouch[%d]", in, i))
		switch name, ok := k.column(text, place); {
		case !ok:
		case hasColumn(spec.Counters, name):
			k.report(place, "list it as one of them", "column %s of table %s is a counter and a touch column", sqltext.Excerpt(name), sqltext.Excerpt(t.Table))
		case hasColumn(spec.Touch, name):
			k.report(place, "list it once", "touch column %s of table %s is listed twice", sqltext.Excerpt(name), sqltext.Excerpt(t.Table))
		default:
			spec.Touch = append(spec.Touch, name)
		}
	}
}

// recount checks which counters have queries that define them.
func (k *checker) recount(spec *checkedSpec, t *Table, in string) {
	for _, text := range sqltext.SortedKeys(t.Recount) {
		place := cmp.Or(t.At.recount, in+"Recount")
		name, ok := k.column(text, place)
		switch {
		case !ok:
		case !hasColumn(spec.Counters, name):
			k.report(place, "list it among the counters, or remove its query", "%s, which has a query, is not a counter of table %s", sqltext.Excerpt(name), sqltext.Excerpt(t.Table))
		case spec.Spec.Recount[strings.ToLower(name)] != "":
			k.report(place, "keep one of them", "counter %s of table %s has two queries", sqltext.Excerpt(name), sqltext.Excerpt(t.Table))
		case strings.TrimSpace(t.Recount[text]) == "":
			k.report(place, "write the SELECT, or leave it out", "the query of counter %s is empty", sqltext.Excerpt(name))
		default:
			if spec.Spec.Recount == nil {
				spec.Spec.Recount = map[string]string{}
			}
			spec.Spec.Recount[strings.ToLower(name)] = strings.TrimRight(strings.TrimSpace(t.Recount[text]), ";")
		}
	}
}

func (k *checker) column(text, place string) (name string, ok bool) {
	parts, err := sqltext.SplitName(text)
	var bad *sqltext.NameError
	switch {
	case text == "":
		k.report(place, "write the column's name", "a column's name is empty")
	case errors.As(err, &bad):
		k.report(place, bad.Remedy, "column %s %s", sqltext.Excerpt(text), bad.Problem)
	case len(parts) > 1:
		k.report(place, "write "+sqltext.JoinName(parts[len(parts)-1])+" alone (and put a name that holds a dot in backquotes)",
			"column %s is more than a column's name", sqltext.Excerpt(text))
	default:
		return parts[0], true
	}
	return "", false
}

// clashes finds tables that get in each other's way. Whether the server tells
// upper from lower case in names of tables is not known here. Two tables that
// differ only in case are let pass; a mixed-up slots table would cost counts.
func (k *checker) clashes() {
	for i := range k.specs {
		b := &k.specs[i]
		for j := range k.specs {
			a := &k.specs[j]
			switch {
			case !strings.EqualFold(a.DB, b.DB):
			case i != j && a.DB == b.DB && a.Name == b.Name:
				if j < i {
					k.report(b.at, "put all of it in one place", "table %s is listed twice", sqltext.Excerpt(b.String()))
				}
			case strings.EqualFold(a.Name, b.SlotsTable):
				k.report(b.slotsAt, "choose another name with slots_table", "slots table %s of table %s is itself a table with counters", sqltext.Excerpt(b.SlotsTable), sqltext.Excerpt(b.String()))
			case j < i && strings.EqualFold(a.SlotsTable, b.SlotsTable):
				remedy := "give each its own with slots_table"
				if strings.EqualFold(a.Name, b.Name) {
					remedy += ", or, if they are one table, write its name the same way"
				}
				k.report(b.slotsAt, remedy, "slots table %s of table %s is also that of table %s", sqltext.Excerpt(b.SlotsTable), sqltext.Excerpt(b.String()), sqltext.Excerpt(a.String()))
			}
			k.historyClash(a, b, j < i)
			k.derivedClash(a, b)
		}
	}
}

// hasColumn ignores upper and lower case, as the servers do for columns.
func hasColumn(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}
