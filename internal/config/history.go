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
func (s *checked) history() {
	given := s.table.History
	if given == nil {
		return
	}
	h := catalog.History{Every: cmp.Or(given.Every, defaultHistoryEvery), Keep: given.Keep}
	if h.Every < minHistoryEvery || h.Every > day || day%h.Every != 0 || h.Every%time.Second != 0 {
		s.report(s.place("History.Every"), remedyHistoryEvery, "%s is not a possible interval of a history", h.Every)
	}
	if h.Keep != 0 && h.Keep < h.Every {
		s.report(s.place("History.Keep"), remedyHistoryKeep, "%s is not a possible time to keep a history", h.Keep)
	}
	switch parts, err := sqltext.SplitName(given.Table); {
	case given.Table == "":
		h.Table = s.Name + "_history"
	case err != nil || len(parts) > 1:
		s.report(s.historyPlace(), "write the name of a table in the table's own database", "history table %s is not a table's name", sqltext.Excerpt(given.Table))
		return
	default:
		h.Table = parts[0]
	}
	if utf8.RuneCountInString(h.Table) > sqltext.MaxName-len(catalog.HistoryUpdate) {
		s.report(s.historyPlace(), "choose a shorter one: history: {table: …}", "the history table's name, %s, has more than 61 characters", sqltext.Excerpt(h.Table))
	}
	s.History = h
}

// historyPlace is that of the history table's name, or of what makes it.
func (s *checked) historyPlace() string {
	return cmp.Or(s.table.At["History.Table"], s.place("History"))
}

// history reads {every: 1h, keep: 90d, table: post_history}.
func (r *reader) history(t *Table) func(*yaml.Node) bool {
	return func(n *yaml.Node) bool {
		t.History = &catalog.History{}
		return r.mapping(n, t.At, []setting{
			{"every", "History.Every", r.interval(&t.History.Every, span, remedyHistoryEvery)},
			{"keep", "History.Keep", r.interval(&t.History.Keep, span, remedyHistoryKeep)},
			{"table", "History.Table", r.text(&t.History.Table)},
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
func historyClash(a, b *checked, before bool) {
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
	b.report(b.historyPlace(), "choose another name: history: {table: …}", "history table %s of table %s is %s", sqltext.Excerpt(b.History.Table), sqltext.Excerpt(b.String()), what)
}
