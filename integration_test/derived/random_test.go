package derived

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// randomScripts are played in a run of the tests, from the same seed in each;
// COUNTERMYSQL_SOAK=30m plays fresh ones for so long.
const randomScripts = 8

// player is a client that writes posts and comments of its own, so that it waits for no other:
// posts begin with first, comments with 1,000 times that.
type player struct {
	name  string
	conn  *sql.Conn
	first int
	ours  bool
	open  bool // a transaction
	wrote bool // in it, so that its reads lock
	saved bool

	repeatable bool // READ
}

func (p *player) post(r *rand.Rand) int    { return p.first + r.IntN(4) }
func (p *player) comment(r *rand.Rand) int { return p.first*1000 + r.IntN(60) }

// statements are what a player may do next. Likes are written to a twin of theirs as well,
// which is no counter.
func (p *player) statements(r *rand.Rand) []string {
	post, comment := p.post(r), p.comment(r)
	status := []string{"public", "hidden"}[r.IntN(2)]
	amount := []string{"NULL", "0", "1.25", "-3.5", "7"}[r.IntN(5)]
	row := func() string {
		return fmt.Sprintf("(%d, %d, '%s', %s)", p.comment(r), p.post(r), status, amount)
	}
	// Of small tables servers scan the primary key, too, and lock what they pass.
	own := fmt.Sprintf("post_id = %d AND id BETWEEN %d AND %d", post, p.first*1000, p.first*1000+500)
	const into = "comment (id, post_id, status, amount) VALUES "
	likes := func(format string, args ...any) []string {
		update := fmt.Sprintf(format, args...)
		return []string{"UPDATE post " + update, "UPDATE shadow " + update}
	}
	kind := r.IntN(22)
	if !p.ours && kind >= 14 && kind <= 18 { // clients without the driver must not do that
		kind = 12
	}
	if p.open && kind == 18 { // TestAcceptedMadeAgain
		kind = 9
	}
	switch kind {
	case 0, 1, 2:
		return []string{"INSERT IGNORE INTO " + into + row()}
	case 3:
		return []string{"INSERT IGNORE INTO " + into + row() + ", " + row() + ", " + row()}
	case 4:
		return []string{"REPLACE INTO " + into + row() + ", " + row()}
	case 5:
		return []string{"INSERT INTO " + into + row() + " ON DUPLICATE KEY UPDATE post_id = VALUES(post_id), amount = 2"}
	case 6:
		return []string{fmt.Sprintf("UPDATE comment SET post_id = %d WHERE id = %d", post, comment)}
	case 7:
		return []string{fmt.Sprintf("UPDATE comment SET post_id = NULL WHERE id = %d", comment)}
	case 8:
		return []string{fmt.Sprintf("UPDATE comment SET status = '%s', amount = %s WHERE ", status, amount) + own}
	case 9:
		return []string{fmt.Sprintf("DELETE FROM comment WHERE id = %d", comment)}
	case 10:
		return []string{"DELETE FROM comment WHERE " + own + " ORDER BY id LIMIT 2"}
	case 11:
		return []string{"INSERT IGNORE INTO comment (id, post_id, status, amount) SELECT id + 5, post_id, status, amount FROM comment WHERE " + own}
	case 12, 13:
		return likes("SET likes = likes + %d WHERE id = %d", 1+r.IntN(3), post)
	case 14:
		return likes("SET likes = likes - 1 WHERE id = %d AND likes >= 1", post)
	case 15:
		return likes("SET likes = %d WHERE id = %d", r.IntN(3), post)
	case 16:
		return []string{fmt.Sprintf("UPDATE post SET title = CONCAT(comments, '%s') WHERE id = %d", status, post)}
	case 17:
		return []string{fmt.Sprintf("SELECT likes, comments FROM post WHERE id = %d FOR UPDATE", post)}
	case 18: // the row is gone, and comes again
		last := p.first + 3
		return []string{fmt.Sprintf("DELETE FROM comment WHERE post_id = %d AND id >= %d AND id <= %d", last, p.first*1000, p.first*1000+900), fmt.Sprintf("DELETE FROM post WHERE id = %d", last), fmt.Sprintf("DELETE FROM shadow WHERE id = %d", last),
			fmt.Sprintf("INSERT INTO post (id, likes) VALUES (%d, 2)", last), fmt.Sprintf("INSERT INTO shadow (id, likes) VALUES (%d, 2)", last)}
	case 19: // not under REPEATABLE READ, where InnoDB locks the gaps of rows that are rolled back
		if p.repeatable {
			return []string{fmt.Sprintf("SELECT likes FROM post WHERE id = %d", post)}
		}
		if p.saved {
			return []string{"ROLLBACK TO SAVEPOINT a"}
		}
		p.saved = p.open
		return []string{"SAVEPOINT a"}
	case 20, 21:
		p.saved, p.wrote, p.repeatable = false, false, false
		if p.open {
			p.open = false
			return []string{[]string{"COMMIT", "COMMIT", "ROLLBACK"}[r.IntN(3)]}
		}
		p.open, p.repeatable = true, r.IntN(2) == 0
		level := "READ COMMITTED"
		if p.repeatable {
			level = "REPEATABLE READ"
		}
		return []string{"SET SESSION TRANSACTION ISOLATION LEVEL " + level, "BEGIN"}
	}
	panic("unreachable")
}

// look are a query of counters, and one of what they have to be.
func (p *player) look(r *rand.Rand) (counters, truth string) {
	const of = "(SELECT COUNT(*) FROM comment c WHERE c.post_id = p.id AND c.status = 'public')"
	const earned = "(SELECT CAST(COALESCE(SUM(c.amount), 0) AS DECIMAL(12,2)) FROM comment c WHERE c.post_id = p.id)"
	post, kind := p.post(r), r.IntN(5)
	if p.wrote && kind != 3 {
		kind = 0 // others may keep their rows locked
	}
	switch kind {
	case 0:
		return fmt.Sprintf("SELECT comments FROM post WHERE id = %d", post), fmt.Sprintf("SELECT "+of+" FROM shadow p WHERE id = %d", post)
	case 1:
		return "SELECT SUM(likes), SUM(comments), SUM(earned) FROM post",
			"SELECT SUM(p.likes), (SELECT COUNT(*) FROM comment WHERE post_id IS NOT NULL AND status = 'public'), (SELECT CAST(COALESCE(SUM(amount), 0) AS DECIMAL(12,2)) FROM comment WHERE post_id IS NOT NULL) FROM shadow p"
	case 2:
		return "SELECT id FROM post WHERE comments > 1 ORDER BY comments DESC, id LIMIT 5", "SELECT id FROM (SELECT p.id, " + of + " AS n FROM shadow p) x WHERE n > 1 ORDER BY n DESC, id LIMIT 5"
	case 3:
		if p.open {
			return fmt.Sprintf("SELECT likes, comments, earned FROM post WHERE id = %d FOR UPDATE", post), fmt.Sprintf("SELECT likes, "+of+", "+earned+" FROM shadow p WHERE id = %d", post)
		}
	}
	return "SELECT id, likes, comments, earned FROM post ORDER BY id", "SELECT id, likes, " + of + ", " + earned + " FROM shadow p ORDER BY id"
}

// TestRandomWrites proves that after each of many statements, of two clients with the driver and
// one without, with transactions, savepoints, old snapshots and rollups between, each of them
// reads counters that are what the formulas say of the comments that it sees, and that a history
// of them adds up.
func TestRandomWrites(t *testing.T) {
	seed, _ := strconv.ParseUint(os.Getenv("COUNTERMYSQL_RANDOM_SEED"), 10, 64)
	end := time.Now().Add(harness.Soak(t))
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := posts()
		config.Tables[0].History = &countermysql.History{}
		tw := harness.NewTwin(t, srv, schema, config)
		harness.ExecAll(t, tw.Direct, "DELETE FROM comment;\nDELETE FROM post;\nCREATE TABLE shadow (id INT PRIMARY KEY, likes INT NOT NULL)")
		initialized(t, tw.Ours)
		for script := uint64(0); script < randomScripts || time.Now().Before(end); script++ {
			playRandom(t, tw, seed+script)
		}
	})
}

func playRandom(t *testing.T, tw *harness.Twin, seed uint64) {
	t.Helper()
	ctx := context.Background()
	r := rand.New(rand.NewPCG(seed, 0))
	harness.ExecAll(t, tw.Direct, "DELETE FROM comment;\nDELETE FROM post_slots;\nDELETE FROM post;\nDELETE FROM shadow;\nDELETE FROM post_history")
	players := []*player{{name: "A", first: 1, ours: true}, {name: "B", first: 11, ours: true}, {name: "plain", first: 21}}
	for _, p := range players {
		db := tw.Direct
		if p.ours {
			db = tw.Ours
		}
		conn, err := db.Conn(ctx)
		require.NoError(t, err)
		defer conn.Close()
		p.conn = conn
		for id := p.first; id < p.first+4; id++ {
			harness.Affected(t, tw.Direct, "INSERT INTO post (id, likes) VALUES (?, 1)", id)
			harness.Affected(t, tw.Direct, "INSERT INTO shadow VALUES (?, 1)", id)
		}
		// It bounds what the players before and after lock of indexes.
		harness.Affected(t, tw.Direct, "INSERT INTO comment (id, post_id, status) VALUES (?, ?, 'hidden')", p.first*1000-1, p.first-1)
	}
	var played []string
	defer func() {
		if t.Failed() {
			t.Logf("seed %d:\n%s", seed, strings.Join(played, "\n"))
		}
	}()
	for range 120 {
		if r.IntN(12) == 0 {
			played = append(played, "rollup")
			_, err := countermysql.Rollup(ctx, tw.Ours, &countermysql.RollupOptions{MaxLock: time.Millisecond})
			require.NoError(t, err)
		}
		p := players[r.IntN(len(players))]
		p.wrote = p.open
		for _, stmt := range p.statements(r) {
			played = append(played, p.name+": "+stmt)
			_, err := p.conn.ExecContext(ctx, stmt)
			require.NoError(t, err, stmt)
		}
		if reader := players[r.IntN(len(players))]; reader.ours {
			counters, truth := reader.look(r)
			played = append(played, reader.name+": "+counters)
			require.Equal(t, rows(t, reader.conn, truth), rows(t, reader.conn, counters), "%s: %s", reader.name, counters)
		}
	}
	for _, p := range players {
		_, err := p.conn.ExecContext(ctx, "ROLLBACK")
		require.NoError(t, err)
	}
	requireExact(t, tw)
	const lasting = " WHERE id % 10 <> 4 GROUP BY id ORDER BY id" // the others have been deleted, perhaps
	require.Equal(t, rows(t, tw.Direct, "SELECT id, CAST(SUM(likes) AS SIGNED) AS likes, CAST(SUM(comments) AS SIGNED) AS comments, CAST(SUM(earned) AS DECIMAL(12,2)) AS earned FROM post"+lasting),
		rows(t, tw.Direct, "SELECT id, CAST(SUM(likes) AS SIGNED) AS likes, CAST(SUM(comments) AS SIGNED) AS comments, CAST(SUM(earned) AS DECIMAL(12,2)) AS earned FROM post_history"+lasting))
}
