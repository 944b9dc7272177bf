package main

import (
	"context"

	gormmysql "gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

var (
	pair = []peer{plain, counterMySQL}

	// coldPeers show besides what it takes to wait for no row.
	coldPeers = []peer{plain, unwaiting, counterMySQL}

	// forumPeers show besides what is gained if nobody counts, and what it takes to look for slots.
	forumPeers = []peer{plain, looking, counterMySQL, noCounter}
)

const forumQuestions = 20_000

func forumPoint(s settings) []point {
	return []point{{x: 12, clients: 12, slots: defaultSlots, counters: min(forumQuestions, 2*s.rows)}}
}

// cold shows what the driver costs where no row is hot.
var cold = []workload{
	{
		name: "coldlone", title: "Nothing is hot: increments, autocommit", axis: clientsAxis, peers: coldPeers, points: forumRows(coldRows, 1, 4), rounds: 2,
		about: "UPDATE post SET likes = likes + 1 WHERE id = ?, uniform over 2,000 rows, as in all that follows. Rows not waited for: plain, which has the server refuse a lock that another client has.",
		do:    func(ctx context.Context, c *client) error { return c.increment(ctx, c.uniform()) },
	},
	{
		name: "coldrow", title: "Nothing is hot: a row and an increment in a transaction", axis: clientsAxis, peers: coldPeers, points: forumRows(coldRows, 1, 16), rounds: 2, logs: true,
		about: "BeginTx, INSERT of a row into another table, increment, Commit; nobody asks RowsAffected.",
		do:    func(ctx context.Context, c *client) error { return c.row(ctx, false) },
	},
	{
		name: "coldasked", title: "Nothing is hot: the same, RowsAffected asked", axis: clientsAxis, peers: pair, points: forumRows(coldRows, 1, 16), rounds: 2, logs: true,
		about: "The same, and the application asks RowsAffected of the increment.",
		do:    func(ctx context.Context, c *client) error { return c.row(ctx, true) },
	},
	{
		name: "coldgorm", title: "Nothing is hot: the same through GORM", axis: clientsAxis, peers: pair, points: forumRows(coldRows, 1, 16), rounds: 2, logs: true,
		about: "db.Transaction with Create and UpdateColumn(likes, gorm.Expr(likes + 1)).",
		do:    func(ctx context.Context, c *client) error { return c.rowByGORM(ctx) },
	},
	{
		name: "coldtwo", title: "Nothing is hot: two counters of two tables in a transaction", axis: clientsAxis, peers: coldPeers, points: forumRows(coldRows, 1, 16), rounds: 2, forum: true,
		about: "BeginTx, INSERT of a vote, increments of a question and of its author, Commit. Rows not waited for: plain, which locks the first row shared, and changes both with the second increment, in one order, so that nobody ever waits for a row.",
		do:    func(ctx context.Context, c *client) error { return c.vote(ctx, c.uniform()) },
	},
	{
		name: "coldedit", title: "Nothing is hot: an edit of a row", axis: clientsAxis, peers: pair, points: forumRows(coldRows, 16), rounds: 2,
		about: "UPDATE post SET title = ? WHERE id = ?, autocommit.",
		do: func(ctx context.Context, c *client) error {
			return c.retry(func() error {
				return one(c.sql().db.ExecContext(ctx, "UPDATE post SET title = ? WHERE id = ?", title(c.rng.Uint64()), c.uniform()))
			})
		},
	},
	{
		name: "coldguard", title: "Nothing is hot: guarded decrements", axis: clientsAxis, peers: signedPeers, points: forumRows(coldRows, 16), rounds: 2,
		about: "UPDATE post SET likes = likes - 1 WHERE id = ? AND likes >= 1, autocommit, where there is enough. Slots looked for: plain, with `" + unlessSlots + "` behind it.",
		fill:  fillStock(plenty), do: func(ctx context.Context, c *client) error { return c.buy(ctx, c.uniform(), true) },
	},
	{
		name: "coldlocked", title: "Nothing is hot: a row is locked, and written", axis: clientsAxis, peers: pair, points: forumRows(coldRows, 1, 16), rounds: 2,
		about: "BeginTx, SELECT likes … WHERE id = ? FOR UPDATE, UPDATE post SET likes = ? WHERE id = ?, Commit: as applications keep balances.",
		do:    func(ctx context.Context, c *client) error { return c.lockAndSet(ctx) },
	},
	{
		name: "coldlist", title: "Nothing is hot: three rows by their keys", axis: clientsAxis, peers: pair, points: forumRows(coldRows, 16), rounds: 2,
		about: "UPDATE post SET likes = 0, title = ? WHERE id IN (?, ?, ?), autocommit: the exact way.",
		do: func(ctx context.Context, c *client) error {
			return c.retry(func() error {
				id := c.uniform()
				_, err := c.sql().db.ExecContext(ctx, "UPDATE post SET likes = 0, title = ? WHERE id IN (?, ?, ?)", title(c.rng.Uint64()), id, id+1, id+2)
				return err
			})
		},
	},
	{
		name: "coldsubquery", title: "Nothing is hot: a subquery that reads no counter", axis: clientsAxis, peers: pair, points: forumRows(coldRows, 16), rounds: 2, forum: true,
		about: "UPDATE member SET name = ? WHERE id = (SELECT member_id FROM question WHERE id = ?), autocommit; both tables have counters.",
		do: func(ctx context.Context, c *client) error {
			return c.retry(func() error {
				return one(c.sql().db.ExecContext(ctx, "UPDATE member SET name = ? WHERE id = (SELECT member_id FROM question WHERE id = ?)", title(c.rng.Uint64())[titleLength-20:], c.uniform()))
			})
		},
	},
	{
		name: "forum", title: "A forum, nothing hot", axis: clientsAxis, peers: forumPeers, points: forumPoint, rounds: 3, forum: true, fill: fillForum,
		about: "12 clients: the best and the newest questions, pages with their answers and a view each, votes (a row and two counters), edits, accepted answers, members by points, the number of unanswered questions. 20,000 questions, Zipf. No counter: no view, score or points; slots looked for: plain, whose reads ask `(SELECT MIN(id) IS NOT NULL FROM question_slots)` besides, and whose views and votes have the server refuse a row that another client has, before they wait for it.",
		do:    mixedForum(false),
	},
	{
		name: "forumhot", title: "A forum with one hot question", axis: clientsAxis, peers: forumPeers, points: forumPoint, rounds: 3, forum: true, fill: fillForum,
		about: "The same; a quarter of the votes go to one question.",
		do:    mixedForum(true),
	},
}

// plenty is more than a run takes.
const plenty = 1_000_000_000

// row is a row and an increment.
func (c *client) row(ctx context.Context, ask bool) error {
	id := c.uniform()
	err := c.transaction(ctx, func(s *sqlStore, tx session) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO log (post_id) VALUES (?)", id); err != nil {
			return err
		}
		result, err := s.addIn(ctx, tx, "UPDATE post SET likes = likes + 1 WHERE id = ?", "post", id)
		if err != nil || !ask {
			return err
		}
		return one(result, nil)
	})
	if err == nil {
		c.count(id)
		c.logged.Add(1)
	}
	return err
}

// lockAndSet reads a counter under lock and writes what it comes to.
func (c *client) lockAndSet(ctx context.Context) error {
	id := c.uniform()
	err := c.transaction(ctx, func(s *sqlStore, tx session) error {
		var n int64
		if err := tx.QueryRowContext(ctx, "SELECT likes FROM post WHERE id = ? FOR UPDATE", id).Scan(&n); err != nil {
			return err
		}
		return one(tx.ExecContext(ctx, "UPDATE post SET likes = ? WHERE id = ?", n+1, id))
	})
	if err == nil {
		c.count(id)
	}
	return err
}

// logRow is a row of log, as GORM has it.
type logRow struct {
	ID     int64
	PostID int
}

func (logRow) TableName() string { return "log" }

type postRow struct{ ID int }

func (postRow) TableName() string { return "post" }

func (c *client) rowByGORM(ctx context.Context) error {
	if c.orm == nil {
		orm, err := gorm.Open(gormmysql.New(gormmysql.Config{Conn: c.sql().db, SkipInitializeWithVersion: true}), &gorm.Config{Logger: logger.Discard})
		if err != nil {
			return err
		}
		c.orm = orm
	}
	id := c.uniform()
	err := c.retry(func() error {
		return c.orm.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
			if err := tx.Create(&logRow{PostID: id}).Error; err != nil {
				return err
			}
			return tx.Model(&postRow{ID: id}).UpdateColumn("likes", gorm.Expr("likes + 1")).Error
		})
	})
	if err == nil {
		c.count(id)
		c.logged.Add(1)
	}
	return err
}
