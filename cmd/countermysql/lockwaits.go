package main

import (
	"errors"
	"fmt"
	"strings"
)

// lockWaits finds who waits for row locks at this moment: the servers count
// waits in sum, but not by table.
type lockWaits struct {
	query   string
	unknown error // why it can't be told
}

const (
	waitsMariaDB = "SELECT l.lock_table, COUNT(*) FROM information_schema.INNODB_TRX t JOIN information_schema.INNODB_LOCKS l ON l.lock_id = t.trx_requested_lock_id GROUP BY l.lock_table"
	waitsMySQL   = "SELECT CONCAT('`', l.OBJECT_SCHEMA, '`.`', l.OBJECT_NAME, '`'), COUNT(DISTINCT w.REQUESTING_ENGINE_LOCK_ID) FROM performance_schema.data_lock_waits w JOIN performance_schema.data_locks l ON l.ENGINE = w.ENGINE AND l.ENGINE_LOCK_ID = w.REQUESTING_ENGINE_LOCK_ID GROUP BY 1"
)

func (s *session) lockWaits() (*lockWaits, error) {
	var version string
	var instrumented bool
	if err := s.db.QueryRowContext(s.ctx, "SELECT VERSION(), @@performance_schema").Scan(&version, &instrumented); err != nil {
		return nil, err
	}
	w, remedy := &lockWaits{query: waitsMariaDB}, "GRANT PROCESS ON *.*"
	if !strings.Contains(version, "MariaDB") {
		w.query, remedy = waitsMySQL, "GRANT SELECT ON performance_schema.*"
		if !instrumented {
			w.unknown = errors.New("performance_schema is off")
			return w, nil
		}
	}
	if _, err := w.now(s); err != nil && s.ctx.Err() == nil {
		w.unknown = fmt.Errorf("%w; %s to the tool's user", err, remedy)
	}
	return w, s.ctx.Err()
}

// now is how many transactions wait for a row, by table.
func (w *lockWaits) now(s *session) (map[string]int, error) {
	rows, err := s.db.QueryContext(s.ctx, w.query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	waiting := map[string]int{}
	for rows.Next() {
		var table string
		var n int
		if err := rows.Scan(&table, &n); err != nil {
			return nil, err
		}
		table, _, _ = strings.Cut(table, " /*") // a partition
		waiting[strings.ToLower(table)] += n
	}
	return waiting, rows.Err()
}

// waitsOn takes one table out of what now returns.
func waitsOn(waiting map[string]int, database, table string) int {
	return waiting[strings.ToLower("`"+database+"`.`"+table+"`")]
}
