package harness

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
)

// gate holds up the first statement that writes slots until it is opened.
type gate struct {
	Reached, opened chan struct{}
	passed          atomic.Bool
	Open            func()
}

func NewGate(t *testing.T, r *Recorder) *gate { return NewGateOn(t, r, WritesSlots.MatchString) }

func NewGateOn(t *testing.T, r *Recorder, holds func(query string) bool) *gate {
	g := &gate{Reached: make(chan struct{}), opened: make(chan struct{})}
	g.Open = sync.OnceFunc(func() { close(g.opened) })
	t.Cleanup(g.Open)
	r.Meddle(t, func(query string) error {
		if holds(query) && g.passed.CompareAndSwap(false, true) {
			close(g.Reached)
			<-g.opened
		}
		return nil
	})
	return g
}

const LikeOne = "UPDATE post SET likes = likes + 1 WHERE id = 1"

// Later runs a statement and tells its answer.
func Later(t *testing.T, on Execer, query string, args ...any) <-chan string {
	answer := make(chan string, 1)
	go func() {
		res, err := on.ExecContext(context.WithoutCancel(t.Context()), query, args...)
		if err != nil {
			answer <- Told(err)
			return
		}
		n, _ := res.RowsAffected()
		answer <- fmt.Sprint("affected ", n)
	}()
	return answer
}

func Soon(t *testing.T, answer <-chan string) string {
	t.Helper()
	select {
	case a := <-answer:
		return a
	case <-time.After(20 * time.Second):
		require.FailNow(t, "it still waits")
		return ""
	}
}

// Name is our database's name.
func (tw *Twin) Name(t *testing.T) string {
	t.Helper()
	var name string
	require.NoError(t, tw.Direct.QueryRow("SELECT DATABASE()").Scan(&name))
	return name
}

// Refuses reports whether an error says that nothing was done. driver.ErrBadConn
// does: database/sql sends the statement again.
func Refuses(err error) bool {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number != 1053 && e.Number != 1927
	}
	return errors.Is(err, driver.ErrBadConn)
}

var InsertsSlots = regexp.MustCompile("(?i)INSERT (/[*].*?[*]/ )?INTO [^ ]*_slots`")

// Together runs statements that wait together for a batch under way, each on a
// connection of its own, and tells their answers, and what was sent after that batch.
func (tw *Twin) Together(t *testing.T, blocking string, waiting ...string) (answers []string, sent []string) {
	t.Helper()
	conns := make([]Execer, len(waiting))
	for i := range waiting {
		conns[i] = Session(t, tw.Ours)
	}
	g := NewGate(t, tw.Sent)
	first := Later(t, tw.Ours, blocking)
	<-g.Reached
	var all []<-chan string
	for i, text := range waiting {
		all = append(all, Later(t, conns[i], text))
		Queue()
	}
	for _, s := range tw.Sent.During(func() {
		g.Open()
		require.Equal(t, "affected 1", Soon(t, first))
		for _, a := range all {
			answers = append(answers, Soon(t, a))
		}
	}) {
		sent = append(sent, s.Text)
	}
	return answers, sent
}

// Queue waits until the callers before have come, long before the lead counts as stalled.
func Queue() { time.Sleep(80 * time.Millisecond) }

func DbName(t *testing.T, db Querier) string {
	t.Helper()
	var name string
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&name))
	return name
}
