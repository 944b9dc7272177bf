package main

import (
	"context"
	"fmt"
	"strings"
)

// few shows what reads cost a lone client where few rows of a large table have
// slots, and (rolled up) where none has.
var few = []workload{
	readOnly("fewtop", "Few rows with slots: 20 first by a counter without an index",
		"SELECT id, title, views FROM question ORDER BY views DESC LIMIT 20",
		"SELECT q.id, q.title, q.views + COALESCE(s.views, 0) AS views FROM question q LEFT JOIN (SELECT id, SUM(views) AS views FROM question_slots GROUP BY id) s ON s.id = q.id ORDER BY views DESC LIMIT 20"),
	readOnly("fewtopindex", "Few rows with slots: 20 first by a counter with an index",
		"SELECT id, title, score FROM question ORDER BY score DESC LIMIT 20", slotsWithBase),
	readOnly("fewcount", "Few rows with slots: a number of rows by a counter with an index",
		"SELECT COUNT(*) FROM question WHERE answers = 0", slotsWithBase),
	readOnly("fewgroup", "Few rows with slots: grouped by the primary key, ordered by a counter",
		"SELECT q.id, q.title, q.score, q.answers FROM question q JOIN tag t ON t.question_id = q.id WHERE t.name IN (3, 4) GROUP BY q.id ORDER BY q.score DESC LIMIT 20",
		"SELECT q.id, q.title, q.score + COALESCE(s.score, 0) AS score, q.answers + COALESCE(s.answers, 0) AS answers FROM question q LEFT JOIN (SELECT id, SUM(score) AS score, SUM(answers) AS answers FROM question_slots GROUP BY id) s ON s.id = q.id "+
			"JOIN tag t ON t.question_id = q.id WHERE t.name IN (3, 4) GROUP BY q.id, s.score, s.answers ORDER BY score DESC LIMIT 20"),
	readOnly("fewjoin", "Few rows with slots: 20 first by date, with their authors",
		"SELECT q.id, q.title, q.score, m.name, m.points FROM question q JOIN member m ON m.id = q.member_id ORDER BY q.created DESC LIMIT 20", slotsWithBase),
	readByKey("keynine", "By key, a row with nine counters", "SELECT * FROM question WHERE id = ?", 0),
	readByKey("keybeside", "By key, a row with nine counters beside rows with slots", "SELECT * FROM question WHERE id = ?", 1),
	readPrepared("keyone", "By key, one counter, prepared", "SELECT score FROM question WHERE id = ?"),
	readByKey("pageone", "A page of 20 rows, one counter", "SELECT id, title, score FROM question WHERE id BETWEEN ? AND ? + 19", 0),
	readByKey("pagenine", "A page of 20 rows, nine counters", "SELECT * FROM question WHERE id BETWEEN ? AND ? + 19", 0),
	readByKey("keytitle", "By key, a column that is no counter", "SELECT title FROM question WHERE id = ?", 0),
}

var (
	fewPeers = []peer{plain, counterMySQL, rolledUp}

	// fewBounds show besides what it takes by hand.
	fewBounds = []peer{plain, addedByHand, counterMySQL, rolledUp}
)

const (
	fewEvery = 100 // every hundredth question has slots
	fewSlots = 4   // so many of them

	// slotsWithBase looks at what decides a list or a number of rows beside an index on the base
	// column, and does nothing with it.
	slotsWithBase = "SELECT SUM(q.score + s.score) FROM (SELECT id, SUM(score) AS score FROM question_slots GROUP BY id) s JOIN question q ON q.id = s.id"
)

// fewPoint has half as many questions as topRows.
func fewPoint(slots int) func(settings) []point {
	return func(s settings) []point {
		return []point{{x: 1, clients: 1, slots: slots, counters: max(s.topRows/2, 2*fewEvery)}}
	}
}

func readOnly(name, title, query, byHand string) workload {
	return workload{
		name: name, title: title, axis: noAxis, peers: fewBounds, points: fewPoint(fewSlots), rounds: 2, forum: true, kept: true,
		about: query + ". 50,000 questions, of which 500 have 4 slots; rolled up: none. Slots added up by hand: " + byHand + ".",
		fill:  fillFew,
		do: func(ctx context.Context, c *client) error {
			if c.peer == addedByHand {
				return readAll(ctx, c.sql().db, byHand)
			}
			return readAll(ctx, c.sql().db, query)
		},
	}
}

// readByKey begins at a row with 16 slots, or so many rows behind it.
func readByKey(name, title, query string, behind int) workload {
	begins := "begins at a row with 16 slots"
	if behind > 0 {
		begins = "is of a row that has none"
	}
	return workload{
		name: name, title: title, axis: noAxis, peers: fewPeers, points: fewPoint(defaultSlots), rounds: 2, forum: true, kept: true,
		about: query + ". 500 of 50,000 rows have slots, and it " + begins + "; rolled up: none has.",
		fill:  fillFew,
		do: func(ctx context.Context, c *client) error {
			id := c.slotted() + behind
			return readAll(ctx, c.sql().db, query, []any{id, id}[:strings.Count(query, "?")]...)
		},
	}
}

// slotted is the id of a question with slots.
func (c *client) slotted() int { return (c.rng.IntN(c.counters()/fewEvery-1) + 1) * fewEvery }

// readPrepared is readByKey of one number, by a statement that a client prepares once.
func readPrepared(name, title, query string) workload {
	w := readByKey(name, title, query, 0)
	w.do = func(ctx context.Context, c *client) error {
		if c.prepared == nil {
			var err error
			if c.prepared, err = c.sql().db.PrepareContext(ctx, query); err != nil {
				return err
			}
		}
		var value int64
		return c.prepared.QueryRowContext(ctx, c.slotted()).Scan(&value)
	}
	return w
}

// slotsByHand makes a slots table that only peers read.
func slotsByHand(table string, counters ...string) string {
	return fmt.Sprintf("CREATE TABLE %s (id INT NOT NULL, slot SMALLINT UNSIGNED NOT NULL, %s BIGINT NOT NULL, PRIMARY KEY (id, slot)) ENGINE=InnoDB",
		table, strings.Join(counters, " BIGINT NOT NULL, "))
}

// fillFew gives every hundredth question 1 in each slot of each counter, or as
// much in its row. Then it reads all of them.
func fillFew(ctx context.Context, c *contestant) error {
	counters, ones, more := strings.Join(questionCounters, ", "), strings.Repeat(", 1", len(questionCounters)), ""
	for i, name := range questionCounters {
		if i > 0 {
			more += ", "
		}
		more += fmt.Sprintf("%s = %[1]s + %d", name, c.point.slots)
	}
	statements := []string{fmt.Sprintf("UPDATE %s.question SET views = id * %d %% %d", c.database, filledStep, filledBase)}
	hasSlots := c.peer == counterMySQL || c.peer == addedByHand
	if c.peer == addedByHand {
		statements = append(statements, slotsByHand(c.database+".question_slots", questionCounters...))
	}
	if hasSlots {
		for i := range c.point.slots {
			statements = append(statements, fmt.Sprintf("INSERT INTO %s.question_slots (id, slot, %s) SELECT id, %d%s FROM %[1]s.question WHERE id %% %[5]d = 0",
				c.database, counters, i, ones, fewEvery))
		}
	}
	if c.peer != counterMySQL {
		statements = append(statements, fmt.Sprintf("UPDATE %s.question SET %s WHERE id %% %d = 0", c.database, more, fewEvery))
	}
	if err := c.server.exec(ctx, statements...); err != nil {
		return err
	}
	names := []string{"question"}
	if hasSlots {
		names = append(names, "question_slots")
	}
	for _, name := range names {
		if err := c.analyze(ctx, name); err != nil {
			return err
		}
	}
	var wrong int
	err := c.sql().db.QueryRowContext(ctx, fmt.Sprintf("SELECT COUNT(*) FROM question WHERE score <> id * %d %% %d + IF(id %% %d = 0, %d, 0)",
		scoreStep, scoresBelow, fewEvery, c.point.slots)).Scan(&wrong)
	if err == nil && wrong > 0 {
		err = fmt.Errorf("%w: the scores of %d questions", errWrongCount, wrong)
	}
	return err
}
