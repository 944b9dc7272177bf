package config

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
	"go.yaml.in/yaml/v3"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// The parameters of a DSN that are ours; all others are go-sql-driver's. Of settings that a file has as well
// they are called "counter" and the setting's name.
var dsnParams = []string{paramCounters, "counterSlots", "counterSlotRange", "counterCreateSlots", "counterGroupCommit", "counterReadOwn", "counterRollup", paramTouch, "counterReserve", paramConfig}

const (
	paramCounters = "counters"
	paramTouch    = "counterTouch"
	paramConfig   = "counterConfig"

	envConfig = "COUNTERMYSQL_CONFIG"
)

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
		mistakes = append(mistakes, mistake("DSN parameter "+key, remedy, "%s", problem))
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
	c, r := &Settings{At: Places{}}, &reader{}
	for _, s := range r.global(c, r.every(c)) {
		if value, ok := given["counter"+s.name]; ok {
			place := "DSN parameter counter" + s.name
			c.At[s.name], r.place = place, func(*yaml.Node) string { return place }
			if n, err := strconv.Atoi(value); err == nil { // 016 is none of eights, as in a file
				value = strconv.Itoa(n)
			}
			s.read(&yaml.Node{Kind: yaml.ScalarNode, Value: value})
		}
	}
	for _, param := range []string{paramCounters, paramTouch} {
		if value, ok := given[param]; ok {
			r.mistakes = append(r.mistakes, c.addColumns(value, db, param)...)
		}
	}
	return c, r.mistakes
}

// addColumns reads post.likes,post.views,other_db.page.hits: counters, or touch columns.
func (c *Settings) addColumns(columns, db, param string) (mistakes []error) {
	what, list, place := "counter", "Counters", "DSN parameter "+param
	if param == paramTouch {
		what, list = "touch column", "Touch"
	}
	form := "write table.column or db.table.column, with commas between " + what + "s"
	var homeless []string
	for _, entry := range sqltext.SplitQuoted(columns, ',') {
		entry = strings.TrimSpace(entry)
		parts, err := sqltext.SplitName(entry)
		var bad *sqltext.NameError
		report := func(remedy, problem string) {
			mistakes = append(mistakes, mistake(place, remedy, "%s %s %s", what, sqltext.Excerpt(entry), problem))
		}
		switch {
		case entry == "":
			mistakes = append(mistakes, mistake(place, form, "an entry is empty"))
		case errors.As(err, &bad):
			report(bad.Remedy, bad.Problem)
		case len(parts) == 1:
			report(form, "names no table")
		case len(parts) > 3:
			report(form, "has more than three names")
		case len(parts) == 2 && db == "":
			homeless = append(homeless, sqltext.JoinName(parts...))
		default:
			last := len(parts) - 1
			t := Table{Table: sqltext.JoinName(parts[:last]...), At: Places{"Table": place}}
			i := slices.IndexFunc(c.Tables, func(o Table) bool { return o.key(db) == t.key(db) })
			if i < 0 {
				i = len(c.Tables)
				c.Tables = append(c.Tables, t)
			}
			at, name := &c.Tables[i], sqltext.JoinName(parts[last])
			at.At[list+" "+name] = place
			if param == paramTouch {
				at.Touch = append(at.Touch, name)
			} else {
				at.Counters = append(at.Counters, name)
			}
		}
	}
	if homeless != nil {
		mistakes = append(mistakes, noDatabase(place, homeless))
	}
	return mistakes
}

// noDatabase is the mistake of names that say no database, where the DSN says none.
func noDatabase(place string, names []string) error {
	return mistake(place, "name a database in the DSN, or write db."+names[0], "the DSN names no database for %s", sqltext.Excerpt(strings.Join(names, ",")))
}

// readFile reads a YAML file that was named in a place.
func readFile(name, place string) (*Settings, []error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, []error{mistake(place, "check its name and its permissions; a relative name starts at the working directory", "the file can't be read: %v", err)}
	}
	return readYAML(name, text)
}
