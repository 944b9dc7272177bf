package main

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql"
)

// readCost is what a point read of a counter takes now, and what it would take
// from the base row alone, as after a rollup; nothing where the row is gone.
type readCost struct {
	Seconds     float64 `json:"seconds"`
	BaseSeconds float64 `json:"base_seconds"`
	Ratio       float64 `json:"ratio"`
}

func (c readCost) String() string {
	if c.BaseSeconds == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f µs, %.1f × %.0f µs", 1e6*c.Seconds, c.Ratio, 1e6*c.BaseSeconds)
}

// measureReads times the reads of what a view shows, all on one connection below
// the driver.
func (s *session) measureReads(v *view, l *look) error {
	connector, err := mysql.NewConnector(s.cfg)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	conn, err := db.Conn(s.ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	for i, t := range l.tables {
		if t.fullest != nil {
			if v.Tables[i].FullestRead, err = s.readCost(conn, t, t.Counters[0], t.fullest.values); err != nil {
				return err
			}
		}
	}
	for i, h := range v.Hottest {
		t := l.table(h.Table)
		if v.Hottest[i].Read, err = s.readCost(conn, t, h.Counter, t.keys[h.Key].values); err != nil {
			return err
		}
	}
	return nil
}

// readCost times what the driver sends for a point read against the same read
// as it was written, which sees the base row only.
func (s *session) readCost(conn *sql.Conn, t seenTable, counter string, key []any) (cost readCost, err error) {
	conds := []string{"TRUE"}
	for _, name := range t.Key {
		conds = append(conds, quote(name)+" = ?")
	}
	plain := "SELECT " + quote(counter) + " FROM " + quote(t.Database) + "." + quote(t.Table) + " WHERE " + strings.Join(conds, " AND ")
	e, err := countermysql.Explain(s.ctx, s.db, plain, key...)
	if err != nil {
		return cost, err
	}
	sent := e.Steps[len(e.Steps)-1] // the sums
	if e.Class != countermysql.ClassSum || sent.SQL == "" {
		return cost, fmt.Errorf("a point read of %s is not one statement", t.name())
	}
	asSent, err := conn.PrepareContext(s.ctx, sent.SQL)
	if err != nil {
		return cost, err
	}
	defer asSent.Close()
	base, err := conn.PrepareContext(s.ctx, plain)
	if err != nil {
		return cost, err
	}
	defer base.Close()
	args := [2][]any{sent.Args, key}
	const times = 5
	var took [2][]float64
	for range times { // in turn, so that a busy moment hits both
		for i, stmt := range [2]*sql.Stmt{asSent, base} {
			start := time.Now()
			err := stmt.QueryRowContext(s.ctx, args[i]...).Scan(new(sql.NullString))
			if errors.Is(err, sql.ErrNoRows) {
				return readCost{}, nil // an orphan
			}
			if err != nil {
				return cost, err
			}
			took[i] = append(took[i], time.Since(start).Seconds())
		}
	}
	cost.Seconds, cost.BaseSeconds = median(took[0]), median(took[1])
	cost.Ratio = cost.Seconds / cost.BaseSeconds
	return cost, nil
}
