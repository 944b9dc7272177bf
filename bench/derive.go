package main

import (
	"context"
	"time"

	"github.com/countermysql/countermysql"
)

var derivingPeers = []peer{byTrigger, derived}

// deriving counts the comments of one post, with a foreign key to it, as applications have it.
var deriving = []workload{
	{
		name: "derived", title: "Comments on one post, counted by a trigger", axis: clientsAxis, peers: derivingPeers, points: commenters, rounds: 2,
		about: "INSERT INTO comment (post_id) VALUES (1), autocommit, with a foreign key to the post. Trigger on the base row: one written by hand, UPDATE post SET likes = likes + 1 WHERE id = NEW.post_id. What a deadlock has undone is tried again.",
		fill:  fillComments, do: func(ctx context.Context, c *client) error { return c.comment(ctx, 0) },
	},
	{
		name: "derivedwork", title: "The same in a transaction with 5 ms of other work", axis: clientsAxis, peers: derivingPeers, points: commenters, rounds: 2,
		about: "BeginTx, the same INSERT, 5 ms of other work that does not concern the database, Commit.",
		fill:  fillComments, do: func(ctx context.Context, c *client) error { return c.comment(ctx, otherWork) },
	},
}

func commenters(settings) (points []point) {
	for _, n := range []int{1, 32} {
		points = append(points, point{x: n, clients: n, slots: defaultSlots, counters: 1})
	}
	return points
}

// fillComments makes the table of comments, and what counts them.
func fillComments(ctx context.Context, c *contestant) error {
	table := "CREATE TABLE " + c.database + ".comment (id BIGINT AUTO_INCREMENT PRIMARY KEY, post_id INT NOT NULL, FOREIGN KEY (post_id) REFERENCES " + c.database + ".post (id)) ENGINE=InnoDB"
	if !c.peer.ours() {
		return c.server.exec(ctx, table, "CREATE TRIGGER "+c.database+".counting AFTER INSERT ON "+c.database+".comment FOR EACH ROW UPDATE "+c.database+".post SET likes = likes + 1 WHERE id = NEW.post_id")
	}
	if err := c.server.exec(ctx, table); err != nil {
		return err
	}
	return c.configure(ctx, countermysql.TableConfig{Table: "post", Counters: []string{"likes"}, Derived: map[string]string{"likes": "SELECT post_id, COUNT(*) FROM comment GROUP BY post_id"}})
}

// comment comments on the post, in a transaction if there is other work.
func (c *client) comment(ctx context.Context, work time.Duration) error {
	const insert = "INSERT INTO comment (post_id) VALUES (?)"
	do := func(s *sqlStore, q session) error {
		err := one(q.ExecContext(ctx, insert, hotID))
		if err == nil {
			time.Sleep(work)
		}
		return err
	}
	var err error
	if work == 0 {
		err = c.retry(func() error { return do(c.sql(), c.sql().db) })
	} else {
		err = c.transaction(ctx, do)
	}
	if err == nil {
		c.count(hotID)
	}
	return err
}
