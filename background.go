package countermysql

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"weak"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// startRollups begins to roll up in the background, unless that is turned off or under way.
func (c *Connector) startRollups() {
	if !c.cools() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.background != nil || c.lookups.Retired() {
		return
	}
	c.background, c.stopBackground = context.WithCancel(context.Background())
	ctx, every := c.background, cmp.Or(c.config.Rollup, DefaultRollup)
	c.work.Go(func() {
		wait := rand.N(every) // many processes start at the same time
		for {
			if !pause(ctx, wait) {
				return
			}
			wait = every
			if err := c.rollUpSlotted(ctx); err != nil && ctx.Err() == nil {
				c.noteBackground("rollup in the background", err)
			}
		}
	})
}

// mayNotWrite are the errors of who may not roll up: a user who only reads, or a server that
// is read-only. That is for others to do, then.
var mayNotWrite = map[uint16]bool{1044: true, 1142: true, 1143: true, 1227: true, mysqlerr.ErrReadOnlyServer: true, 1836: true}

func (c *Connector) noteBackground(what string, err error) {
	if n := mysqlerr.Number(err); !mayNotWrite[n] {
		c.once(fmt.Sprint("background ", n), "countermysql: "+what, "error", err)
	}
}

// maxLooks bounds the tables that one statement looks at.
const maxLooks = 100

// rollUpSlotted rolls up the tables that have slots, if the server is not read-only: one
// cheap look tells.
func (c *Connector) rollUpSlotted(ctx context.Context) error {
	s := c.watcher.Current()
	if s == nil {
		return nil // nothing is known yet
	}
	ready := slices.DeleteFunc(s.All(), func(t *catalog.Table) bool { return t.Unfit != nil || t.Missing != "" || t.Unfolded })
	var names []string
	waiting := map[string]int64{}
	defer func() { c.slotRowsWaiting.Store(&waiting) }()
	for tables := range slices.Chunk(ready, maxLooks) {
		slotted, err := c.lookForSlots(ctx, tables, waiting)
		switch {
		case mysqlerr.Number(err) == mysqlerr.ErrNoTable: // others have changed something: the rollup learns what
			slotted = tables
		case err != nil:
			return err
		}
		for _, t := range slotted {
			names = append(names, sqltext.JoinName(t.Spec.DB, t.Spec.Name))
		}
	}
	if len(names) == 0 {
		return nil
	}
	_, err := c.rollUp(ctx, &RollupOptions{Tables: names}, false)
	return err
}

// waiting are the rows in slots tables as the last look has found them.
func (c *Connector) waiting() map[string]int64 {
	if last := c.slotRowsWaiting.Load(); last != nil {
		return maps.Clone(*last)
	}
	return nil
}

// maxCounted bounds the rows of a slots table that a look counts.
const maxCounted = 10000

// lookForSlots returns those of the tables that have any, and how many.
func (c *Connector) lookForSlots(ctx context.Context, tables []*catalog.Table, waiting map[string]int64) (slotted []*catalog.Table, err error) {
	look, err := c.lookups.DB()
	if err != nil {
		return nil, err
	}
	queries := make([]string, len(tables))
	for i, t := range tables {
		queries[i] = "SELECT " + strconv.Itoa(i) + ", COUNT(*) FROM (SELECT 1 FROM " + t.Slots() + " LIMIT " + strconv.Itoa(maxCounted) + ") AS " + catalog.PrivateName + " HAVING COUNT(*) > 0 AND @@global.read_only = 0"
	}
	rows, err := look.QueryContext(ctx, strings.Join(queries, " UNION ALL "))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var i int
		var n int64
		if err := rows.Scan(&i, &n); err != nil {
			return nil, err
		}
		slotted, waiting[tables[i].String()] = append(slotted, tables[i]), n
	}
	return slotted, rows.Err()
}

// wrapped are the connectors of databases that somebody's wrapper hides.
var wrapped sync.Map // weak.Pointer[sql.DB] → *Connector

var errNotOurs = errors.New("countermysql: this sql.DB has no counters, or another driver; open it as \"countermysql\" with counters, or with sql.OpenDB and NewConnector")

// connectorOf finds the connector of a database, below a wrapper too.
func connectorOf(ctx context.Context, db *sql.DB) (*Connector, error) {
	if d, ok := db.Driver().(*Driver); ok && d.connector != nil && len(d.connector.specs) > 0 {
		return d.connector, nil
	}
	if c, ok := wrapped.Load(weak.Make(db)); ok {
		return c.(*Connector), nil
	}
	borrowed, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer borrowed.Close()
	var found *Connector
	err = borrowed.Raw(func(raw any) error {
		for raw != nil {
			switch layer := raw.(type) {
			case *conn:
				found = layer.connector
				return nil
			case interface{ Raw() driver.Conn }: // otelsql
				raw = layer.Raw()
			case interface{ Unwrap() driver.Conn }:
				raw = layer.Unwrap()
			default:
				return errNotOurs
			}
		}
		return errNotOurs
	})
	if err != nil {
		return nil, err
	}
	p := weak.Make(db)
	wrapped.Store(p, found)
	runtime.AddCleanup(db, func(p weak.Pointer[sql.DB]) { wrapped.Delete(p) }, p)
	return found, nil
}
