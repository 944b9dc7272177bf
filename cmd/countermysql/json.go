package main

import (
	"encoding/json"
	"regexp"

	"github.com/countermysql/countermysql"
)

// What --json writes: names as in SQL, times in seconds, numbers as numbers, an empty list as one.

type finding struct {
	Severity countermysql.Severity `json:"severity"`
	Table    string                `json:"table"` // "" for the server
	Problem  string                `json:"problem"`
	Remedy   string                `json:"remedy"`
	SQL      string                `json:"sql"`
}

type initialized struct {
	Statements []string `json:"statements"`
	Run        bool     `json:"run"`
}

type explained struct {
	Class  string   `json:"class"`
	Reason string   `json:"reason"`
	Steps  []step   `json:"steps"`
	Plans  []planOf `json:"plans,omitempty"`
}

type step struct {
	When string `json:"when"`
	SQL  string `json:"sql"`
	Args []any  `json:"args,omitempty"`
}

type planOf struct {
	SQL  string           `json:"sql"`
	Plan []map[string]any `json:"plan"`
}

type rolledUp struct {
	Table   string `json:"table"`
	Keys    int64  `json:"keys"`
	Slots   int64  `json:"slots"`
	Orphans int64  `json:"orphans"`
	Busy    int64  `json:"busy"`
	Left    []left `json:"left"`
}

type left struct {
	Key    string `json:"key"`
	Reason string `json:"reason"`
}

type drift struct {
	Table     string `json:"table"`
	Counter   string `json:"counter"`
	Key       string `json:"key"`
	Value     any    `json:"value"`
	Recounted any    `json:"recounted"`
	Repaired  bool   `json:"repaired"`
}

// converted are the values as --json shows them.
func converted[From, To any](all []From, convert func(From) To) []To {
	out := make([]To, len(all))
	for i, v := range all {
		out[i] = convert(v)
	}
	return out
}

func asFinding(f countermysql.Finding) finding { return finding(f) }

func asStep(s countermysql.ExplainedStep) step { return step(s) }

func asRolledUp(r countermysql.RolledUp) rolledUp {
	return rolledUp{r.Table, r.Keys, r.Slots, r.Orphans, r.Busy, converted(r.Left, func(l countermysql.Left) left { return left(l) })}
}

func asDrift(d countermysql.Drift) drift {
	return drift{d.Table, d.Counter, d.Key, numeric(d.Value), numeric(d.Recounted), d.Repaired}
}

var number = regexp.MustCompile(`^-?(0|[1-9]\d*)(\.\d+)?$`)

// numeric is a number with all its digits, if the text is one.
func numeric(text string) any {
	if number.MatchString(text) {
		return json.Number(text)
	}
	return text
}
