package read

import (
	"context"
	"database/sql/driver"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/catalogtest"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// brokenOff is a look's answer that breaks off behind its first row.
type brokenOff struct {
	Statement
	answer.Physical
	err  error
	rows int
}

func (b *brokenOff) SendLook(context.Context, string) (answer.Outcome, error) {
	return answer.Outcome{Rows: b}, nil
}
func (b *brokenOff) Own(text string) string { return text }
func (b *brokenOff) Columns() []string      { return []string{"likes", "views", "slots", "key"} }
func (b *brokenOff) Close() error           { return nil } // go-sql-driver has told the error

func (b *brokenOff) Next(row []driver.Value) error {
	if b.rows++; b.rows > 1 {
		return b.err
	}
	copy(row, []driver.Value{int64(10), int64(20), []byte("1;7,41,1,;"), int64(7)})
	return nil
}

// TestLookBreaksOff proves that of an answer that breaks off no row is given that lacks its slots, and
// that the error is told.
func TestLookBreaksOff(t *testing.T) {
	killed := &mysql.MySQLError{Number: 1317, SQLState: [5]byte{'7', '0', '1', '0', '0'}}
	for _, err := range []error{killed, mysql.ErrInvalidConn} {
		x := &Execution{State: &State{}, Plan: plan.Make(catalogtest.Forum(true), "SELECT likes, views FROM post WHERE title LIKE 'a%'", sqltext.Mode{}, "forum")}
		x.Statement = &brokenOff{err: err}
		out, answered, lookErr := (&Reader{}).lookFirst(t.Context(), x, fewLook)
		require.NoError(t, lookErr)
		require.True(t, answered)
		row := make([]driver.Value, 2)
		require.Equal(t, err, out.Rows.Next(row), "%v", row)
		require.Equal(t, []driver.Value{nil, nil}, row)
	}
}
