package groups

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

const manyKeys = `
CREATE TABLE member (id INT PRIMARY KEY, points INT NOT NULL DEFAULT 0);
CREATE TABLE thread (id INT PRIMARY KEY, answers INT NOT NULL DEFAULT 0, seen DATETIME(3) NULL);
CREATE TABLE post (id INT PRIMARY KEY, title VARCHAR(9) NOT NULL DEFAULT '', likes INT NOT NULL DEFAULT 0, views INT UNSIGNED NULL DEFAULT 0);
CREATE TABLE tag (name VARCHAR(20) PRIMARY KEY, used DECIMAL(12,2) NOT NULL DEFAULT 0);
CREATE TABLE daily (day DATE, post INT, views INT NOT NULL DEFAULT 0, PRIMARY KEY (day, post));
CREATE TABLE log (id INT PRIMARY KEY AUTO_INCREMENT, post_id INT, member_id INT, FOREIGN KEY (post_id) REFERENCES post (id), FOREIGN KEY (member_id) REFERENCES member (id));
INSERT INTO member (id) VALUES (1), (2), (3), (4);
INSERT INTO thread (id) VALUES (1), (2);
INSERT INTO post (id, views) VALUES (1, 0), (2, 3), (3, NULL), (4, 0);
INSERT INTO tag (name) VALUES ('go'), ('It''s'), ('sql ');
INSERT INTO daily VALUES ('2026-11-25', 1, 0), ('2026-11-25', 2, 0)`

func manyCounters() *countermysql.Config {
	return cooling(&countermysql.Config{Tables: []countermysql.TableConfig{
		{Table: "member", Counters: []string{"points"}}, {Table: "thread", Counters: []string{"answers"}, Touch: []string{"seen"}}, {Table: "post", Counters: []string{"likes", "views"}},
		{Table: "tag", Counters: []string{"used"}}, {Table: "daily", Counters: []string{"views"}},
	}})
}

// TestDirectRows proves that the increments of a few cold rows in a transaction, of whatever
// tables and keys, go to their base rows in one statement right before COMMIT, and that all
// is as on plain MySQL, also where a row is gone, NULL or would leave its column's range.
func TestDirectRows(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=true", "interpolateParams=false", "clientFoundRows=true", "sql_safe_updates=1"} {
			tw := harness.NewTwin(t, srv, manyKeys, manyCounters(), params)
			for _, direct := range []struct {
				increments []string
				trips      int // where RowsAffected is not asked for; 0: a row has to be looked for, -1: one is gone
			}{
				{[]string{"UPDATE post SET likes = likes + 1 WHERE id = 1", "UPDATE member SET points = points + 5 WHERE id = 2"}, 4},
				{[]string{"UPDATE thread SET answers = answers + 5, seen = NOW WHERE id = 2", "UPDATE post SET likes = likes + 1, views = views + 2 WHERE id = 1"}, 0},
				{[]string{"UPDATE member SET points = points - 7 WHERE id = 1", "UPDATE member SET points = points + 7 WHERE id = 2"}, 4},
				{[]string{"UPDATE tag SET used = used + 1.25 WHERE name = 'GO'", "UPDATE tag SET used = used + 1 WHERE name = 'it''s'", "UPDATE tag SET used = used - 1 WHERE name = 'sql'"}, 0},
				{[]string{"UPDATE daily SET views = views + 1 WHERE day = '2026-11-25' AND post = 1", "UPDATE post SET views = views + 1 WHERE id = 1", "UPDATE tag SET used = used + 0.5 WHERE name = 'go'", "UPDATE member SET points = points + 1 WHERE id = 1"}, 0},
				{[]string{"UPDATE post SET views = views + 1 WHERE id = 3", "UPDATE member SET points = points + 1 WHERE id = 3", "UPDATE thread SET answers = answers + 1 WHERE id = 1"}, 0}, // NULL stays so
				{[]string{"UPDATE post SET likes = likes + 1 WHERE id = 99", "UPDATE member SET points = points + 1 WHERE id = 3"}, -1},
			} {
				for _, asked := range []bool{true, false} {
					now := time.Now().UTC().Format("'2006-01-02 15:04:05.000'")
					sent := tw.Sent.During(func() {
						answers := map[string][]string{}
						for name, db := range map[string]*sql.DB{"plain": tw.Plain, "ours": tw.Ours} {
							answers[name] = append(answers[name], fmt.Sprint(transact(db, func(tx *sql.Tx) error {
								if _, err := tx.Exec("INSERT INTO log (post_id) VALUES (NULL)"); err != nil {
									return err
								}
								for _, increment := range direct.increments {
									res, err := tx.Exec(strings.ReplaceAll(increment, "NOW", now))
									if err != nil {
										return err
									}
									if asked {
										n, err := res.RowsAffected()
										answers[name] = append(answers[name], fmt.Sprint(n, err))
									}
								}
								return nil
							})))
						}
						require.Equal(t, answers["plain"], answers["ours"], direct.increments)
					})
					for _, table := range []string{"member", "thread", "post", "tag", "daily"} {
						tw.Same(t, "SELECT * FROM "+table+" ORDER BY 1, 2")
						if direct.trips >= 0 {
							assert.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM "+table+"_slots"), "%s: %v", table, direct.increments)
						}
					}
					texts, changes := "", 0
					for _, s := range sent {
						texts += "\n" + s.Text
						if strings.Contains(s.Text, "_locked STRAIGHT_JOIN") {
							changes++
						}
					}
					if !asked && direct.trips > 0 {
						assert.Equal(t, 1, changes, texts)
						assert.Len(t, sent, direct.trips, texts)
					}
				}
			}
		}
	})
}
