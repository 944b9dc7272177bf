package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// The application of the chapters "nothing is hot" and "few rows have slots":
// questions with nine counters, their answers, votes and tags, and members with
// their points.

// questionCounters are the counters of a question.
var questionCounters = []string{"score", "answers", "views", "favorites", "comments", "flags", "shares", "edits", "links"}

// forumCounted are the tables that have counters.
var forumCounted = []string{"question", "member", "answer"}

// forumCounters are all counters of the forum, as the DSN names them.
func forumCounters() []string {
	names := []string{"member.points", "answer.score"}
	for _, c := range questionCounters {
		names = append(names, "question."+c)
	}
	return names
}

const (
	answersPerQuestion = 2
	tagsPerQuestion    = 2
	forumTags          = 50
	scoreStep          = 37  // makes scores that differ from row to row
	scoresBelow        = 401 // so that a score is shared by many rows of a large table
	unanswered         = 20  // one question of so many
)

// forumTables makes the forum with as many questions as members.
func forumTables(rows int) []string {
	counters := ""
	for _, c := range questionCounters {
		counters += ", " + c + " INT NOT NULL DEFAULT 0"
	}
	return []string{
		"CREATE TABLE @member (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL, points INT NOT NULL DEFAULT 0, INDEX (points)) ENGINE=InnoDB",
		"CREATE TABLE @question (id INT PRIMARY KEY, member_id INT NOT NULL, title VARCHAR(100) NOT NULL, created DATETIME NOT NULL" + counters +
			", INDEX (score), INDEX (answers), INDEX (created), INDEX (member_id)) ENGINE=InnoDB",
		"CREATE TABLE @answer (id INT PRIMARY KEY AUTO_INCREMENT, question_id INT NOT NULL, member_id INT NOT NULL, body VARCHAR(200) NOT NULL, " +
			"accepted TINYINT NOT NULL DEFAULT 0, score INT NOT NULL DEFAULT 0, INDEX (question_id)) ENGINE=InnoDB",
		"CREATE TABLE @vote (id BIGINT AUTO_INCREMENT PRIMARY KEY, question_id INT NOT NULL, member_id INT NOT NULL) ENGINE=InnoDB",
		"CREATE TABLE @tag (question_id INT NOT NULL, name INT NOT NULL, PRIMARY KEY (name, question_id), INDEX (question_id)) ENGINE=InnoDB",
		"BEGIN",
		"INSERT INTO @member (id, name, points) SELECT id, CONCAT('member ', id), 0 FROM @post",
		fmt.Sprintf("INSERT INTO @question (id, member_id, title, created, score, answers) SELECT id, id, title, "+
			"'2026-01-01' + INTERVAL id MINUTE, id * %d %% %d, IF(id %% %d = 0, 0, %d) FROM @post", scoreStep, scoresBelow, unanswered, answersPerQuestion),
		fmt.Sprintf("INSERT INTO @answer (question_id, member_id, body) SELECT q.id, (q.id + n.n * 7) %% %d + 1, q.title FROM @question q JOIN (SELECT 1 n UNION SELECT 2) n "+
			"WHERE q.answers > 0", rows),
		fmt.Sprintf("INSERT INTO @tag SELECT q.id, (q.id + n.n) %% %d FROM @question q JOIN (SELECT 1 n UNION SELECT 2) n", forumTags),
		"COMMIT",
	}
}

// forumRows has points at numbers of clients.
func forumRows(rows func(settings) int, clients ...int) func(settings) []point {
	return func(s settings) (points []point) {
		for _, n := range clients {
			points = append(points, point{x: n, clients: n, slots: defaultSlots, counters: rows(s)})
		}
		return points
	}
}

func coldRows(s settings) int { return min(2_000, s.rows) }

// countsForum is how often a contestant counts what there is to count: once, or not at all.
func (c *contestant) countsForum() int64 {
	if c.peer == noCounter {
		return 0
	}
	return 1
}

// checkForum compares the counters of the forum with the rows that they count.
func checkForum(ctx context.Context, c *contestant) error {
	var votes, scores, views, points int64
	db := c.sql().db
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM vote").Scan(&votes); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, fmt.Sprintf("SELECT SUM(score - id * %d %% %d), SUM(views) FROM question", scoreStep, scoresBelow)).Scan(&scores, &views); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, "SELECT SUM(points) FROM member").Scan(&points); err != nil {
		return err
	}
	for _, sum := range []struct {
		what      string
		is, shall int64
	}{{"scores", scores, votes * c.countsForum()}, {"votes", votes, c.votes.Load()}, {"views", views, c.views.Load()}, {"points", points, c.points.Load()}} {
		if sum.is != sum.shall {
			return fmt.Errorf("%w: %d %s, not %d", errWrongCount, sum.is, sum.what, sum.shall)
		}
	}
	return nil
}

// mixedForum is one of the things that visitors of a forum do.
func mixedForum(hot bool) func(ctx context.Context, c *client) error {
	return func(ctx context.Context, c *client) error {
		db := c.sql().db
		switch n := c.rng.IntN(100); {
		case n < 20: // the best
			return c.readForum(ctx, "SELECT q.id, q.title, q.score, q.answers, m.name FROM question q JOIN member m ON m.id = q.member_id ORDER BY q.score DESC LIMIT 20")
		case n < 35: // the newest
			return c.readForum(ctx, "SELECT q.id, q.title, q.score, q.answers, q.views FROM question q ORDER BY q.created DESC LIMIT 20")
		case n < 70: // a page, with its view
			id := c.popular()
			if err := c.readForum(ctx, "SELECT * FROM question WHERE id = ?", id); err != nil {
				return err
			}
			if err := c.readForum(ctx, "SELECT a.id, a.body, a.score, m.name, m.points FROM answer a JOIN member m ON m.id = a.member_id WHERE a.question_id = ?", id); err != nil {
				return err
			}
			if c.peer == noCounter {
				return nil
			}
			s, tries := c.sql(), 0
			err := c.retry(func() error {
				return one(c.patient(s, &tries).addIn(ctx, db, "UPDATE question SET views = views + 1 WHERE id = ?", "question", id))
			})
			if err == nil {
				c.views.Add(1)
			}
			return err
		case n < 85:
			id := c.popular()
			if hot && c.rng.IntN(4) == 0 {
				id = hotID
			}
			return c.vote(ctx, id)
		case n < 90: // an edit
			id := c.popular()
			return c.retry(func() error {
				_, err := db.ExecContext(ctx, "UPDATE question SET title = ? WHERE id = ?", title(c.rng.Uint64()), id)
				return err
			})
		case n < 93:
			return c.accept(ctx, c.popular())
		case n < 97: // the most eager members
			return c.readForum(ctx, "SELECT id, name, points FROM member ORDER BY points DESC LIMIT 20")
		default:
			return c.readForum(ctx, "SELECT COUNT(*) FROM question WHERE answers = 0")
		}
	}
}

// patient is the store, by hand from the second try on one that waits: by then ours writes a slot.
func (c *client) patient(s *sqlStore, tries *int) *sqlStore {
	if *tries++; *tries > 1 && c.peer == looking {
		return s.waiting()
	}
	return s
}

// readForum reads all rows of a query; by hand it asks besides whether the tables that have counters
// have slots.
func (c *client) readForum(ctx context.Context, query string, args ...any) error {
	if c.peer == looking {
		asks := ""
		for _, name := range forumCounted {
			if strings.Contains(query, " "+name+" ") {
				asks += ", (SELECT MIN(id) IS NOT NULL FROM " + name + "_slots)"
			}
		}
		query = strings.Replace(query, " FROM ", asks+" FROM ", 1)
	}
	return readAll(ctx, c.sql().db, query, args...)
}

// fillForum makes the slots tables that are looked at by hand, each with a row.
func fillForum(ctx context.Context, c *contestant) error {
	if c.peer != looking {
		return nil
	}
	var statements []string
	for _, name := range forumCounted {
		table := c.database + "." + name + "_slots"
		statements = append(statements, slotsByHand(table, "n"), "INSERT INTO "+table+" VALUES (1, 0, 0)")
	}
	return c.server.exec(ctx, statements...)
}

// vote is a row, a point for the question, and one for its author.
func (c *client) vote(ctx context.Context, id int) error {
	tries := 0
	err := c.transaction(ctx, func(s *sqlStore, tx session) error {
		s = c.patient(s, &tries)
		if err := one(tx.ExecContext(ctx, "INSERT INTO vote (question_id, member_id) VALUES (?, 1)", id)); err != nil || c.peer == noCounter {
			return err
		}
		point := func() error {
			return one(s.addIn(ctx, tx, "UPDATE question SET score = score + 1 WHERE id = ?", "question", id))
		}
		author := func() error {
			return one(s.addIn(ctx, tx, "UPDATE member SET points = points + 1 WHERE id = ?", "member", id))
		}
		if s.noWait != "" {
			return c.inOneOrder(ctx, tx, id, author, point)
		}
		if err := point(); err != nil {
			return err
		}
		return author()
	})
	if err == nil {
		c.votes.Add(1)
		c.points.Add(c.countsForum())
	}
	return err
}

// inOneOrder gives the points of a vote so that no two transactions ever wait for each other, in
// whichever order they come: what tells whether the first row is there changes nothing, and holds
// it; the rows are changed with the last one, in the order of their tables.
func (c *client) inOneOrder(ctx context.Context, tx session, id int, author, point func() error) error {
	share := "FOR SHARE NOWAIT"
	if c.server.name == "MariaDB" {
		share = "LOCK IN SHARE MODE NOWAIT"
	}
	var score int
	if err := tx.QueryRowContext(ctx, "SELECT score FROM question WHERE id = ? "+share, id).Scan(&score); err != nil {
		return err
	}
	if err := author(); err != nil {
		return err
	}
	return point()
}

const pointsForAccepted = 15

// accept marks the first answer of a question, and gives its author points.
func (c *client) accept(ctx context.Context, id int) error {
	found := false
	err := c.transaction(ctx, func(_ *sqlStore, tx session) error {
		var answer, author int
		err := tx.QueryRowContext(ctx, "SELECT id, member_id FROM answer WHERE question_id = ? ORDER BY id LIMIT 1", id).Scan(&answer, &author)
		if found = err == nil; !found {
			if errors.Is(err, sql.ErrNoRows) {
				return nil
			}
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE answer SET accepted = 1 WHERE id = ?", answer); err != nil || c.peer == noCounter {
			return err
		}
		return one(tx.ExecContext(ctx, "UPDATE member SET points = points + ? WHERE id = ?", pointsForAccepted, author))
	})
	if err == nil && found {
		c.points.Add(pointsForAccepted * c.countsForum())
	}
	return err
}

// title is as wide as all of them.
func title(n uint64) string { return fmt.Sprintf("%0*d", titleLength, n) }

// readAll reads rows as an application does, into values of its own.
func readAll(ctx context.Context, q session, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values, into := make([]sql.RawBytes, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	n := 0
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		n++
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if n == 0 && !strings.Contains(query, "answer") {
		return fmt.Errorf("no row: %s", query)
	}
	return nil
}
