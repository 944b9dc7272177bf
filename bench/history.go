package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/countermysql/countermysql"
)

var (
	historyPeers = []peer{counterMySQL, withHistory}

	// historyWriters show besides what the row of a history costs on plain MySQL.
	historyWriters = []peer{plain, historyByHand, counterMySQL, withHistory}
)

// histories show what a history costs: who writes, who reads, and who writes beside a rollup of
// another table that has one.
var histories = []workload{
	{
		name: "history", title: "One hot counter with a history, autocommit", axis: clientsAxis, peers: historyWriters, points: historyPoints(oneCounter), rounds: 2,
		about: "UPDATE post SET likes = likes + 1 WHERE id = 1, by all clients, where each change that reaches the row is written to the history of its hour. History by hand: by a trigger of three lines, as one would write it.",
		fill:  fillHistory, do: func(ctx context.Context, c *client) error { return c.increment(ctx, hotID) },
	},
	{
		name: "historycold", title: "Uniform over many counters with a history, autocommit", axis: clientsAxis, peers: historyWriters, points: historyPoints(manyCounters), rounds: 2,
		about: "The same, over 10,000 counters, each as often.",
		fill:  fillHistory, do: func(ctx context.Context, c *client) error { return c.increment(ctx, c.uniform()) },
	},
	{
		name: "historyread", title: "A counter with a long history, read", axis: noAxis, peers: historyPeers, points: loneClient, rounds: 2,
		about: "SELECT likes FROM post WHERE id = ?, by one client, of 100 posts with a history of 90 days of 24 hours.",
		fill: func(ctx context.Context, c *contestant) error {
			if err := fillHistory(ctx, c); err != nil || c.peer != withHistory {
				return err
			}
			return c.fillIntervals(ctx, "post", 100, 90*24)
		},
		do: func(ctx context.Context, c *client) error {
			_, err := c.store.read(ctx, c.rng.IntN(100)+1)
			return err
		},
	},
	{
		name: "historyday", title: "One hot counter beside a rollup of many keys with a history", axis: clientsAxis, peers: []peer{withHistory, rollingUp}, points: besideRollup, rounds: 4,
		about: "Increments of the hot counter by all clients. Rolled up: meanwhile another process rolls up another table, as it does in the background, of which 10,000 keys have four slots each and a history.",
		fill:  fillDay, do: func(ctx context.Context, c *client) error { return c.increment(ctx, hotID) },
		beside: func(ctx context.Context, c *contestant) (func() error, error) {
			if c.peer != rollingUp {
				return nil, nil
			}
			return c.rollUpDay(ctx, "day_slots",
				fmt.Sprintf("INSERT INTO %s.day_slots (id, slot, likes) WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 3) SELECT id, n, 1 FROM %[1]s.day, numbers ON DUPLICATE KEY UPDATE %[1]s.day_slots.likes = 1", c.database))
		},
	},
	{
		name: "historykeep", title: "One hot counter beside a history that forgets a day", axis: clientsAxis, peers: []peer{withHistory, forgetting}, points: besideRollup, rounds: 4,
		about: "The same. Forgotten: meanwhile another process removes what is older than keep says from the history of another table, 24 intervals of 10,000 keys.",
		fill:  fillDay, do: func(ctx context.Context, c *client) error { return c.increment(ctx, hotID) },
		beside: func(ctx context.Context, c *contestant) (func() error, error) {
			if c.peer != forgetting {
				return nil, nil
			}
			if err := c.fillIntervals(ctx, "day", c.counters(), 24); err != nil {
				return nil, err
			}
			return c.rollUpDay(ctx, "day_history")
		},
	},
}

func historyPoints(counters func(settings) int) func(settings) []point {
	return func(s settings) (points []point) {
		for _, n := range s.upTo(1, 32, 256) {
			points = append(points, point{x: n, clients: n, slots: defaultSlots, counters: counters(s)})
		}
		return points
	}
}

// besideRollup has as many counters as the other table has keys; one is used.
func besideRollup(s settings) []point {
	return []point{{x: 32, clients: 32, slots: defaultSlots, counters: manyCounters(s)}}
}

// fillHistory has post keep a history, unless the peer has none.
func fillHistory(ctx context.Context, c *contestant) error {
	if !c.peer.ours() {
		if c.peer == plain {
			return nil
		}
		history := c.database + ".post_history"
		return c.server.exec(ctx,
			"CREATE TABLE "+history+" (id INT NOT NULL, bucket DATETIME NOT NULL, likes BIGINT NOT NULL, PRIMARY KEY (id, bucket)) ENGINE=InnoDB",
			"CREATE TRIGGER "+c.database+".writing AFTER UPDATE ON "+c.database+".post FOR EACH ROW INSERT INTO "+history+
				" VALUES (NEW.id, DATE_FORMAT(NOW(), '%Y-%m-%d %H:00:00'), NEW.likes - OLD.likes) ON DUPLICATE KEY UPDATE likes = "+history+".likes + NEW.likes - OLD.likes")
	}
	post := countermysql.TableConfig{Table: "post", Counters: []string{"likes"}}
	if c.peer != counterMySQL {
		post.History = &countermysql.History{}
	}
	return c.configure(ctx, post)
}

// fillDay is that, and makes the other table.
func fillDay(ctx context.Context, c *contestant) error {
	err := c.server.exec(ctx,
		fmt.Sprintf("CREATE TABLE %s.day (id INT PRIMARY KEY, likes BIGINT NOT NULL DEFAULT 0)", c.database),
		fmt.Sprintf("INSERT INTO %s.day (id) WITH RECURSIVE digits (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM digits WHERE n < 99) SELECT 1 + a.n * 100 + b.n FROM digits a, digits b WHERE a.n * 100 + b.n < %d", c.database, c.counters()))
	if err != nil {
		return err
	}
	return errors.Join(fillHistory(ctx, c), c.asAnother(ctx, countermysql.RollupNever, func(db *sql.DB) error {
		_, err := countermysql.Init(ctx, db, nil)
		return err
	}))
}

// fillIntervals gives each of so many keys a row in each of so many hours, which ended a year ago.
func (c *contestant) fillIntervals(ctx context.Context, table string, keys, hours int) error {
	return c.server.exec(ctx, fmt.Sprintf("INSERT INTO %s.%s_history (id, bucket, likes) WITH RECURSIVE digits (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM digits WHERE n < 99) "+
		"SELECT keyed.id, TIMESTAMP'2025-01-01 00:00:00' - INTERVAL 100 * a.n + b.n HOUR, 1 FROM %[1]s.%[2]s AS keyed, digits AS a, digits AS b WHERE keyed.id <= %[3]d AND 100 * a.n + b.n < %[4]d ON DUPLICATE KEY UPDATE likes = 1",
		c.database, table, keys, hours))
}

// asAnother runs f as another process, which has the other table alone.
func (c *contestant) asAnother(ctx context.Context, rollup time.Duration, f func(db *sql.DB) error) error {
	db, err := c.connect(ctx, 1, &countermysql.Config{Rollup: rollup, Tables: []countermysql.TableConfig{
		{Table: "day", Counters: []string{"likes"}, History: &countermysql.History{Keep: 24 * time.Hour}},
	}})
	if err != nil {
		return err
	}
	return errors.Join(f(db), db.Close())
}

// rollUpDay fills the other table's slots, and returns when a rollup has taken rows out of a table. It goes on until
// stop is called.
func (c *contestant) rollUpDay(ctx context.Context, outOf string, fill ...string) (stop func() error, err error) {
	if err := c.server.exec(ctx, fill...); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	began, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- c.asAnother(ctx, time.Second, func(db *sql.DB) error {
			for most := int64(0); ; time.Sleep(10 * time.Millisecond) {
				var rows, likes int64
				if err := db.QueryRowContext(ctx, "SELECT COUNT(*), (SELECT likes FROM day WHERE id = 1) FROM "+outOf).Scan(&rows, &likes); err != nil { // who has asked for nothing knows no table
					return err
				}
				if most = max(most, rows); rows < most {
					break
				}
			}
			close(began)
			<-ctx.Done()
			return nil
		})
	}()
	stop = func() error {
		cancel()
		return <-ended
	}
	select {
	case <-began:
		return stop, nil
	case err := <-ended:
		cancel()
		return nil, err
	}
}
