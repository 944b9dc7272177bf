package config

import (
	"cmp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

const (
	minHistoryEvery = time.Minute
	day             = 24 * time.Hour

	remedyHistoryEvery = "use a part of a day from 1m to 24h, as 10m, 1h or 1d"
	remedyHistoryKeep  = "use at least the interval, as 90d, or leave it out to keep all"
)

// history checks how a table's counters are kept as time series.
func (k *checker) history(spec *checkedSpec, t *Table, in string) {
	if t.History == nil {
		return
	}
	h := catalog.History{Every: cmp.Or(t.History.Every, defaultHistoryEvery), Keep: t.History.Keep}
	if h.Every < minHistoryEvery || h.Every > day || day%h.Every != 0 || h.Every%time.Second != 0 {
		k.report(cmp.Or(t.At.historyEvery, in+"History.Every"), remedyHistoryEvery, "%s is not a possible interval of a history", h.Every)
	}
	if h.Keep != 0 && h.Keep < h.Every {
		k.report(cmp.Or(t.At.historyKeep, in+"History.Keep"), remedyHistoryKeep, "%s is not a possible time to keep a history", h.Keep)
	}
	place := cmp.Or(t.At.historyTable, t.At.history, in+"History")
	switch parts, err := sqltext.SplitName(t.History.Table); {
	case t.History.Table == "":
		h.Table = spec.Name + "_history"
	case err != nil || len(parts) > 1:
		k.report(place, "write the name of a table in the table's own database", "history table %s is not a table's name", sqltext.Excerpt(t.History.Table))
		return
	default:
		h.Table = parts[0]
	}
	if utf8.RuneCountInString(h.Table) > sqltext.MaxName-len(catalog.HistoryUpdate) {
		k.report(place, "choose a shorter one: history: {table: …}", "the history table's name, %s, has more than 61 characters", sqltext.Excerpt(h.Table))
	}
	spec.History, spec.historyAt = h, place
}

// history reads {every: 1h, keep: 90d, table: post_history}.
func (f *yamlFile) history(t *Table) func(*yaml.Node) bool {
	return func(n *yaml.Node) bool {
		t.History, t.At.history = &catalog.History{}, f.place(n)
		return f.mapping(n, []yamlKey{
			{"every", f.interval(&t.History.Every, &t.At.historyEvery, span, remedyHistoryEvery)},
			{"keep", f.interval(&t.History.Keep, &t.At.historyKeep, span, remedyHistoryKeep)},
			{"table", yamlText(f, &t.History.Table, &t.At.historyTable)},
		})
	}
}

// span reads a length of time, which may be in days.
func span(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * day, err
	}
	return time.ParseDuration(text)
}

// historyClash finds a history table of b's that is a table of a's as well.
func (k *checker) historyClash(a, b *checkedSpec, before bool) {
	if b.History.Table == "" || !strings.EqualFold(a.DB, b.DB) {
		return
	}
	what := ""
	switch {
	case strings.EqualFold(a.Name, b.History.Table):
		what = "itself a table with counters"
	case strings.EqualFold(a.SlotsTable, b.History.Table):
		what = "also the slots table of table " + sqltext.Excerpt(a.String())
	case before && strings.EqualFold(a.History.Table, b.History.Table):
		what = "also that of table " + sqltext.Excerpt(a.String())
	default:
		return
	}
	k.report(b.historyAt, "choose another name: history: {table: …}", "history table %s of table %s is %s", sqltext.Excerpt(b.History.Table), sqltext.Excerpt(b.String()), what)
}
