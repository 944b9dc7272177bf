package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// workload is what all clients do at once, over and over.
type workload struct {
	name  string // for -only, and of its chart
	title string
	about string // what a client does
	axis  string // what grows from point to point
	peers []peer

	points   func(settings) []point
	rounds   int  // how many times as many as usual; 0: 1
	logs     bool // it writes into the table log
	notes    bool // it reads the table note
	unsigned bool // the counter is
	indexed  bool // the counter has an index, but for the peer noIndex
	forum    bool // it uses the tables of forum.go
	kept     bool // slots that the workload has filled stay
	ways     bool // peers are ways of counting: each has tables of its own, is read, and is rolled up

	fill func(ctx context.Context, c *contestant) error // what is needed beyond rows that are 0
	do   func(ctx context.Context, c *client) error     // once, to the end

	beside func(ctx context.Context, c *contestant) (stop func() error, err error) // begins what goes on in a contestant's turns; nil: nothing
}

// point is one size of a workload.
type point struct {
	x        int // the one that the axis is named after
	clients  int
	slots    int
	counters int
	tables   int
}

func (p point) String() string { return fmt.Sprintf("%d clients, x = %d", p.clients, p.x) }

// The axes.
const (
	clientsAxis  = "clients"
	slotsAxis    = "slots"
	countersAxis = "counters"
	tablesAxis   = "configured tables"
	textsAxis    = "distinct texts"
	noAxis       = ""
)

const hotID = 1

// byClients has points at every number of clients.
func byClients(counters func(settings) int) func(settings) []point {
	return func(s settings) (points []point) {
		for _, n := range s.clients {
			points = append(points, point{x: n, clients: n, slots: defaultSlots, counters: counters(s)})
		}
		return points
	}
}

func oneCounter(settings) int     { return 1 }
func eightCounters(settings) int  { return 8 }
func manyCounters(s settings) int { return s.rows }

// loneClient has one point.
func loneClient(settings) []point {
	return []point{{x: 1, clients: 1, slots: defaultSlots, counters: 1000}}
}

const otherWork = 5 * time.Millisecond

// allWorkloads in the order of the report.
var allWorkloads = slices.Concat(counting, shop, deriving, histories, growing, reading, cold, few, counted)

var counting = []workload{
	{
		name: "hot", title: "One hot counter, autocommit", axis: clientsAxis, peers: autocommitPeers, points: byClients(oneCounter),
		about: "UPDATE post SET likes = likes + 1 WHERE id = 1, by all clients.",
		do:    func(ctx context.Context, c *client) error { return c.increment(ctx, hotID) },
	},
	{
		name: "zipf", title: "Zipf over many counters, autocommit", axis: clientsAxis, peers: autocommitPeers, points: byClients(manyCounters),
		about: "The same, over 10,000 counters, of which the most popular gets a seventh of all increments (Zipf with exponent 1.1).",
		do:    func(ctx context.Context, c *client) error { return c.increment(ctx, c.popular()) },
	},
	{
		name: "uniform", title: "Uniform over many counters, autocommit", axis: clientsAxis, peers: calmPeers, points: byClients(manyCounters),
		about: "The same, over 10,000 counters, each as often.",
		do:    func(ctx context.Context, c *client) error { return c.increment(ctx, c.uniform()) },
	},
	{
		name: "work", title: "Transaction with one hot counter and 5 ms of other work", axis: clientsAxis,
		peers: append(slices.Clone(transactionPeers), noCounter), points: byClients(oneCounter),
		about: "BeginTx, increment of the hot counter, 5 ms of other work that does not concern the database, Commit. No counter: the same without the increment.",
		do:    func(ctx context.Context, c *client) error { return c.order(ctx, otherWork, false) },
	},
	{
		name: "log", title: "Transaction with a row, one hot counter and 5 ms of other work", axis: clientsAxis,
		peers: []peer{plain, handWritten, counterMySQL, noCounter}, points: byClients(oneCounter),
		about: "BeginTx, INSERT of a row into another table, increment of the hot counter, 5 ms of other work, Commit. No counter: the same without the increment.",
		logs:  true,
		do:    func(ctx context.Context, c *client) error { return c.order(ctx, otherWork, true) },
	},
	{
		name: "gorm", title: "Transaction of only an increment (GORM's way)", axis: clientsAxis, peers: transactionPeers, points: byClients(oneCounter),
		about: "BeginTx, increment of the hot counter, Commit.",
		do:    func(ctx context.Context, c *client) error { return c.order(ctx, 0, false) },
	},
	{
		name: "four", title: "Transaction with 4 of 8 counters in random order", axis: clientsAxis, peers: transactionPeers, points: byClients(eightCounters),
		about: "BeginTx, increments of 4 of 8 counters in random order, Commit. What a deadlock has undone is tried again.",
		do:    func(ctx context.Context, c *client) error { return c.four(ctx, false) },
	},
	{
		name: "fourread", title: "Transaction with 4 of 8 counters, each read before", axis: clientsAxis, peers: []peer{plain, handWritten, counterMySQL}, points: byClients(eightCounters),
		about: "The same, where each counter is read (SELECT, without a lock) before it is incremented.",
		do:    func(ctx context.Context, c *client) error { return c.four(ctx, true) },
	},
	{
		name: "readback", title: "Transaction that reads back what it incremented", axis: clientsAxis, peers: []peer{plain, handWritten, counterMySQL}, points: byClients(manyCounters),
		about: "BeginTx, increment of one of 10,000 counters (Zipf), SELECT of the same, Commit.",
		do:    readBack,
	},
	{
		name: "mixed", title: "90 % reads, 10 % increments, autocommit", axis: clientsAxis, peers: calmPeers, points: byClients(manyCounters),
		about: "Nine times of ten SELECT likes FROM post WHERE id = ?, else an increment; over 10,000 counters (Zipf). Redis: GET and INCR.",
		do:    mixed,
	},
	{
		name: "lone", title: "A lone client, autocommit", axis: noAxis, peers: calmPeers, points: loneClient, rounds: 3,
		about: "Increments of the hot counter by one client, in many rounds.",
		do:    func(ctx context.Context, c *client) error { return c.increment(ctx, hotID) },
	},
	{
		name: "without", title: "Statements without counters", axis: noAxis, peers: []peer{plain, counterMySQL}, points: loneClient, rounds: 5,
		about: "SELECT body FROM note WHERE id = ?, by one client, in many rounds. The driver has counters, but not in this table.",
		notes: true, do: withoutCounters,
	},
	{
		name: "withoutload", title: "Statements without counters, under load", axis: clientsAxis, peers: []peer{plain, counterMySQL}, points: byClients(manyCounters),
		about: "The same, by many clients.",
		notes: true, do: withoutCounters,
	},
}

// order is a transaction with the hot counter, unless the peer is the measure
// that has none.
func (c *client) order(ctx context.Context, work time.Duration, log bool) error {
	counted := c.peer != noCounter
	err := c.transaction(ctx, func(s *sqlStore, tx session) error {
		if log {
			if err := one(tx.ExecContext(ctx, "INSERT INTO log (post_id) VALUES (?)", hotID)); err != nil {
				return err
			}
		}
		if counted {
			if err := s.incrementIn(ctx, tx, hotID); err != nil {
				return err
			}
		}
		time.Sleep(work)
		return nil
	})
	if err == nil && counted {
		c.count(hotID)
	}
	if err == nil && log {
		c.logged.Add(1)
	}
	return err
}

func (c *client) four(ctx context.Context, read bool) error {
	ids := c.of(4, 8)
	err := c.transaction(ctx, func(s *sqlStore, tx session) error {
		for _, id := range ids {
			if read {
				if _, err := s.readIn(ctx, tx, id); err != nil {
					return err
				}
			}
			if err := s.incrementIn(ctx, tx, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		c.count(ids...)
	}
	return err
}

var errTooLow = errors.New("a read shows fewer increments than were acknowledged before it")

func readBack(ctx context.Context, c *client) error {
	id := c.popular()
	err := c.transaction(ctx, func(s *sqlStore, tx session) error {
		if err := s.incrementIn(ctx, tx, id); err != nil {
			return err
		}
		_, err := s.readIn(ctx, tx, id)
		return err
	})
	if err == nil {
		c.count(id)
	}
	return err
}

func mixed(ctx context.Context, c *client) error {
	id := c.popular()
	if c.rng.IntN(10) == 0 {
		return c.increment(ctx, id)
	}
	atLeast := c.expected[id].Load()
	likes, err := c.store.read(ctx, id)
	if err == nil && likes < atLeast {
		err = fmt.Errorf("%w: counter %d is %d, not %d", errTooLow, id, likes, atLeast)
	}
	return err
}

func withoutCounters(ctx context.Context, c *client) error {
	var body string
	if err := c.sql().db.QueryRowContext(ctx, "SELECT body FROM note WHERE id = ?", c.rng.IntN(min(c.counters(), notes))+1).Scan(&body); err != nil {
		return err
	}
	if len(body) != titleLength {
		return fmt.Errorf("the body is %q", body)
	}
	return nil
}

// workloadOf is the workload of a name.
func workloadOf(name string) *workload {
	for i := range allWorkloads {
		if allWorkloads[i].name == name {
			return &allWorkloads[i]
		}
	}
	return nil
}

func workloadNames() (names []string) {
	for _, w := range allWorkloads {
		names = append(names, w.name)
	}
	return names
}

func chooseWorkloads(s settings) (chosen []*workload, err error) {
	for i := range allWorkloads {
		w := &allWorkloads[i]
		if s.only == nil || s.only.MatchString(w.name) {
			chosen = append(chosen, w)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("-only %s matches none of %s", s.only, strings.Join(workloadNames(), ", "))
	}
	return chosen, nil
}
