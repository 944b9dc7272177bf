package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	shopPeers = []peer{plain, handWritten, counterMySQL, redisAlways}

	// signedPeers show besides what it takes to look whether a row has slots.
	signedPeers = []peer{plain, looking, counterMySQL}
)

// unlessSlots is what a condition on a counter that may be less than its base row asks besides.
const unlessSlots = " AND NOT EXISTS (SELECT 1 FROM post_slots WHERE post_slots.id = post.id)"

// shop sells from a stock by guarded decrements: how quickly many buyers of one item are
// served, or refused when it is sold out, and what that costs where nobody has to wait.
var shop = []workload{
	{
		name: "stock", title: "One item, bought by all", axis: clientsAxis, peers: shopPeers, points: buyers, rounds: 2,
		about: "UPDATE post SET likes = likes - 1 WHERE id = 1 AND likes >= 1, autocommit, where there is enough. Hand-written slots: the same of a slot, and of the next one where it is empty. Redis: GET and DECRBY in Lua.",
		fill:  fillStock(plenty), do: func(ctx context.Context, c *client) error { return c.buy(ctx, hotID, true) },
	},
	{
		name: "soldout", title: "One item, sold out", axis: clientsAxis, peers: shopPeers, points: buyers, rounds: 2,
		about: "The same, where nothing is left.",
		fill:  fillStock(0), do: func(ctx context.Context, c *client) error { return c.buy(ctx, hotID, false) },
	},
	{
		name: "takenback", title: "Likes, and likes taken back", axis: clientsAxis, peers: []peer{plain, counterMySQL}, points: buyers, rounds: 2,
		about: "As often UPDATE post SET likes = likes + 1 WHERE id = 1 and UPDATE post SET likes = GREATEST(likes - 1, 0) WHERE id = 1, autocommit.",
		fill:  fillStock(plenty), do: func(ctx context.Context, c *client) error {
			if c.rng.IntN(2) == 0 {
				return c.increment(ctx, hotID)
			}
			return c.takeBack(ctx, hotID)
		},
	},
	{
		name: "orders", title: "Orders of one item, in transactions", axis: clientsAxis, peers: []peer{plain, counterMySQL, reserving, noCounter}, rounds: 2,
		about:  "BeginTx, UPDATE post SET likes = likes - 1 WHERE id = 1 AND likes >= 1, where there is enough, INSERT of a row into another table, 5 ms of other work, Commit. The counter is UNSIGNED. No counter: the same without the UPDATE.",
		points: func(s settings) []point { return append(loneClient(s), buyers(s)[0]) }, unsigned: true, logs: true,
		fill: fillStock(plenty), do: func(ctx context.Context, c *client) error { return c.orderOne(ctx, hotID) },
	},
	loneBuyer("stocklone", "A lone buyer", true, "The same by one client, where there is enough. The counter is UNSIGNED: a base row that has enough tells that by itself."),
	loneBuyer("stocklonesigned", "A lone buyer, signed counter", false, "The same of a signed counter, which may be less than its base row. Slots looked for: plain, with `"+unlessSlots+"` behind it."),
	manyItems("stockuniform", "10,000 items, each as often", true, "By 16 clients, over 10,000 items, where there is enough. The counter is UNSIGNED."),
	manyItems("stockuniformsigned", "10,000 items, signed counter", false, "The same of a signed counter."),
}

func loneBuyer(name, title string, unsigned bool, about string) workload {
	return workload{
		name: name, title: title, axis: noAxis, peers: stockPeers(unsigned), points: loneClient, rounds: 4, about: about, unsigned: unsigned,
		fill: fillStock(plenty), do: func(ctx context.Context, c *client) error { return c.buy(ctx, hotID, true) },
	}
}

func manyItems(name, title string, unsigned bool, about string) workload {
	return workload{
		name: name, title: title, axis: clientsAxis, peers: stockPeers(unsigned), rounds: 4, about: about, unsigned: unsigned,
		points: func(s settings) []point { return []point{{x: 16, clients: 16, slots: defaultSlots, counters: s.rows}} },
		fill:   fillStock(plenty), do: func(ctx context.Context, c *client) error { return c.buy(ctx, c.uniform(), true) },
	}
}

func stockPeers(unsigned bool) []peer {
	if unsigned {
		return pair
	}
	return signedPeers
}

func buyers(s settings) (points []point) {
	for _, n := range s.upTo(32, 256) {
		points = append(points, point{x: n, clients: n, slots: defaultSlots, counters: 1})
	}
	return points
}

// fillStock gives every item so many, spread over its slots where there are some.
func fillStock(n int64) func(context.Context, *contestant) error {
	return func(ctx context.Context, c *contestant) error {
		for id := 1; id < len(c.expected); id++ {
			c.expected[id].Store(n)
		}
		if r, ok := c.store.(*redisStore); ok {
			return r.client.Set(ctx, redisKey(hotID), n, 0).Err()
		}
		if !c.peer.handWritten {
			statements := []string{fmt.Sprintf("UPDATE %s.post SET likes = %d", c.database, n)}
			if c.peer == looking {
				statements = append(statements, slotsByHand(c.database+".post_slots", "likes"))
			}
			return c.server.exec(ctx, statements...)
		}
		each := n / int64(c.point.slots)
		c.expected[hotID].Store(each * int64(c.point.slots))
		for slot := range c.point.slots {
			if err := c.server.exec(ctx, fmt.Sprintf("INSERT INTO %s.hand_slots (id, slot, likes) VALUES (%d, %d, %d)", c.database, hotID, slot, each)); err != nil {
				return err
			}
		}
		return nil
	}
}

var errSale = errors.New("an item was sold that was not there, or not sold that was")

// buy takes one of an item, which has to be there, or not.
func (c *client) buy(ctx context.Context, id int, there bool) error {
	var bought bool
	err := c.retry(func() (err error) {
		bought, err = c.take(ctx, id)
		return err
	})
	switch {
	case err != nil:
		return err
	case bought != there:
		return errSale
	case bought:
		c.expected[id].Add(-1)
	}
	return nil
}

// takeBack undoes a like.
func (c *client) takeBack(ctx context.Context, id int) error {
	err := c.retry(func() error {
		return one(c.store.(*sqlStore).db.ExecContext(ctx, "UPDATE post SET likes = GREATEST(likes - 1, 0) WHERE id = ?", id))
	})
	if err == nil {
		c.expected[id].Add(-1)
	}
	return err
}

func (c *client) take(ctx context.Context, id int) (bought bool, err error) {
	s, ok := c.store.(*sqlStore)
	if !ok {
		n, err := takeOne.Run(ctx, c.store.(*redisStore).client, []string{redisKey(id)}, 1).Int()
		return n == 1, err
	}
	if s.slots == 0 {
		text := "UPDATE post SET likes = likes - 1 WHERE id = ? AND likes >= 1"
		if c.peer == looking {
			text += unlessSlots
		}
		return changed(s.db.ExecContext(ctx, text, id))
	}
	first := rand.IntN(s.slots)
	for i := 0; i < s.slots && !bought && err == nil; i++ {
		bought, err = changed(s.db.ExecContext(ctx, "UPDATE hand_slots SET likes = likes - 1 WHERE id = ? AND slot = ? AND likes >= 1", id, (first+i)%s.slots))
	}
	return bought, err
}

// changed reports whether a statement has changed a row.
func changed(result sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

var takeOne = redis.NewScript(`
if tonumber(redis.call('GET', KEYS[1]) or '0') < tonumber(ARGV[1]) then return 0 end
redis.call('DECRBY', KEYS[1], ARGV[1])
return 1`)

// orderOne takes one of an item, which is there, and notes that, in one transaction.
func (c *client) orderOne(ctx context.Context, id int) error {
	counted := c.peer != noCounter
	err := c.transaction(ctx, func(s *sqlStore, tx session) error {
		if counted {
			if err := one(tx.ExecContext(ctx, "UPDATE post SET likes = likes - 1 WHERE id = ? AND likes >= 1", id)); err != nil {
				return err
			}
		}
		if err := one(tx.ExecContext(ctx, "INSERT INTO log (post_id) VALUES (?)", id)); err != nil {
			return err
		}
		time.Sleep(otherWork)
		return nil
	})
	if err != nil {
		return err
	}
	if counted {
		c.expected[id].Add(-1)
	}
	c.logged.Add(1)
	return nil
}
