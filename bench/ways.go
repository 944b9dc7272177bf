package main

import (
	"time"

	"github.com/countermysql/countermysql"
)

// way is how a counter is kept. Its SQL stands in docs/ways-of-counting.md, too.
type way struct {
	peer      peer
	tables    []string // what is made beside post
	slots     int      // an increment chooses one of so many, as its second argument
	increment string
	read      string
	rows      string        // counts what a read adds up; "": one row
	rollUp    []string      // of the post ?, in one session; nil: nothing can be rolled up
	flush     time.Duration // increments are added up in memory and stored once an interval
	config    *countermysql.TableConfig
}

const (
	updatePost = "UPDATE post SET likes = likes + 1 WHERE id = ?"
	readPost   = "SELECT likes FROM post WHERE id = ?"
	storePost  = "UPDATE post SET likes = likes + ? WHERE id = ?" // of a buffer in memory
	insertLike = "INSERT INTO post_like (post_id) VALUES (?)"

	likeTable  = "CREATE TABLE post_like (id BIGINT AUTO_INCREMENT PRIMARY KEY, post_id INT NOT NULL, KEY (post_id))"
	slotsTable = "CREATE TABLE post_slot (post_id INT, slot SMALLINT, likes BIGINT NOT NULL, PRIMARY KEY (post_id, slot))"
	slotRows   = "SELECT COUNT(*) FROM post_slot"
)

// ours is a way of this project's driver: an application's SQL with a configuration.
func ours(p peer, config countermysql.TableConfig) way {
	config.Table, config.Counters = "post", []string{"likes"}
	return way{peer: p, increment: updatePost, read: readPost, rows: "SELECT COUNT(*) FROM post_slots", config: &config}
}

// allWays in the order of the page.
var allWays = []way{
	{peer: plain, increment: updatePost, read: readPost},
	{
		peer: rowsCounted, tables: []string{likeTable}, increment: insertLike,
		read: "SELECT COUNT(*) FROM post_like WHERE post_id = ?",
		rows: "SELECT COUNT(*) FROM post_like",
	},
	{
		peer: rowsMarked,
		tables: []string{
			"CREATE TABLE post_like (id BIGINT AUTO_INCREMENT PRIMARY KEY, post_id INT NOT NULL, batch BIGINT NOT NULL DEFAULT 0, KEY waiting (batch, post_id))",
			"CREATE TABLE like_batch (id INT PRIMARY KEY, last BIGINT NOT NULL)",
			"INSERT INTO like_batch VALUES (1, 0)",
		},
		increment: insertLike,
		read:      "SELECT likes + (SELECT COUNT(*) FROM post_like WHERE batch = 0 AND post_id = post.id) FROM post WHERE id = ?",
		rows:      "SELECT COUNT(*) FROM post_like WHERE batch = 0",
		rollUp: []string{
			"SET TRANSACTION ISOLATION LEVEL READ COMMITTED", // else it locks the gap into which everybody inserts
			"BEGIN",
			"UPDATE like_batch SET last = last + 1",
			"SELECT last INTO @batch FROM like_batch",
			"UPDATE post_like FORCE INDEX (waiting) SET batch = @batch WHERE batch = 0 LIMIT 1000",
			"UPDATE post JOIN (SELECT post_id, COUNT(*) AS n FROM post_like WHERE batch = @batch GROUP BY post_id) taken ON post.id = taken.post_id SET likes = likes + n",
			"COMMIT",
		},
	},
	{
		peer: tablesExchanged,
		tables: []string{
			"CREATE TABLE like_in (id BIGINT AUTO_INCREMENT PRIMARY KEY, post_id INT NOT NULL, KEY (post_id))",
			"CREATE TABLE like_out LIKE like_in",
			"CREATE TABLE like_state (id INT PRIMARY KEY, counted BOOL NOT NULL)",
			"INSERT INTO like_state VALUES (1, FALSE)",
		},
		increment: "INSERT INTO like_in (post_id) VALUES (?)",
		read: "SELECT likes + (SELECT COUNT(*) FROM like_in WHERE post_id = post.id)" +
			" + (SELECT COUNT(*) FROM like_out, like_state WHERE post_id = post.id AND NOT counted) FROM post WHERE id = ?",
		rows: "SELECT (SELECT COUNT(*) FROM like_in) + (SELECT COUNT(*) FROM like_out)",
		// As TRUNCATE is in no transaction, counted says that like_out is in post already: this
		// may end anywhere, and the next begins where it ended.
		rollUp: []string{
			"SET lock_wait_timeout = 1", // who comes behind a RENAME that waits, waits too
			"BEGIN",
			"UPDATE post JOIN (SELECT post_id, COUNT(*) AS n FROM like_out GROUP BY post_id) waiting ON post.id = waiting.post_id JOIN like_state ON NOT counted SET likes = likes + n",
			"UPDATE like_state SET counted = TRUE",
			"COMMIT",
			"TRUNCATE TABLE like_out",
			"UPDATE like_state SET counted = FALSE",
			"RENAME TABLE like_in TO like_swap, like_out TO like_in, like_swap TO like_out",
		},
	},
	{
		peer: slotsBeforehand, slots: 100,
		tables: []string{
			slotsTable,
			"INSERT INTO post_slot (post_id, slot, likes) WITH RECURSIVE slots (slot) AS (SELECT 0 UNION ALL SELECT slot + 1 FROM slots WHERE slot < 99) SELECT id, slot, 0 FROM post, slots",
		},
		increment: "UPDATE post_slot SET likes = likes + 1 WHERE post_id = ? AND slot = ?",
		read:      "SELECT SUM(likes) FROM post_slot WHERE post_id = ?",
		rows:      slotRows,
	},
	{
		peer: handWritten, slots: defaultSlots, tables: []string{slotsTable},
		increment: "INSERT INTO post_slot (post_id, slot, likes) VALUES (?, ?, 1) ON DUPLICATE KEY UPDATE likes = likes + 1",
		read:      "SELECT likes + COALESCE((SELECT SUM(s.likes) FROM post_slot s WHERE s.post_id = post.id), 0) FROM post WHERE id = ?",
		rows:      slotRows,
		rollUp: []string{ // under REPEATABLE READ: the gaps are locked too, so that DELETE meets no slot that was not summed
			"BEGIN",
			"SELECT SUM(likes) INTO @sum FROM post_slot WHERE post_id = ? FOR UPDATE",
			"UPDATE post SET likes = likes + COALESCE(@sum, 0) WHERE id = ?",
			"DELETE FROM post_slot WHERE post_id = ?",
			"COMMIT",
		},
	},
	{peer: redisAlways},
	{peer: redisEverySecond},
	{peer: bufferInMemory, read: readPost, flush: time.Second},
	ours(counterMySQL, countermysql.TableConfig{}),
	ours(withHistory, countermysql.TableConfig{History: &countermysql.History{}}),
	ours(withBuffer, countermysql.TableConfig{Buffered: &countermysql.Buffered{}}),
	derivedWay(),
}

// derivedWay counts the rows of a table, whose INSERT is the increment: the same as of the rows
// that are counted on read.
func derivedWay() way {
	w := ours(derived, countermysql.TableConfig{Derived: map[string]string{"likes": "SELECT post_id, COUNT(*) FROM post_like GROUP BY post_id"}})
	w.tables, w.increment = []string{likeTable}, insertLike
	return w
}

// rollsUp reports whether there is something to roll up.
func (w *way) rollsUp() bool { return w.rollUp != nil || w.config != nil }

func wayOf(p peer) *way {
	for i := range allWays {
		if allWays[i].peer == p {
			return &allWays[i]
		}
	}
	return nil
}

func wayPeers() (peers []peer) {
	for _, w := range allWays {
		peers = append(peers, w.peer)
	}
	return peers
}
