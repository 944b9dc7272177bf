package main

import (
	"cmp"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/countermysql/countermysql"
)

// keptView is a derived counter or a history, which triggers keep.
type keptView struct {
	Table   string  `json:"table"`
	Counter string  `json:"counter,omitempty"` // "": it is the history of all
	History string  `json:"history,omitempty"` // the history table
	Every   float64 `json:"every_seconds,omitempty"`
	Problem string  `json:"problem"` // "": the triggers are in place

	as string
}

// kept are the derived counters and histories, as the driver knows them.
func (s *session) kept() (all []keptView, err error) {
	stats, err := countermysql.Stats(s.db)
	for _, d := range stats.Derived {
		all = append(all, keptView{Table: d.Table, Counter: d.Counter, Problem: d.Problem, as: d.Counter + ", derived"})
	}
	for _, h := range stats.Histories {
		all = append(all, keptView{Table: h.Table, History: h.History, Every: h.Every.Seconds(), Problem: h.Problem, as: "history, every " + h.Every.String()})
	}
	return all, err
}

func (s *session) showKept(all []keptView) {
	var rows []table.Row
	for _, k := range all {
		rows = append(rows, table.Row{k.Table, k.as, cmp.Or(k.Problem, "in place")})
	}
	if rows != nil {
		s.screen.table(table.Row{"kept by triggers", "", "the triggers"}, rows)
	}
}
