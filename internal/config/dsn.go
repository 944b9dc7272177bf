package config

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// The parameters of a DSN that are ours; all others are go-sql-driver's.
const (
	paramCounters    = "counters"
	paramSlots       = "counterSlots"
	paramSlotRange   = "counterSlotRange"
	paramCreateSlots = "counterCreateSlots"
	paramGroupCommit = "counterGroupCommit"
	paramReadOwn     = "counterReadOwn"
	paramRollup      = "counterRollup"
	paramTouch       = "counterTouch"
	paramReserve     = "counterReserve"
	paramConfig      = "counterConfig"

	envConfig = "COUNTERMYSQL_CONFIG"
)

var dsnParams = []string{paramCounters, paramSlots, paramSlotRange, paramCreateSlots, paramGroupCommit, paramReadOwn, paramRollup, paramTouch, paramReserve, paramConfig}

// ParseDSN reads a DSN, without what is ours, and the settings of it and of the file that it
// names. The file and then the DSN override and extend those given in Go, if there are some.
// All of it is validated together.
func ParseDSN(dsn string, base *Settings) (*mysql.Config, *Settings, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		escaped := escapedConfig(dsn)
		var still error
		if cfg, still = mysql.ParseDSN(escaped); still != nil {
			return nil, nil, err
		}
		dsn = escaped
	}
	given, mistakes := takeParams(cfg, dsn)
	file, place := given[paramConfig], "DSN parameter "+paramConfig
	if _, ok := given[paramConfig]; !ok {
		file, place = os.Getenv(envConfig), "environment variable "+envConfig
	}
	config := base
	if file != "" {
		fromFile, more := readFile(file, place)
		mistakes = append(mistakes, more...)
		if fromFile != nil {
			config = config.merge(fromFile, cfg.DBName)
		}
	}
	fromDSN, more := readParams(given, cfg.DBName)
	mistakes = append(mistakes, more...)
	config = config.merge(fromDSN, cfg.DBName)

	_, more = config.check(cfg.DBName)
	mistakes = append(mistakes, more...)
	if err := config.reservesNothing(); err != nil {
		mistakes = append(mistakes, err)
	}
	if err := errors.Join(mistakes...); err != nil {
		return nil, nil, err
	}
	return cfg, config, nil
}

// escapedConfig is a DSN whose counterConfig names a file as people write it: of a slash,
// go-sql-driver would take what stands behind it for the name of the database.
func escapedConfig(dsn string) string {
	at := max(strings.LastIndex(dsn, "?"+paramConfig+"="), strings.LastIndex(dsn, "&"+paramConfig+"="))
	if at < 0 {
		return dsn
	}
	at += len(paramConfig) + 2
	file, rest, more := strings.Cut(dsn[at:], "&")
	if file = strings.ReplaceAll(file, "/", "%2F"); more {
		rest = "&" + rest
	}
	return dsn[:at] + file + rest
}

// takeParams moves our parameters out of cfg, so that they don't reach the
// server as SET statements.
func takeParams(cfg *mysql.Config, dsn string) (given map[string]string, mistakes []error) {
	given = map[string]string{}
	report := func(key, problem, remedy string) {
		mistakes = append(mistakes, &catalog.ConfigError{Place: "DSN parameter " + key, Problem: problem, Remedy: remedy})
	}
	// cfg.Params has the values, unescaped, but not what was written twice or
	// without a value. The parameters begin where mysql.ParseDSN says they do.
	_, params, _ := strings.Cut(dsn[strings.LastIndexByte(dsn, '/')+1:], "?")
	for param := range strings.SplitSeq(params, "&") {
		key, _, valued := strings.Cut(param, "=")
		_, twice := given[key]
		switch value := cfg.Params[key]; {
		case !ourParam(key):
		case !slices.Contains(dsnParams, key):
			report(key, "there is no such parameter", "there are "+strings.Join(dsnParams, ", "))
		case twice:
			report(key, "it is given twice", "give it once; counters are separated by commas")
		case !valued || value == "":
			report(key, "it has no value", "give it one, or leave it out")
		default:
			given[key] = value
		}
	}
	for key := range cfg.Params {
		if ourParam(key) {
			delete(cfg.Params, key)
		}
	}
	if len(cfg.Params) == 0 {
		cfg.Params = nil // as if ours had never been there
	}
	return given, mistakes
}

// ourParam claims all parameters that begin so: the server has no such variables,
// and a mistyped one must not go unnoticed.
func ourParam(key string) bool {
	const prefix = "counter"
	return len(key) >= len(prefix) && strings.EqualFold(key[:len(prefix)], prefix)
}

// readParams reads the parameters but counterConfig.
func readParams(given map[string]string, db string) (*Settings, []error) {
	c := &Settings{}
	var mistakes []error
	read := func(key, remedy string, set func(value, place string) (problem string)) {
		value, ok := given[key]
		if !ok {
			return
		}
		place := "DSN parameter " + key
		if problem := set(value, place); problem != "" {
			mistakes = append(mistakes, &catalog.ConfigError{Place: place, Problem: problem, Remedy: remedy})
		}
	}
	number := func(to *int, at *string, none bool, of string) func(value, place string) string {
		return func(value, place string) string {
			n, err := strconv.Atoi(value)
			if err != nil || n == 0 && !none { // the default is 0 only in Go
				return sqltext.Excerpt(value) + " is not a possible number of " + of
			}
			*to, *at = n, place
			return ""
		}
	}
	text := func(to, at *string) func(value, place string) string {
		return func(value, place string) string {
			*to, *at = value, place
			return ""
		}
	}
	boolean := func(to *bool, at *string, not bool) func(value, place string) string {
		return func(value, place string) string {
			on, ok := readBool(value)
			if !ok {
				return sqltext.Excerpt(value) + " is not a boolean"
			}
			*to, *at = on != not, place
			return ""
		}
	}
	read(paramSlots, remedySlots, number(&c.Slots, &c.At.slots, false, "slots"))
	read(paramSlotRange, remedySlotRange, text(&c.SlotRange, &c.At.slotRange))
	read(paramCreateSlots, remedyBool, boolean(&c.CreateSlots, &c.At.createSlots, false))
	read(paramGroupCommit, remedyBool, boolean(&c.NoGroupCommit, &c.At.groupCommit, true))
	read(paramReadOwn, remedyReadOwn, text(&c.ReadOwn, &c.At.readOwn))
	read(paramRollup, remedyRollup, func(value, place string) string {
		d, err := parseInterval(value)
		if err != nil || d == 0 { // 0 means the default only in Go
			return sqltext.Excerpt(value) + " is not an interval"
		}
		c.Rollup, c.At.rollup = d, place
		return ""
	})
	read(paramReserve, remedyReserve, number(&c.Reserve, &c.At.reserve, true, "reserved rows"))
	if value, ok := given[paramCounters]; ok {
		mistakes = append(mistakes, c.addColumns(value, db, "counter", "DSN parameter "+paramCounters)...)
	}
	if value, ok := given[paramTouch]; ok {
		mistakes = append(mistakes, c.addColumns(value, db, "touch column", "DSN parameter "+paramTouch)...)
	}
	return c, mistakes
}

// addColumns reads post.likes,post.views,other_db.page.hits: counters, or touch columns.
func (c *Settings) addColumns(list, db, what, place string) (mistakes []error) {
	form := "write table.column or db.table.column, with commas between " + what + "s"
	var homeless []string
	for _, entry := range sqltext.SplitQuoted(list, ',') {
		entry = strings.TrimSpace(entry)
		parts, err := sqltext.SplitName(entry)
		var bad *sqltext.NameError
		mistake := &catalog.ConfigError{Place: place}
		switch {
		case entry == "":
			mistake.Problem, mistake.Remedy = "an entry is empty", form
		case errors.As(err, &bad):
			mistake.Problem, mistake.Remedy = what+" "+sqltext.Excerpt(entry)+" "+bad.Problem, bad.Remedy
		case len(parts) == 1:
			mistake.Problem, mistake.Remedy = what+" "+sqltext.Excerpt(entry)+" names no table", form
		case len(parts) > 3:
			mistake.Problem, mistake.Remedy = what+" "+sqltext.Excerpt(entry)+" has more than three names", form
		case len(parts) == 2 && db == "":
			homeless = append(homeless, sqltext.JoinName(parts...))
			continue
		default:
			last := len(parts) - 1
			t := Table{Table: sqltext.JoinName(parts[:last]...), At: TablePlaces{table: place}}
			i := slices.IndexFunc(c.Tables, func(o Table) bool { return o.key(db) == t.key(db) })
			if i < 0 {
				i = len(c.Tables)
				c.Tables = append(c.Tables, t)
			}
			at := &c.Tables[i]
			names, places := &at.Counters, &at.At.counters
			if what == "touch column" {
				names, places = &at.Touch, &at.At.touch
			}
			*names, *places = append(*names, sqltext.JoinName(parts[last])), append(*places, place)
			continue
		}
		mistakes = append(mistakes, mistake)
	}
	if homeless != nil {
		mistakes = append(mistakes, &catalog.ConfigError{Place: place, Problem: "the DSN names no database for " + sqltext.Excerpt(strings.Join(homeless, ",")), Remedy: "name a database in the DSN, or write db." + homeless[0]})
	}
	return mistakes
}

const remedyBool = "use true or false"

// readBool reads a boolean as go-sql-driver does in a DSN
// (https://github.com/go-sql-driver/mysql/blob/v1.10.1/utils.go#L92).
func readBool(s string) (value, ok bool) {
	switch s {
	case "1", "true", "TRUE", "True":
		return true, true
	case "0", "false", "FALSE", "False":
		return false, true
	}
	return false, false
}

// readFile reads a YAML file that was named in a place.
func readFile(name, place string) (*Settings, []error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, []error{&catalog.ConfigError{
			Place:   place,
			Problem: fmt.Sprintf("the file can't be read: %v", err),
			Remedy:  "check its name and its permissions; a relative name starts at the working directory",
		}}
	}
	return readYAML(name, text)
}
