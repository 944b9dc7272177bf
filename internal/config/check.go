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
			mistakes = append(mistakes, mistake("mysql.Config.Params["+strconv.Quote(key)+"]", "read the DSN with countermysql.ParseDSN, or set it in countermysql.Config", "it is not for the server"))
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
	place := func(setting string) string { return cmp.Or(c.At[setting], "Config."+setting) }
	slots := k.slots(c.Slots, DefaultSlots, place("Slots"))
	readOwn := k.readOwn(c.ReadOwn, Latest, place("ReadOwn"))
	if _, ok := traffic.ParseSlotRange(c.SlotRange); !ok {
		k.report(place("SlotRange"), "use auto, or numbers from 0 to 65535 as 16-31, up to 1024 of them", "%s is not a range of slots", sqltext.Excerpt(c.SlotRange))
	}
	if c.Rollup != 0 && c.Rollup != Never && c.Rollup < time.Second {
		k.report(place("Rollup"), remedyRollup, "%s is not a possible interval of rollups", c.Rollup)
	}
	reserve := k.rows(c.Reserve, place("Reserve"))
	var all []*checked
	for i := range c.Tables {
		s := &checked{checker: k, table: &c.Tables[i], in: fmt.Sprintf("Config.Tables[%d].", i)}
		ok := s.tableName(defaultDB) && s.slotsTable()
		s.Slots = k.slots(s.table.Slots, slots, s.place("Slots"))
		s.OwnSnapshot = k.readOwn(s.table.ReadOwn, readOwn, s.place("ReadOwn")) == Snapshot
		s.counters()
		s.recount()
		s.derived()
		s.buffered()
		s.history()
		s.reserve(reserve)
		if ok {
			all = append(all, s)
		}
	}
	if k.homeless != nil {
		k.mistakes = append(k.mistakes, noDatabase(k.homelessAt, k.homeless))
	}
	clashes(all)
	specs := make([]catalog.Spec, len(all))
	for i, s := range all {
		specs[i] = s.Spec
	}
	slices.SortFunc(specs, func(a, b catalog.Spec) int {
		return cmp.Or(cmp.Compare(a.DB, b.DB), cmp.Compare(a.Name, b.Name))
	})
	return specs, k.mistakes
}

// checker gathers the mistakes of one configuration.
type checker struct {
	mistakes []error

	homeless   []string // tables without a database
	homelessAt string   // the place of the first
}

func (k *checker) report(place, remedy, problem string, args ...any) {
	k.mistakes = append(k.mistakes, mistake(place, remedy, problem, args...))
}

// checked is a table on its way to what it is kept by.
type checked struct {
	catalog.Spec
	*checker
	table *Table
	in    string // where it is in Go: "Config.Tables[1]."
}

// place is where a setting of the table was written.
func (s *checked) place(setting string) string { return cmp.Or(s.table.At[setting], s.in+setting) }

// slotsPlace is that of the slots table's name, or of the table that it is made of.
func (s *checked) slotsPlace() string {
	if s.table.SlotsTable == "" {
		return s.place("Table")
	}
	return s.place("SlotsTable")
}

// String is the table's name as a user would write it.
func (s *checked) String() string { return sqltext.JoinName(s.DB, s.Name) }

// Remedies that are for all places where something can be set.
const (
	remedySlots   = "use 1 to 1024"
	remedyOwnName = "choose another name with slots_table"
	remedyEvery   = "use 10ms to 1h, as 1s"
	remedyKeys    = "use 1 to 10000000"
	remedyRollup  = "use at least a second, as 30s or 5m, or never"
)

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
		k.report(place, "use latest or snapshot", "%s is not a way to read one's own increments", sqltext.Excerpt(r))
	}
	return r
}

func (s *checked) tableName(defaultDB string) bool {
	given, place := s.table.Table, s.place("Table")
	if given == "" && s.table.broken {
		return false
	}
	parts, err := sqltext.SplitName(given)
	var bad *sqltext.NameError
	switch {
	case given == "":
		s.report(place, "write table or db.table", "the table's name is empty")
	case errors.As(err, &bad):
		s.report(place, bad.Remedy, "table %s %s", sqltext.Excerpt(given), bad.Problem)
	case len(parts) > 2:
		s.report(place, "write table or db.table, and a name that holds a dot in backquotes", "table %s has more than two names", sqltext.Excerpt(given))
	case catalog.OwnName(parts[len(parts)-1]):
		s.report(place, "give it another name, or take it from the list", "the table's name, %s, is the driver's own", sqltext.Excerpt(given))
	case len(parts) == 1 && defaultDB == "":
		s.homeless, s.homelessAt = append(s.homeless, sqltext.JoinName(parts[0])), cmp.Or(s.homelessAt, place)
	case len(parts) == 1:
		s.DB, s.Name = defaultDB, parts[0]
		return true
	default:
		s.DB, s.Name = parts[0], parts[1]
		return true
	}
	return false
}

func (s *checked) slotsTable() bool {
	given, place := s.table.SlotsTable, s.slotsPlace()
	s.SlotsTable = s.Name + "_slots"
	if given != "" {
		parts, err := sqltext.SplitName(given)
		var bad *sqltext.NameError
		switch {
		case errors.As(err, &bad):
			s.report(place, bad.Remedy, "slots table %s %s", sqltext.Excerpt(given), bad.Problem)
			return false
		case len(parts) > 1:
			s.report(place, "leave the database out: the slots table lives in the table's own (and put a name that holds a dot in backquotes)",
				"slots table %s is more than a table's name", sqltext.Excerpt(given))
			return false
		}
		s.SlotsTable = parts[0]
	}
	switch {
	case utf8.RuneCountInString(s.SlotsTable) > sqltext.MaxName:
		s.report(place, "choose a shorter name with slots_table", "the slots table's name, %s, has more than 64 characters", sqltext.Excerpt(s.SlotsTable))
	case catalog.OwnName(s.SlotsTable):
		s.report(place, remedyOwnName, "the slots table's name, %s, is the driver's own", sqltext.Excerpt(s.SlotsTable))
	default:
		return true
	}
	return false
}

// counters checks the lists of counters and touch columns.
func (s *checked) counters() {
	if len(s.table.Counters) == 0 && !s.table.broken {
		s.report(cmp.Or(s.table.At["Table"], s.in+"Counters"), "list its counters, or remove the table", "table %s has no counters", sqltext.Excerpt(s.table.Table))
	}
	s.Counters = s.columns("Counters", s.table.Counters, "counter", func(string) (remedy, problem string) { return "", "" })
	s.Touch = s.columns("Touch", s.table.Touch, "touch column", func(name string) (remedy, problem string) {
		if hasColumn(s.Counters, name) {
			return "list it as one of them", "column %s of table %s is a counter and a touch column"
		}
		return "", ""
	})
}

// columns checks a list of columns. wrong says what else may be wrong with one: the problem, of it and the table.
func (s *checked) columns(list string, texts []string, what string, wrong func(name string) (remedy, problem string)) (all []string) {
	for i, text := range texts {
		place := cmp.Or(s.table.At[list+" "+text], fmt.Sprintf("%s%s[%d]", s.in, list, i))
		name, ok := s.column(text, place)
		if !ok {
			continue
		}
		remedy, problem := wrong(name)
		if problem == "" && hasColumn(all, name) {
			remedy, problem = "list it once", what+" %s of table %s is listed twice"
		}
		if problem != "" {
			s.report(place, remedy, problem, sqltext.Excerpt(name), sqltext.Excerpt(s.table.Table))
			continue
		}
		all = append(all, name)
	}
	return all
}

// names are those of something that a counter may have, as errors say it: one, two, and what to do with one
// of no counter.
type names struct{ one, two, remedy string }

// byCounter checks of what is set by counter that each is set once, of a counter.
func byCounter[V any](s *checked, setting string, all map[string]V, called names, check func(name string, v V, place string)) {
	place, met := s.place(setting), []string(nil)
	for _, text := range sqltext.SortedKeys(all) {
		switch name, ok := s.column(text, place); {
		case !ok:
		case !hasColumn(s.Counters, name):
			s.report(place, "list it among the counters, or "+called.remedy, "%s, which has a %s, is not a counter of table %s", sqltext.Excerpt(name), called.one, sqltext.Excerpt(s.table.Table))
		case hasColumn(met, name):
			s.report(place, "keep one of them", "counter %s of table %s has two %s", sqltext.Excerpt(name), sqltext.Excerpt(s.table.Table), called.two)
		default:
			met = append(met, name)
			check(name, all[text], place)
		}
	}
}

// put puts something into a map that may be nil.
func put[V any](m *map[string]V, key string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = v
}

// recount checks which counters have queries that define them.
func (s *checked) recount() {
	byCounter(s, "Recount", s.table.Recount, names{"query", "queries", "remove its query"}, func(name, query, place string) {
		if strings.TrimSpace(query) == "" {
			s.report(place, "write the SELECT, or leave it out", "the query of counter %s is empty", sqltext.Excerpt(name))
			return
		}
		put(&s.Recount, strings.ToLower(name), strings.TrimRight(strings.TrimSpace(query), ";"))
	})
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
func clashes(all []*checked) {
	for i, b := range all {
		for j, a := range all {
			switch {
			case !strings.EqualFold(a.DB, b.DB):
			case i != j && a.DB == b.DB && a.Name == b.Name:
				if j < i {
					b.report(b.place("Table"), "put all of it in one place", "table %s is listed twice", sqltext.Excerpt(b.String()))
				}
			case strings.EqualFold(a.Name, b.SlotsTable):
				b.report(b.slotsPlace(), remedyOwnName, "slots table %s of table %s is itself a table with counters", sqltext.Excerpt(b.SlotsTable), sqltext.Excerpt(b.String()))
			case j < i && strings.EqualFold(a.SlotsTable, b.SlotsTable):
				remedy := "give each its own with slots_table"
				if strings.EqualFold(a.Name, b.Name) {
					remedy += ", or, if they are one table, write its name the same way"
				}
				b.report(b.slotsPlace(), remedy, "slots table %s of table %s is also that of table %s", sqltext.Excerpt(b.SlotsTable), sqltext.Excerpt(b.String()), sqltext.Excerpt(a.String()))
			}
			historyClash(a, b, j < i)
			derivedClash(a, b)
		}
	}
}

// hasColumn ignores upper and lower case, as the servers do for columns.
func hasColumn(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}
