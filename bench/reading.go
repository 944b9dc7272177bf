package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// reading shows what reads cost a lone client, where slots are filled.
var reading = []workload{
	{
		name: "point", title: "Read one counter", axis: noAxis, peers: []peer{plain, handWritten, counterMySQL, rolledUp}, points: filledPoint, rounds: 2,
		about: "SELECT likes FROM post WHERE id = ?, of counters with 16 filled slots; rolled up: with none.",
		kept:  true, fill: fillSlots, do: readPoint,
	},
	{
		name: "list", title: "Read a list of 24 counters", axis: noAxis, peers: []peer{plain, handWritten, counterMySQL, rolledUp}, points: filledPoint, rounds: 2,
		about: "SELECT id, likes FROM post WHERE id IN (24 of them), of counters with 16 filled slots; rolled up: with none.",
		kept:  true, fill: fillSlots, do: readList,
	},
	{
		name: "top", title: "Read the top 10 of many rows", axis: noAxis, peers: []peer{plain, noIndex, handWritten, counterMySQL, rolledUp},
		about: "SELECT id, likes FROM post ORDER BY likes DESC LIMIT 10, of 100,000 rows with an index on likes, of which every tenth has 16 filled slots.",
		points: func(s settings) []point {
			return []point{{x: 1, clients: 1, slots: defaultSlots, counters: s.topRows}}
		},
		indexed: true, kept: true, fill: fillSlots, do: readTop,
	},
}

func filledPoint(s settings) []point {
	return []point{{x: 1, clients: 1, slots: defaultSlots, counters: s.rows}}
}

const (
	filledEvery = 10 // every tenth counter has slots
	filledBase  = 1_000_003
	filledStep  = 7919
	filledSlot  = 1 // in each of them
)

// filledLikes is the value of a counter, wherever it is kept. It is no multiple
// of anything, so that the order by likes is not that of the ids.
func filledLikes(id, slots int) int64 {
	n := int64(id) * filledStep % filledBase
	if id%filledEvery == 0 {
		n += int64(slots) * filledSlot
	}
	return n
}

// fillSlots gives all counters their values: where there are slots, partly in
// slots.
func fillSlots(ctx context.Context, c *contestant) error {
	inSlots, table := false, "post_slots"
	switch {
	case c.peer.handWritten:
		inSlots, table = true, "hand_slots"
	case c.peer == counterMySQL:
		inSlots = true
	}
	base := fmt.Sprintf("id * %d %% %d", filledStep, filledBase)
	if !inSlots {
		base += fmt.Sprintf(" + IF(id %% %d = 0, %d, 0)", filledEvery, c.point.slots*filledSlot)
	}
	statements := []string{fmt.Sprintf("UPDATE %s.post SET likes = %s", c.database, base)}
	if inSlots {
		for i := range c.point.slots {
			statements = append(statements, fmt.Sprintf("INSERT INTO %s.%s (id, slot, likes) SELECT id, %d, %d FROM %[1]s.post WHERE id %% %[5]d = 0",
				c.database, table, i, filledSlot, filledEvery))
		}
	}
	if err := c.server.exec(ctx, statements...); err != nil {
		return err
	}
	for _, name := range []string{"post", table} {
		if name == "post" || inSlots {
			if err := c.analyze(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// filled is any counter with slots.
func (c *client) filled() int { return (c.rng.IntN(c.counters()/filledEvery) + 1) * filledEvery }

func readPoint(ctx context.Context, c *client) error {
	id := c.filled()
	likes, err := c.store.read(ctx, id)
	return same(err, id, likes, c.point.slots)
}

func same(err error, id int, likes int64, slots int) error {
	if want := filledLikes(id, slots); err == nil && likes != want {
		return fmt.Errorf("%w: counter %d is %d, not %d", errWrongCount, id, likes, want)
	}
	return err
}

const listLength = 24

var listQuery = " FROM post p WHERE p.id IN (?" + strings.Repeat(", ?", listLength-1) + ")"

func readList(ctx context.Context, c *client) error {
	args := make([]any, listLength)
	first := c.rng.IntN(c.counters()/filledEvery-listLength+1) + 1
	for i := range args {
		args[i] = (first + i) * filledEvery
	}
	s := c.sql()
	var wrong error
	n := 0
	err := each(ctx, s.db, "SELECT p.id, "+s.likes()+listQuery, args, func(id int, likes int64) {
		n++
		if wrong == nil {
			wrong = same(nil, id, likes, c.point.slots)
		}
	})
	if err == nil && wrong == nil && n != listLength {
		wrong = fmt.Errorf("%w: the list has %d rows, not %d", errWrongCount, n, listLength)
	}
	if err != nil {
		return err
	}
	return wrong
}

const topLength = 10

// topLikes are the highest values.
func topLikes(counters, slots int) []int64 {
	all := make([]int64, counters)
	for i := range all {
		all[i] = filledLikes(i+1, slots)
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all[:topLength]
}

func readTop(ctx context.Context, c *client) error {
	s := c.sql()
	var top []int64
	err := each(ctx, s.db, fmt.Sprintf("SELECT p.id, %s AS likes FROM post p ORDER BY likes DESC LIMIT %d", s.likes(), topLength), nil,
		func(_ int, likes int64) { top = append(top, likes) })
	if err != nil {
		return err
	}
	if c.top == nil {
		c.top = topLikes(c.counters(), c.point.slots)
	}
	if !slices.Equal(top, c.top) {
		return fmt.Errorf("%w: the top is %v, not %v", errWrongCount, top, c.top)
	}
	return nil
}
