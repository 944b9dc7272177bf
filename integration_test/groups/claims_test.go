package groups

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// votes counts a vote, and commits it.
func votes(tx *sql.Tx) error {
	for _, increment := range []string{voteBook, voteAuthor} {
		result, err := tx.Exec(increment)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); n != 1 || err != nil {
			return fmt.Errorf("%d rows: %w", n, err)
		}
	}
	return tx.Commit()
}

// TestVotesInTurn proves that of two transactions of a process which increment one row the second
// waits for the first, if that ends in a moment, and then changes the base rows as if it had been
// alone: nothing goes to slots, and the server has refused nothing.
func TestVotesInTurn(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, voted, votedCounters(), "interpolateParams=true")
		learnVotes(t, tw, voteBook, voteAuthor)
		inTurn := func() bool {
			first, second := begunVote(t, tw.Ours, voteBook, voteAuthor), begunVote(t, tw.Ours)
			sent := tw.Sent.During(func() {
				voted := make(chan error, 1)
				go func() { voted <- votes(second) }()
				time.Sleep(2 * time.Millisecond)
				require.NoError(t, first.Commit())
				require.NoError(t, <-voted)
			})
			for _, s := range sent {
				if harness.InsertsSlots.MatchString(s.Text) {
					return false
				}
			}
			return held(sent) == 1 && changesRow("author", sent) == 1
		}
		counted := 2
		for late := time.Now().Add(time.Minute); !inTurn(); counted += 2 { // it has waited for too long, on a busy machine
			require.True(t, time.Now().Before(late))
		}
		requireVotes(t, tw, counted)
	})
}

// TestClaimsEnd proves that nobody waits for a row of a transaction that has ended, however it has.
func TestClaimsEnd(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, voted, votedCounters(), "interpolateParams=true")
		for _, of := range []struct {
			name string
			end  func(tx *sql.Tx, id int64, cancel func())
		}{
			{"rolled back", func(tx *sql.Tx, _ int64, _ func()) { require.NoError(t, tx.Rollback()) }},
			{"cancelled", func(tx *sql.Tx, _ int64, cancel func()) {
				cancel()
				require.Eventually(t, func() bool { return errors.Is(tx.Rollback(), sql.ErrTxDone) }, 10*time.Second, time.Millisecond)
			}},
			{"killed", func(tx *sql.Tx, id int64, _ func()) {
				harness.Affected(t, tw.Direct, fmt.Sprintf("KILL %d", id))
				require.Error(t, tx.Commit())
			}},
		} {
			inTurn := func() bool {
				learnVotes(t, tw, voteBook, voteAuthor)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				conn := harness.Session(t, tw.Ours)
				defer conn.Close()
				id := harness.Number(t, conn, "SELECT CONNECTION_ID()")
				tx, err := conn.BeginTx(ctx, nil)
				require.NoError(t, err)
				for _, statement := range []string{"INSERT INTO vote (book_id) VALUES (NULL)", voteBook, voteAuthor} {
					require.EqualValues(t, 1, harness.Affected(t, tx, statement))
				}
				of.end(tx, id, cancel)
				sent := tw.Sent.During(func() { require.NoError(t, votes(begunVote(t, tw.Ours))) })
				requireVotes(t, tw, 1)
				return held(sent) == 1 && changesRow("author", sent) == 1
			}
			for late := time.Now().Add(time.Minute); !inTurn(); { // what it had learned is gone, on a busy machine
				require.True(t, time.Now().Before(late), of.name)
			}
		}
	})
}
