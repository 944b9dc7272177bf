package main

import (
	"context"
	"fmt"
	"strings"
)

// slug is a peer's name in a database's name.
func (p peer) slug() string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '_'
	}, p.name)
}

// databaseName is a peer's, of a process that measures.
func databaseName(owner int, p peer) string {
	return fmt.Sprintf("countermysql_bench_%d_%s", owner, p.slug())
}

// titleLength makes rows as wide as those of a real table.
const titleLength = 80

// createDatabase makes the application's tables. All peers have the same, and
// hand-written slots the table that the application has to add.
func (c *contestant) createDatabase(ctx context.Context) error {
	var statements []string
	add := func(format string, args ...any) {
		statements = append(statements, strings.ReplaceAll(fmt.Sprintf(format, args...), "@", c.database+"."))
	}
	add("DROP DATABASE IF EXISTS %s", c.database)
	add("CREATE DATABASE %s", c.database)
	add("CREATE TABLE @post (id INT PRIMARY KEY, title VARCHAR(100) NOT NULL, likes BIGINT NOT NULL DEFAULT 0) ENGINE=InnoDB")
	if c.workload.unsigned {
		add("ALTER TABLE @post MODIFY likes BIGINT UNSIGNED NOT NULL DEFAULT 0")
	}
	if c.workload.indexed && c.peer != noIndex { // before anybody's driver reads the schema
		add("ALTER TABLE @post ADD INDEX (likes)")
	}
	if c.peer.handWritten && !c.workload.ways {
		add("CREATE TABLE @hand_slots (id INT, slot SMALLINT UNSIGNED, likes BIGINT NOT NULL, PRIMARY KEY (id, slot)) ENGINE=InnoDB")
	}
	if c.workload.logs {
		add("CREATE TABLE @log (id BIGINT AUTO_INCREMENT PRIMARY KEY, post_id INT NOT NULL) ENGINE=InnoDB")
	}
	if c.workload.notes {
		add("CREATE TABLE @note (id INT PRIMARY KEY, body VARCHAR(100) NOT NULL) ENGINE=InnoDB")
	}
	for i := range c.point.tables {
		add("CREATE TABLE @%s LIKE @post", tableName(i))
	}
	rows := c.counters()
	if c.point.tables > 0 {
		rows = rowsPerTable
	}
	add("BEGIN")
	add("INSERT INTO @post (id, title) VALUES (1, REPEAT('t', %d))", titleLength)
	for n := 1; n < rows; n *= 2 {
		add("INSERT INTO @post (id, title) SELECT id + %d, title FROM @post WHERE id <= %d", n, rows-n)
	}
	if c.workload.notes {
		add("INSERT INTO @note SELECT id, title FROM @post WHERE id <= %d", notes)
	}
	for i := range c.point.tables {
		add("INSERT INTO @%s SELECT * FROM @post", tableName(i))
	}
	add("COMMIT")
	if c.workload.forum {
		for _, text := range forumTables(rows) {
			statements = append(statements, strings.ReplaceAll(text, "@", c.database+"."))
		}
	}
	if err := c.server.exec(ctx, statements...); err != nil {
		return err
	}
	if c.workload.forum {
		for _, name := range []string{"member", "question", "answer", "tag"} {
			if err := c.analyze(ctx, name); err != nil {
				return err
			}
		}
	}
	return c.analyze(ctx, "post")
}

// notes is how many rows the table without counters has at most.
const notes = 1000

// analyze brings the optimizer's statistics up to date.
func (c *contestant) analyze(ctx context.Context, table string) error {
	var ignored any
	row := c.server.admin.QueryRowContext(ctx, "ANALYZE TABLE "+c.database+"."+table)
	return row.Scan(&ignored, &ignored, &ignored, &ignored)
}
