package countermysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"runtime"
	"sync"
	"weak"
)

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
