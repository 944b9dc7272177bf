package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
)

const database = "countermysql_demo"

// setup is what an application changes: the driver's name, and parameters in
// the DSN.
type setup struct{ driver, params string }

// The others are compared to the first.
var setups = []setup{
	{"mysql", ""},
	{"countermysql", "counters=post.likes,post.views,page_view.views,item.stock&counterCreateSlots=true"},
}

// schema is a forum's. The counters have no index: plain MySQL would have to
// move its entry with every like.
var schema = []string{
	`CREATE TABLE user (
		id   INT AUTO_INCREMENT PRIMARY KEY,
		name VARCHAR(40) NOT NULL UNIQUE
	) ENGINE=InnoDB`,
	`CREATE TABLE post (
		id      INT AUTO_INCREMENT PRIMARY KEY,
		user_id INT NOT NULL,
		title   VARCHAR(100) NOT NULL,
		likes   INT NOT NULL DEFAULT 0,
		views   BIGINT UNSIGNED NOT NULL DEFAULT 0,
		FOREIGN KEY (user_id) REFERENCES user (id)
	) ENGINE=InnoDB`,
	`CREATE TABLE like_log (
		id      BIGINT AUTO_INCREMENT PRIMARY KEY,
		post_id INT NOT NULL,
		user_id INT NOT NULL,
		KEY (post_id)
	) ENGINE=InnoDB`,
	`CREATE TABLE like_log_fk (
		id      BIGINT AUTO_INCREMENT PRIMARY KEY,
		post_id INT NOT NULL,
		user_id INT NOT NULL,
		FOREIGN KEY (post_id) REFERENCES post (id),
		FOREIGN KEY (user_id) REFERENCES user (id)
	) ENGINE=InnoDB`,
	`CREATE TABLE page_view (
		day   DATE,
		page  VARCHAR(100),
		views BIGINT UNSIGNED NOT NULL DEFAULT 0,
		PRIMARY KEY (day, page)
	) ENGINE=InnoDB`,
	`CREATE TABLE item (
		id    INT AUTO_INCREMENT PRIMARY KEY,
		stock INT UNSIGNED NOT NULL
	) ENGINE=InnoDB`,
}

const (
	users, posts = 100, 500

	hotPost   = 1
	hotPostFK = 2 // its likes are logged with a foreign key
	hotPage   = "/post/1"
	today     = "2026-01-01"

	item, inStock = 1, 50_000
)

// fill makes the forum in an empty database. All counters begin at 0.
func fill(ctx context.Context, db *sql.DB) error {
	var names, titles []string
	for i := range users {
		names = append(names, fmt.Sprintf("('user %d')", i+1))
	}
	for i := range posts {
		titles = append(titles, fmt.Sprintf("(%d, 'post %d')", i%users+1, i+1))
	}
	for _, s := range slices.Concat(schema, []string{
		"INSERT INTO user (name) VALUES " + strings.Join(names, ", "),
		"INSERT INTO post (user_id, title) VALUES " + strings.Join(titles, ", "),
		fmt.Sprintf("INSERT INTO item (id, stock) VALUES (%d, %d)", item, inStock),
	}) {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// workload is what all clients do at once. The statements know nothing of
// slots: they are the same for both drivers.
type workload struct {
	name  string
	about string

	// do does it once, to the end. It counts the deadlocks on the way.
	do func(ctx context.Context, db *sql.DB, client int, deadlocks *atomic.Int64) error
}

const otherWork = 2 * time.Millisecond

var workloads = []workload{
	{"like", "BEGIN; INSERT INTO like_log …; UPDATE post SET likes = likes + 1\n" +
		"WHERE id = 1; 2 ms of other work; COMMIT", liker("like_log", hotPost)},
	{"like, FK", "the same, where like_log has a foreign key to post: the INSERT locks\n" +
		"the post shared, the UPDATE exclusively. What a deadlock undoes is\n" +
		"tried again at once", liker("like_log_fk", hotPostFK)},
	{"page view", "UPDATE post SET views = views + 1 WHERE id = 1; INSERT INTO page_view\n" +
		"… ON DUPLICATE KEY UPDATE views = views + 1; both in autocommit", viewPage},
	{"buy", fmt.Sprintf("UPDATE item SET stock = stock - 1 WHERE id = 1 AND stock >= 1, in\n"+
		"autocommit, until the %d in stock are sold out", inStock), buy},
	{"report", "SELECT … FROM post ORDER BY likes DESC LIMIT 10; SELECT SUM(likes),\n" +
		"SUM(views) FROM post; a quarter of the time", report},
}

// The indexes of workloads.
const (
	likeRun = iota
	likeFKRun
	viewRun
	buyRun
	reportRun
)

func liker(log string, post int) func(context.Context, *sql.DB, int, *atomic.Int64) error {
	return func(ctx context.Context, db *sql.DB, client int, deadlocks *atomic.Int64) error {
		return retry(deadlocks, func() error {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			if _, err := tx.ExecContext(ctx, "INSERT INTO "+log+" (post_id, user_id) VALUES (?, ?)", post, client%users+1); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, "UPDATE post SET likes = likes + 1 WHERE id = ?", post); err != nil {
				return err
			}
			time.Sleep(otherWork)
			return tx.Commit()
		})
	}
}

// viewPage is two statements in autocommit: each is tried again alone.
func viewPage(ctx context.Context, db *sql.DB, _ int, deadlocks *atomic.Int64) error {
	err := retry(deadlocks, func() error {
		_, err := db.ExecContext(ctx, "UPDATE post SET views = views + 1 WHERE id = ?", hotPost)
		return err
	})
	if err != nil {
		return err
	}
	return retry(deadlocks, func() error {
		_, err := db.ExecContext(ctx, "INSERT INTO page_view (day, page, views) VALUES (?, ?, 1) ON DUPLICATE KEY UPDATE views = views + 1", today, hotPage)
		return err
	})
}

// errSoldOut ends a workload before its time.
var errSoldOut = errors.New("sold out")

func buy(ctx context.Context, db *sql.DB, _ int, deadlocks *atomic.Int64) error {
	return retry(deadlocks, func() error {
		res, err := db.ExecContext(ctx, "UPDATE item SET stock = stock - 1 WHERE id = ? AND stock >= 1", item)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 1 {
			return err
		}
		return errSoldOut
	})
}

// retry tries again whatever a deadlock has undone, as applications do.
func retry(deadlocks *atomic.Int64, try func() error) error {
	for {
		err := try()
		var refusal *mysql.MySQLError
		if !errors.As(err, &refusal) || refusal.Number != 1213 {
			return err
		}
		deadlocks.Add(1)
	}
}

func report(ctx context.Context, db *sql.DB, _ int, _ *atomic.Int64) error {
	_, _, err := readReport(ctx, db)
	return err
}

// readReport reads the top posts, and returns the totals.
func readReport(ctx context.Context, db *sql.DB) (likes, views int64, err error) {
	rows, err := db.QueryContext(ctx, "SELECT title, likes, views FROM post ORDER BY likes DESC, id LIMIT 10")
	if err != nil {
		return 0, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var title string
		if err := rows.Scan(&title, &likes, &views); err != nil {
			return 0, 0, err
		}
	}
	if err := rows.Err(); err != nil {
		return 0, 0, err
	}
	err = db.QueryRowContext(ctx, "SELECT SUM(likes), SUM(views) FROM post").Scan(&likes, &views)
	return likes, views, err
}
