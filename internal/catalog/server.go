package catalog

import (
	"context"
	"database/sql"
	"strings"
)

// Server is what the driver has to know of the server's kind.
type Server struct {
	MariaDB           bool
	FoldNames         bool // lower_case_table_names is not 0
	SnapshotIsolation bool // MariaDB has innodb_snapshot_isolation
	WritesSame        bool // an UPDATE that changes nothing writes the row nevertheless
	Galera            bool // a node of a Galera cluster
	Group             bool // a member of a MySQL group with several primaries
	rollsBack         bool // MariaDB's innodb_rollback_on_timeout
}

// Cluster reports whether other nodes may write, whose locks are their own.
func (s Server) Cluster() bool { return s.Galera || s.Group }

// key is what tells a table from others.
func (srv Server) key(db, name string) string {
	if srv.FoldNames {
		db, name = strings.ToLower(db), strings.ToLower(name)
	}
	return db + "\x00" + name
}

// LoadServer asks a connection of the connector's for the server's kind.
func LoadServer(ctx context.Context, db *sql.DB) (Server, error) {
	var version string
	var lower int
	err := db.QueryRowContext(ctx, "SELECT VERSION(), @@lower_case_table_names").Scan(&version, &lower)
	if err != nil {
		return Server{}, err
	}
	srv := Server{MariaDB: strings.Contains(version, "MariaDB"), FoldNames: lower != 0}
	if srv.MariaDB {
		rows, err := db.QueryContext(ctx, "SHOW VARIABLES WHERE Variable_name = 'innodb_snapshot_isolation' OR Variable_name IN ('wsrep_on', 'innodb_rollback_on_timeout') AND Value = 'ON'")
		if err != nil {
			return Server{}, err
		}
		told, err := Texts(rows)
		for _, v := range told {
			name := v[0]
			srv.SnapshotIsolation = srv.SnapshotIsolation || name == "innodb_snapshot_isolation"
			srv.Galera = srv.Galera || name == "wsrep_on"
			srv.rollsBack = srv.rollsBack || name == "innodb_rollback_on_timeout"
		}
		return srv, err
	}
	// MySQL compares what it has read, which is all columns only for such a log
	err = db.QueryRowContext(ctx, `SELECT COALESCE(SUM(VARIABLE_NAME NOT LIKE 'group%'), 0) > 0, COALESCE(SUM(VARIABLE_NAME LIKE 'group%'), 0) > 0
 FROM performance_schema.session_variables
 WHERE VARIABLE_NAME = 'log_bin' AND VARIABLE_VALUE <> 'ON' OR VARIABLE_NAME = 'binlog_format' AND VARIABLE_VALUE <> 'ROW'
 OR VARIABLE_NAME = 'binlog_row_image' AND VARIABLE_VALUE <> 'FULL' OR VARIABLE_NAME = 'group_replication_single_primary_mode' AND VARIABLE_VALUE = 'OFF'`).Scan(&srv.WritesSame, &srv.Group)
	return srv, err
}
