package maintain

import (
	"context"
	"fmt"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/lookups"
	"github.com/countermysql/countermysql/internal/mysqlerr"
)

// Finding is something that Check has to say about a counter or the server.
type Finding struct {
	Failure bool   // statements on the counter fail, or counts would be lost; else something is slower, or seen later
	Table   string // database.table; "" for the server
	Problem string
	Remedy  string
	SQL     string // a statement that mends it; "" if none is known
}

// Inspected is what Check looks at.
type Inspected struct {
	Lookups    *lookups.Pool
	Schema     *catalog.Schema                                // as it is now
	Wanted     func(t *catalog.Table) []*catalog.Column       // touch columns that increments want
	Overridden func(t *catalog.Table, c *catalog.Column) bool // whether a statement has set a derived counter
	AllSlots   bool                                           // this process writes all slots, as others do
}

// Check looks whether each listed table can have counters. It changes nothing.
func Check(ctx context.Context, in Inspected) ([]Finding, error) {
	k := &inspection{ctx: ctx, in: in}
	k.server()
	k.hidden()
	k.findings = append(k.findings, leftOut(in.Schema)...)
	for _, t := range in.Schema.All() {
		k.table(t)
		k.unclaimed(t)
	}
	for _, t := range catalog.InOrder(in.Schema.Bare) {
		k.unclaimed(t)
	}
	return k.findings, k.err
}

// inspection is one run of Check.
type inspection struct {
	ctx      context.Context
	in       Inspected
	findings []Finding
	err      error
}

func (k *inspection) fail(table, problem, remedy, sql string) {
	k.findings = append(k.findings, Finding{true, table, problem, remedy, sql})
}

func (k *inspection) warn(table, problem, remedy, sql string) {
	k.findings = append(k.findings, Finding{false, table, problem, remedy, sql})
}

// ask runs a query of ours; after an error there are no more rows.
func (k *inspection) ask(query string) [][]string {
	if k.err != nil {
		return nil
	}
	var rows [][]string
	rows, k.err = k.in.Lookups.Query(k.ctx, query)
	return rows
}

// try is ask where the server may refuse the query: a privilege is missing, which is told elsewhere, or a table
// is not what it was.
func (k *inspection) try(query string) (rows [][]string, ok bool) {
	if k.err != nil {
		return nil, false
	}
	rows, err := k.in.Lookups.Query(k.ctx, query)
	if mysqlerr.Number(err) == 0 {
		k.err = err
	}
	return rows, err == nil
}

func (k *inspection) server() {
	variables := map[string]string{}
	const asked = "'log_bin', 'binlog_format', 'read_only', 'wsrep_on', 'version', 'optimizer_switch', 'query_cache_type', 'group_replication_group_name', 'group_replication_consistency'"
	for _, row := range k.ask("SHOW GLOBAL VARIABLES WHERE Variable_name IN (" + asked + ")") {
		variables[strings.ToLower(row[0])] = strings.ToUpper(row[1])
	}
	if variables["log_bin"] == "ON" && variables["binlog_format"] == "STATEMENT" {
		k.fail("", "binlog_format is STATEMENT, which InnoDB refuses for a rollup and which replicates an increment unsafely", "use ROW, or MIXED", "SET GLOBAL binlog_format = ROW")
	}
	if strings.Contains(variables["optimizer_switch"], "HYPERGRAPH_OPTIMIZER=ON") {
		k.fail("", "the hypergraph optimizer is on, with which the server puts what an outer join computes into a wrong order, and locks rows that no statement needs", "turn it off", "SET GLOBAL optimizer_switch = 'hypergraph_optimizer=off'")
	}
	if cache := variables["query_cache_type"]; cache != "" && cache != "OFF" {
		k.fail("", "the query cache is on, with which the server answers with old counts beside rollups", "turn it off", "SET GLOBAL query_cache_type = OFF")
	}
	if variables["read_only"] == "ON" {
		k.warn("", "the server is read-only", "check the server that takes the writes", "")
	}
	switch {
	case variables["wsrep_on"] == "ON":
		k.cluster()
	case k.in.Schema.Server.Group:
		k.severalWriters("a member of a group with several primaries")
	case variables["group_replication_group_name"] != "" && variables["group_replication_consistency"] == "EVENTUAL":
		k.warn("", "group_replication_consistency is EVENTUAL: a new primary may be written before it has applied what the former one has committed, and what is in slots then comes behind a reset or a DELETE that does not know of it",
			"use BEFORE_ON_PRIMARY_FAILOVER, the default since MySQL 8.4, or a stronger one", "SET PERSIST group_replication_consistency = 'BEFORE_ON_PRIMARY_FAILOVER'")
	}
	var major, minor int
	if _, err := fmt.Sscanf(variables["version"], "%d.%d", &major, &minor); err == nil {
		needs, have := 8*100, major*100+minor
		if k.in.Schema.Server.MariaDB {
			needs = 10*100 + 6
		}
		if have < needs {
			k.fail("", "version "+variables["version"]+" has no SKIP LOCKED", "use MariaDB 10.6 or MySQL 8.0, or later", "")
		}
	}
	if !k.seesTriggers() {
		k.warn("", "the user may not see triggers, and an UPDATE trigger would go unnoticed", "grant TRIGGER on the counter tables, or make sure that they have none", "")
	}
}

// seesTriggers reports whether the user has the privilege somewhere, himself or by a
// role: those of roles are in no table of information_schema
// (https://dev.mysql.com/doc/refman/8.4/en/show-grants.html).
func (k *inspection) seesTriggers() bool {
	grants := "SHOW GRANTS"
	if !k.in.Schema.Server.MariaDB { // which shows those of the role as well
		for _, row := range k.ask("SELECT CURRENT_ROLE()") {
			if row[0] != "NONE" {
				grants += " FOR CURRENT_USER() USING " + row[0]
			}
		}
	}
	for _, row := range k.ask(grants) {
		privileges, _, _ := strings.Cut(row[0], " ON ")
		if strings.Contains(privileges, "TRIGGER") || strings.Contains(privileges, "ALL PRIVILEGES") {
			return true
		}
	}
	return k.err != nil
}

// hidden tells what may read counters without being seen.
func (k *inspection) hidden() {
	for _, d := range k.in.Schema.Dependents {
		if d.Hidden() {
			k.warn("", "the user may not see the definition of "+d.Name+", so that a statement that uses this "+d.Kind+" rolls all counters up first",
				"grant SHOW VIEW; for routines SHOW_ROUTINE on MySQL, SHOW CREATE ROUTINE or SELECT on mysql.proc on MariaDB", "")
		}
	}
}

// cluster says what the nodes of a Galera cluster may not do.
func (k *inspection) cluster() {
	size := "1"
	for _, row := range k.ask("SHOW GLOBAL STATUS LIKE 'wsrep_cluster_size'") {
		size = row[1]
	}
	if size == "1" {
		k.warn("", "the server is the only node of a Galera cluster, which others may join", "let all statements of counter tables but increments by primary key and rollups go through one node then", "")
		return
	}
	k.severalWriters("a node of a cluster of " + size + " nodes")
}

// severalWriters says what the nodes of a cluster may not do that can all be written.
func (k *inspection) severalWriters(what string) {
	k.warn("", "the server is "+what+", whose locks are one node's alone: of what is written to a counter table on several nodes, only increments by primary key and rollups are counted for certain",
		"let all other statements of counter tables go through one node", "")
	if k.in.AllSlots {
		k.warn("", "two nodes of the cluster that write one slot conflict", "give the processes of each node a range of slots, counterSlotRange=auto for one", "")
	}
}
