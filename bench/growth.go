package main

import (
	"context"
	"strconv"
)

// growing shows what becomes of the speed when something gets larger.
var growing = []workload{
	{
		name: "slots", title: "More slots: one hot counter, autocommit", axis: slotsAxis, peers: []peer{handWritten, counterMySQL},
		about: "Increments of the hot counter by 256 clients in autocommit.",
		points: func(s settings) []point {
			return grow(s.slots, func(n int) point { return point{clients: last(s.clients), slots: n, counters: 1} })
		},
		do: func(ctx context.Context, c *client) error { return c.increment(ctx, hotID) },
	},
	{
		name: "slotswork", title: "More slots: transaction with one hot counter and 5 ms of other work", axis: slotsAxis, peers: []peer{handWritten, counterMySQL},
		about: "BeginTx, INSERT of a row into another table, increment of the hot counter, 5 ms of other work, Commit, by 32 clients.",
		points: func(s settings) []point {
			return grow(s.slots, func(n int) point { return point{clients: 32, slots: n, counters: 1} })
		},
		logs: true,
		do:   func(ctx context.Context, c *client) error { return c.order(ctx, otherWork, true) },
	},
	{
		name: "counters", title: "More counters: uniform, autocommit", axis: countersAxis, peers: []peer{plain, handWritten, counterMySQL},
		about: "Increments of any of the counters by 32 clients.",
		points: func(s settings) []point {
			return grow(s.counters, func(n int) point { return point{clients: 32, slots: defaultSlots, counters: n} })
		},
		do: func(ctx context.Context, c *client) error { return c.increment(ctx, c.uniform()) },
	},
	{
		name: "tables", title: "More configured tables: uniform, autocommit", axis: tablesAxis, peers: []peer{plain, counterMySQL},
		about: "Increments of any counter of any of the tables, of 100 rows each, by 32 clients.",
		points: func(s settings) []point {
			return grow(s.tables, func(n int) point { return point{clients: 32, slots: defaultSlots, tables: n} })
		},
		do: func(ctx context.Context, c *client) error { return c.increment(ctx, c.uniform()) },
	},
	{
		name: "texts", title: "More distinct texts: literals in the text, a lone client", axis: textsAxis, peers: []peer{plain, counterMySQL},
		about: "UPDATE post SET likes = likes + 1 WHERE id = 123, with the number in the text, by one client: each counter makes its own text.",
		points: func(s settings) []point {
			return grow(s.texts, func(n int) point { return point{clients: 1, slots: defaultSlots, counters: n} })
		},
		do: func(ctx context.Context, c *client) error {
			id := c.uniform()
			err := one(c.sql().db.ExecContext(ctx, "UPDATE post SET likes = likes + 1 WHERE id = "+strconv.Itoa(id)))
			if err == nil {
				c.count(id)
			}
			return err
		},
	},
}

func grow(values []int, at func(int) point) (points []point) {
	for _, n := range values {
		p := at(n)
		p.x = n
		points = append(points, p)
	}
	return points
}

func last(values []int) int { return values[len(values)-1] }
