package main

import (
	"cmp"
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/countermysql/countermysql"
)

type historyCommand struct {
	Counter string   `arg:"" help:"The counter: table.column, or database.table.column."`
	Key     []string `help:"The row, by its key. Of a key of several columns, a value for each, in their order." placeholder:"VALUE"`
	Every   span     `help:"Add up so long intervals: a multiple of the configured one, as 1d or 7d." placeholder:"1d"`
	Since   string   `help:"From when on: so long ago, as 12h or 30d, or a time in UTC, as 2026-01-31 or 2026-01-31T12:00. Without it, the last 48 intervals." placeholder:"30d"`
	CSV     bool     `name:"csv" help:"Write CSV."`
}

func (historyCommand) Help() string {
	return `Prints what a counter of a row has changed by, interval by interval, and its value at the end of each: the present one, from
which the changes are taken back. Times are in UTC. What is still in slots is in the last interval. The table's history has to be
configured (history: {every: 1h}).

Examples:

  countermysql history post.likes --key 1 --dsn "$DSN" --config counters.yaml
  countermysql history post.likes --key 1 --every 1d --since 30d --csv --dsn "$DSN" --config counters.yaml`
}

// maxIntervals bounds what is printed.
const maxIntervals = 10_000

// span is a duration that may be written in days.
type span time.Duration

// UnmarshalText is for kong.
func (d *span) UnmarshalText(text []byte) error {
	parsed, err := parseSpan(string(text))
	if err == nil && parsed <= 0 {
		err = fmt.Errorf("%s is not a length of time", text)
	}
	*d = span(parsed)
	return err
}

func parseSpan(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		d, err := time.ParseDuration(days + "h")
		return 24 * d, err
	}
	return time.ParseDuration(text)
}

// series is a counter of a row, by intervals.
type series struct {
	Table     string     `json:"table"`
	Counter   string     `json:"counter"`
	Key       []any      `json:"key"`
	Every     float64    `json:"every_seconds"`
	Value     any        `json:"value"` // nil: there is no such row
	Open      any        `json:"open"`  // of the value, in slots
	Intervals []interval `json:"intervals"`
}

type interval struct {
	Bucket string `json:"bucket"` // when it begins, in UTC
	Change any    `json:"change"`
	Value  any    `json:"value"` // at its end

	change *big.Rat
}

func (c *historyCommand) run(s *session) error {
	if c.CSV && s.json {
		return &exit{exitUsage, errors.New("give one of --csv and --json")}
	}
	t, counter, err := c.find(s)
	if err != nil {
		return err
	}
	if err := c.numeral(s, t); err != nil {
		return err
	}
	every := cmp.Or(time.Duration(c.Every), t.History.Every)
	if every%t.History.Every != 0 {
		return &exit{exitUsage, fmt.Errorf("--every has to be a multiple of the history's interval, %s", t.History.Every)}
	}
	read, err := c.read(s, t, counter, every)
	if err != nil {
		return err
	}
	if c.CSV {
		w := csv.NewWriter(s.screen.out)
		_ = w.Write([]string{"bucket", "change", "value"}) // Error tells
		for _, i := range read.Intervals {
			_ = w.Write([]string{i.Bucket, fmt.Sprint(i.Change), shown(i.Value)})
		}
		w.Flush()
		return w.Error()
	}
	return s.result(read, func() { c.show(s, read) })
}

// shown is a number; "" if there is none.
func shown(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// find returns the counter and its table.
func (c *historyCommand) find(s *session) (t countermysql.TableInfo, counter string, err error) {
	tables, err := countermysql.Tables(s.ctx, s.db)
	if err != nil {
		return t, "", err
	}
	for _, t = range tables {
		for _, counter = range t.Counters {
			if !isName(c.Counter, t.Table, counter) && !isName(c.Counter, t.Database, t.Table, counter) {
				continue
			}
			switch {
			case t.History.Every == 0:
				return t, "", &exit{exitUsage, fmt.Errorf("no history is configured for %s: write history: {every: 1h} for the table, and run countermysql init", t.Table)}
			case len(c.Key) != len(t.Key):
				return t, "", &exit{exitUsage, fmt.Errorf("give the row: --key for each of its key columns (%s)", strings.Join(t.Key, ", "))}
			}
			return t, counter, nil
		}
	}
	return t, "", &exit{exitUsage, fmt.Errorf("there is no counter %s", c.Counter)}
}

// isName reports whether a text is a name of these parts, each in backquotes or not.
func isName(text string, parts ...string) bool {
	if len(parts) == 0 {
		return text == ""
	}
	for _, part := range []string{parts[0], quote(parts[0])} {
		if len(parts) > 1 {
			part += "."
		}
		if len(text) >= len(part) && strings.EqualFold(text[:len(part)], part) && isName(text[len(part):], parts[1:]...) {
			return true
		}
	}
	return false
}

// numeral refuses a text for a key column that is an integer: the server would take it for 0.
func (c *historyCommand) numeral(s *session, t countermysql.TableInfo) error {
	if len(t.Key) == 0 {
		return nil
	}
	columns := make([]string, len(t.Key))
	for i, k := range t.Key {
		columns[i] = quote(k)
	}
	rows, err := s.db.QueryContext(s.ctx, "SELECT "+strings.Join(columns, ", ")+" FROM "+quote(t.Database)+"."+quote(t.Table)+" LIMIT 0")
	if err != nil {
		return err
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	for i, key := range types {
		if _, integer := new(big.Int).SetString(c.Key[i], 10); strings.HasSuffix(key.DatabaseTypeName(), "INT") && !integer {
			return &exit{exitUsage, fmt.Errorf("--key %s is no integer, as key column %s is", c.Key[i], t.Key[i])}
		}
	}
	return rows.Err()
}

// read reads the value, what is in slots, and the history, as they are at one moment.
func (c *historyCommand) read(s *session, t countermysql.TableInfo, counter string, every time.Duration) (*series, error) {
	tx, err := s.db.BeginTx(s.ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }()
	key, where := make([]any, len(c.Key)), make([]string, len(c.Key))
	for i, v := range c.Key {
		key[i], where[i] = v, quote(t.Key[i])+" = ?"
	}
	from := func(table string) string {
		text := " FROM " + quote(t.Database) + "." + quote(table) + " WHERE TRUE"
		for _, w := range where {
			text += " AND " + w
		}
		return text
	}
	column := quote(counter)
	var value, open string
	var now int64
	there := true
	switch err := tx.QueryRowContext(s.ctx, "SELECT COALESCE("+column+", 0)"+from(t.Table), key...).Scan(&value); {
	case errors.Is(err, sql.ErrNoRows):
		there = false
	case err != nil:
		return nil, err
	}
	if err := tx.QueryRowContext(s.ctx, "SELECT COALESCE(SUM("+column+"), 0), UNIX_TIMESTAMP()"+from(t.SlotsTable), key...).Scan(&open, &now); err != nil {
		return nil, err
	}
	first, last, err := c.window(time.Unix(now, 0).UTC(), every)
	if err != nil {
		return nil, err
	}
	out := &series{Table: t.Database + "." + t.Table, Counter: counter, Key: converted(c.Key, numeric), Every: every.Seconds()}
	for at := first; !at.After(last); at = at.Add(every) {
		out.Intervals = append(out.Intervals, interval{Bucket: at.Format(time.RFC3339), change: new(big.Rat)})
	}
	scale := 0
	number := func(text string) (*big.Rat, error) {
		n, ok := new(big.Rat).SetString(text)
		if !ok {
			return nil, fmt.Errorf("%q is not a number", text)
		}
		_, digits, _ := strings.Cut(text, ".")
		scale = max(scale, len(digits))
		return n, nil
	}
	add := func(at time.Time, change string) error {
		n, err := number(change)
		if err != nil {
			return err
		}
		i := min(int(at.Sub(first)/every), len(out.Intervals)-1) // the server's clock may have been ahead
		out.Intervals[i].change.Add(out.Intervals[i].change, n)
		return nil
	}
	bucket := quote(t.BucketColumn)
	rows, err := tx.QueryContext(s.ctx, "SELECT DATE_FORMAT("+bucket+", '%Y-%m-%dT%H:%i:%sZ'), "+column+from(t.History.Table)+" AND "+bucket+" >= ?", append(key, first.Format(time.DateTime))...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var began, change string
		if err := rows.Scan(&began, &change); err != nil {
			return nil, err
		}
		at, err := time.Parse(time.RFC3339, began)
		if err != nil {
			return nil, err
		}
		if err := add(at, change); err != nil {
			return nil, err
		}
	}
	if err := cmp.Or(rows.Err(), add(last, open)); err != nil {
		return nil, err
	}
	left, err := number(cmp.Or(value, "0"))
	if err != nil {
		return nil, err
	}
	in, _ := number(open) // add has read it
	out.Open = numeric(in.FloatString(scale))
	if there {
		out.Value = numeric(left.FloatString(scale))
	}
	for n := len(out.Intervals) - 1; n >= 0; n-- {
		i := &out.Intervals[n]
		i.Change = numeric(i.change.FloatString(scale))
		if there {
			i.Value = numeric(left.FloatString(scale))
		}
		left.Sub(left, i.change)
	}
	return out, nil
}

// window is the first and the last interval to show.
func (c *historyCommand) window(now time.Time, every time.Duration) (first, last time.Time, err error) {
	begin := func(at time.Time) time.Time { // by the epoch, as those of the history
		return at.Add(-time.Duration(at.Unix()%int64(every/time.Second)) * time.Second)
	}
	last = begin(now)
	first = last.Add(-47 * every)
	if c.Since != "" {
		since, err := c.since(now)
		if err != nil {
			return first, last, &exit{exitUsage, err}
		}
		first = begin(since)
	}
	switch n := last.Sub(first) / every; {
	case n < 0:
		return first, last, &exit{exitUsage, errors.New("--since is in the future")}
	case n >= maxIntervals:
		return first, last, &exit{exitUsage, fmt.Errorf("these are more than %d intervals: give a later --since, or a longer --every", maxIntervals)}
	}
	return first, last, nil
}

func (c *historyCommand) since(now time.Time) (time.Time, error) {
	if d, err := parseSpan(c.Since); err == nil {
		return now.Add(-d).Truncate(time.Second), nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", time.RFC3339} {
		if at, err := time.Parse(layout, c.Since); err == nil {
			return at.UTC(), nil
		}
	}
	return now, fmt.Errorf("--since %s is neither a length of time, as 30d, nor a time, as 2026-01-31 or 2026-01-31T12:00", c.Since)
}

func (c *historyCommand) show(s *session, read *series) {
	most := new(big.Rat)
	for _, i := range read.Intervals {
		if a := new(big.Rat).Abs(i.change); a.Cmp(most) > 0 {
			most = a
		}
	}
	var rows []table.Row
	for _, i := range read.Intervals {
		rows = append(rows, table.Row{i.Bucket, i.Change, shown(i.Value), plot(i.change, most)})
	}
	s.screen.table(table.Row{"interval from (UTC)", "change", "value", ""}, rows)
	switch {
	case read.Value == nil:
		s.screen.line("%s %s: there is no such row now", read.Table, strings.Join(c.Key, " "))
	default:
		s.screen.line("%s.%s is %v now, %v of it in slots", read.Table, read.Counter, read.Value, read.Open)
	}
}

// plot is a bar, of other stuff below zero.
func plot(change, most *big.Rat) string {
	const width, eighths = 30, "▏▎▍▌▋▊▉█"
	if most.Sign() == 0 {
		return ""
	}
	part, _ := new(big.Rat).Quo(change, most).Float64()
	n := int(part * width * 8)
	if n < 0 {
		return strings.Repeat("░", max(1, -n/8))
	}
	bar := strings.Repeat("█", n/8)
	if rest := n % 8; rest > 0 {
		bar += string([]rune(eighths)[rest-1])
	}
	return bar
}
