package main

import (
	"cmp"
	"math"
)

// target is one thing that must be shown: a ratio of one run, or a number.
type target struct {
	workload, server, against string

	limit    float64
	atMost   bool // else at least
	exact    bool // a number rather than a ratio
	found    float64
	measured bool
	byHand   string // the same of the peer that does by hand what it takes at least; "" if there is none
}

func (t target) reached() bool {
	if t.atMost {
		return t.found <= t.limit
	}
	return t.found >= t.limit
}

func (t target) verdict() string {
	switch {
	case !t.measured:
		return "not measured"
	case t.reached():
		return "reached"
	}
	return "not reached"
}

func (t target) goal() string {
	if t.atMost {
		return "at most " + t.number(t.limit)
	}
	return "at least " + t.number(t.limit)
}

func (t target) value() string {
	if !t.measured {
		return "–"
	}
	return t.number(t.found)
}

func (t target) number(n float64) string {
	if t.exact {
		return numbers.Sprintf("%.1f", n)
	}
	return ratio(n)
}

// goal is a target for each server.
type goal struct {
	title    string
	workload string
	x        int
	ours     peer // usually counterMySQL
	against  peer
	what     func(ours, against result) float64
	label    string             // if it is not the peer's name
	limits   map[string]float64 // by server; "": any other
	atMost   bool
	exact    bool

	bound   peer // does by hand what it takes at least
	boundOf peer // against which it is measured; usually against
}

func speed(ours, against result) float64   { return ours.perSecond() / against.perSecond() }
func latency(ours, against result) float64 { return float64(ours.p50()) / float64(against.p50()) }

// addedAllocations is rounded: the program allocates a little beside the
// operations.
func addedAllocations(ours, against result) float64 {
	return max(0, math.Round(10*(ours.mallocs()-against.mallocs()))/10)
}

// deadlocksOfOurs is 0 only if there was none in any round.
func deadlocksOfOurs(ours, _ result) float64 {
	if ours.anyDeadlock() {
		return math.Max(ours.deadlocks(), 0.1)
	}
	return 0
}

func anywhere(limit float64) map[string]float64 { return map[string]float64{"": limit} }

var goals = []goal{
	{title: "one hot counter, autocommit, 32 clients", workload: "hot", x: 32, against: handWritten, what: speed, limits: anywhere(4)},
	{title: "one hot counter, autocommit, 32 clients", workload: "hot", x: 32, against: plain, what: speed, limits: map[string]float64{"MariaDB": 4, "MySQL": 8}},
	{title: "one hot counter, autocommit, 256 clients", workload: "hot", x: 256, against: handWritten, what: speed, limits: anywhere(15)},
	{title: "one hot counter, autocommit, 256 clients", workload: "hot", x: 256, against: plain, what: speed, limits: anywhere(25)},
	{title: "one hot counter, autocommit, 256 clients", workload: "hot", x: 256, against: redisAlways, what: speed, limits: anywhere(2)},
	{title: "uniform over 10,000 counters, autocommit, 128 clients", workload: "uniform", x: 128, against: plain, what: speed, limits: anywhere(2)},
	{title: "transaction of only an increment, 32 clients", workload: "gorm", x: 32, against: plain, what: speed, limits: anywhere(8)},
	{title: "transaction of only an increment, 32 clients", workload: "gorm", x: 32, against: handWritten, what: speed, limits: anywhere(4)},
	{title: "transaction with 5 ms of other work, 32 clients", workload: "work", x: 32, against: noCounter, what: speed, limits: anywhere(0.93)},
	{title: "4 of 8 counters, 32 clients", workload: "four", x: 32, against: plain, what: speed, limits: anywhere(20)},
	{title: "4 of 8 counters, 32 clients", workload: "four", x: 32, against: plain, what: deadlocksOfOurs, label: "deadlocks", limits: anywhere(0), atMost: true, exact: true},
	{title: "lone client, autocommit increment", workload: "lone", x: 1, against: plain, what: latency, label: "plain, latency", limits: anywhere(1.15), atMost: true},
	{title: "one item, 32 buyers", workload: "stock", x: 32, against: plain, what: speed, limits: anywhere(5)},
	{title: "one item, 256 buyers", workload: "stock", x: 256, against: plain, what: speed, limits: anywhere(40)},
	{title: "one item, sold out, 32 buyers", workload: "soldout", x: 32, against: plain, what: speed, limits: anywhere(3)},
	{title: "one item, sold out, 256 buyers", workload: "soldout", x: 256, against: plain, what: speed, limits: anywhere(40)},
	{title: "likes and likes taken back, 32 clients", workload: "takenback", x: 32, against: plain, what: speed, limits: map[string]float64{"MariaDB": 3, "MySQL": 5}},
	{title: "likes and likes taken back, 256 clients", workload: "takenback", x: 256, against: plain, what: speed, limits: map[string]float64{"MariaDB": 10, "MySQL": 40}},
	{title: "orders of one item, 32 clients", workload: "orders", x: 32, ours: reserving, against: plain, what: speed, limits: map[string]float64{"MariaDB": 10, "MySQL": 8}},
	{title: "orders of one item, a lone client", workload: "orders", x: 1, ours: reserving, against: plain, what: speed, limits: anywhere(0.97)},
	{title: "10,000 items, 16 buyers", workload: "stockuniform", x: 16, against: plain, what: speed, limits: anywhere(0.97)},
	{title: "the same, signed counter", workload: "stockuniformsigned", x: 16, against: plain, what: speed, limits: anywhere(0.97), bound: looking},
	{title: "lone buyer", workload: "stocklone", x: 1, against: plain, what: speed, limits: anywhere(0.97)},
	{title: "the same, signed counter", workload: "stocklonesigned", x: 1, against: plain, what: speed, limits: anywhere(0.97), bound: looking},
	{title: "comments on one post, derived counter, 32 clients", workload: "derived", x: 32, ours: derived, against: byTrigger, what: speed, limits: anywhere(3)},
	{title: "comments on one post, derived counter, 32 clients", workload: "derived", x: 32, ours: derived, against: byTrigger, what: deadlocksOfOurs, label: "deadlocks", limits: anywhere(0), atMost: true, exact: true},
	{title: "the same with 5 ms of other work, 32 clients", workload: "derivedwork", x: 32, ours: derived, against: byTrigger, what: speed, limits: anywhere(10)},
	{title: "one hot counter with a history, a lone client", workload: "history", x: 1, ours: withHistory, against: counterMySQL, what: speed, limits: anywhere(0.9), bound: historyByHand, boundOf: plain},
	{title: "one hot counter with a history, 32 clients", workload: "history", x: 32, ours: withHistory, against: counterMySQL, what: speed, limits: anywhere(0.9), bound: historyByHand, boundOf: plain},
	{title: "one hot counter with a history, 256 clients", workload: "history", x: 256, ours: withHistory, against: counterMySQL, what: speed, limits: anywhere(0.9), bound: historyByHand, boundOf: plain},
	{title: "10,000 counters with a history, 32 clients", workload: "historycold", x: 32, ours: withHistory, against: counterMySQL, what: speed, limits: anywhere(0.9), bound: historyByHand, boundOf: plain},
	{title: "a counter with a history of 90 days, read", workload: "historyread", x: 1, ours: withHistory, against: counterMySQL, what: latency, label: "countermysql, latency", limits: anywhere(1.3), atMost: true},
	{title: "beside a rollup of 10,000 keys with a history, 32 clients", workload: "historyday", x: 32, ours: rollingUp, against: withHistory, what: speed, limits: anywhere(0.9)},
	{title: "beside a history that forgets 240,000 rows, 32 clients", workload: "historykeep", x: 32, ours: forgetting, against: withHistory, what: speed, limits: anywhere(0.9)},
	{title: "statements without counters", workload: "without", x: 1, against: plain, what: latency, label: "plain, latency", limits: anywhere(1.02), atMost: true},
	{title: "statements without counters", workload: "without", x: 1, against: plain, what: addedAllocations, label: "allocations added", limits: anywhere(0), atMost: true, exact: true},
	{title: "point read, 16 filled slots", workload: "point", x: 1, against: plain, what: latency, label: "plain, latency", limits: anywhere(1.85), atMost: true},
	{title: "point read, rolled up", workload: "point", x: 1, ours: rolledUp, against: plain, what: latency, label: "plain, latency", limits: map[string]float64{"MariaDB": 1.4, "MySQL": 1.6}, atMost: true},

	{title: "nothing hot: lone autocommit increment", workload: "coldlone", x: 1, against: plain, what: speed, limits: anywhere(0.92), bound: unwaiting},
	{title: "nothing hot: autocommit increment, 4 clients", workload: "coldlone", x: 4, against: plain, what: speed, limits: anywhere(0.95), bound: unwaiting},
	{title: "nothing hot: a row and an increment, 1 client", workload: "coldrow", x: 1, against: plain, what: speed, limits: anywhere(0.92), bound: unwaiting},
	{title: "nothing hot: a row and an increment, 16 clients", workload: "coldrow", x: 16, against: plain, what: speed, limits: anywhere(0.92), bound: unwaiting},
	{title: "nothing hot: the same, RowsAffected asked, 16 clients", workload: "coldasked", x: 16, against: plain, what: speed, limits: anywhere(0.85)},
	{title: "nothing hot: the same through GORM, 16 clients", workload: "coldgorm", x: 16, against: plain, what: speed, limits: anywhere(0.85)},
	{title: "nothing hot: two counters of two tables, 16 clients", workload: "coldtwo", x: 16, against: plain, what: speed, limits: anywhere(0.92), bound: unwaiting},
	{title: "nothing hot: edit of a row, 16 clients", workload: "coldedit", x: 16, against: plain, what: speed, limits: anywhere(0.98)},
	{title: "nothing hot: guarded decrement, 16 clients", workload: "coldguard", x: 16, against: plain, what: speed, limits: anywhere(0.95), bound: looking},
	{title: "nothing hot: subquery that reads no counter, 16 clients", workload: "coldsubquery", x: 16, against: plain, what: speed, limits: anywhere(0.98)},
	{title: "forum, nothing hot, 12 clients", workload: "forum", x: 12, against: plain, what: speed, limits: anywhere(0.9), bound: looking},
	{title: "forum, one hot question, 12 clients", workload: "forumhot", x: 12, against: plain, what: speed, limits: anywhere(1.5), bound: looking},

	slowerBeside("fewtop", "20 first by a counter, no index, few slots", 1.5),
	slower("fewtop", "20 first by a counter, no index, no slots", rolledUp, 1.3),
	slowerBeside("fewtopindex", "20 first by a counter, index, few slots", 3),
	slower("fewtopindex", "20 first by a counter, index, no slots", rolledUp, 1.3),
	slowerBeside("fewcount", "a number of rows by a counter, few slots", 3),
	slower("fewcount", "a number of rows by a counter, no slots", rolledUp, 1.3),
	slowerBeside("fewgroup", "grouped by the primary key, few slots", 2),
	slower("fewgroup", "grouped by the primary key, no slots", rolledUp, 1.3),
	slower("fewjoin", "20 first by date, joined, no slots", rolledUp, 1.3),
	slower("keynine", "by key, nine counters, 16 slots", counterMySQL, 2.4),
	slower("keynine", "by key, nine counters, no slots", rolledUp, 2),
	slower("keyone", "by key, one counter, prepared, 16 slots", counterMySQL, 1.6),
	slower("keyone", "by key, one counter, prepared, no slots", rolledUp, 1.4),
	slower("pageone", "page of 20 rows, one counter", counterMySQL, 2),
	slower("pagenine", "page of 20 rows, nine counters", counterMySQL, 2.5),
	slower("keytitle", "by key, a column that is no counter", counterMySQL, 1.02),
}

// slower is how many times plain's latency a read by a lone client may take.
func slower(workload, title string, ours peer, limit float64) goal {
	return goal{title: title, workload: workload, x: 1, ours: ours, against: plain, what: latency, label: "plain, latency", limits: anywhere(limit), atMost: true}
}

// slowerBeside is slower of a list or a number of rows beside few rows in slots.
func slowerBeside(workload, title string, limit float64) goal {
	g := slower(workload, title, counterMySQL, limit)
	g.bound = addedByHand
	return g
}

// judge compares what was measured with the goals, in the order of the goals.
func judge(all *servers, list []measured) (targets []target) {
	for _, g := range goals {
		for _, srv := range all.sql {
			limit, ok := g.limits[srv.name]
			if !ok {
				limit = g.limits[""]
			}
			t := target{workload: g.title, server: srv.name, against: g.label, limit: limit, atMost: g.atMost, exact: g.exact}
			if t.against == "" {
				t.against = g.against.name
			}
			t.found, t.measured = g.measure(list, srv.name, g.ours, g.against)
			if n, ok := g.measure(list, srv.name, g.bound, cmp.Or(g.boundOf, g.against)); g.bound != (peer{}) && ok {
				t.byHand = t.number(n)
			}
			targets = append(targets, t)
		}
	}
	return targets
}

func (g goal) measure(list []measured, server string, first, second peer) (float64, bool) {
	first = cmp.Or(first, counterMySQL)
	for _, m := range list {
		if m.name != g.workload {
			continue
		}
		ours, ok := m.find(g.x, server, first)
		against, alsoOK := m.find(g.x, server, second)
		return g.what(ours, against), ok && alsoOK
	}
	return 0, false
}
