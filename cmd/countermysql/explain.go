package main

import (
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql"
)

type explainCommand struct {
	SQL  string   `arg:"" help:"The statement, with ? for its arguments."`
	Args []string `arg:"" optional:"" help:"Its arguments."`
	Run  bool     `help:"Show the server's EXPLAIN of what is sent beside that of the statement itself."`
}

func (explainCommand) Help() string {
	return `Says what becomes of a statement, why, and what is sent, in which order and with which arguments. It does not run it.
Behind -- all is the statement and its arguments: what begins with a comment, and negative numbers, would be flags.

Examples:

  countermysql explain --dsn "$DSN" 'UPDATE post SET likes = likes + ? WHERE id = ?' 1 42
  countermysql explain --dsn "$DSN" -- 'UPDATE post SET likes = likes + ? WHERE id = ?' -1 42
  countermysql explain --dsn "$DSN" --run 'SELECT likes FROM post ORDER BY likes DESC LIMIT 10'`
}

func (c *explainCommand) run(s *session) error {
	args := make([]any, len(c.Args))
	for i, a := range c.Args {
		args[i] = a
		if n, err := strconv.ParseInt(a, 10, 64); err == nil {
			args[i] = n
		}
	}
	e, err := countermysql.Explain(s.ctx, s.db, c.SQL, args...)
	if err != nil {
		return err
	}
	out := explained{Class: string(e.Class), Reason: e.Reason, Steps: converted(e.Steps, asStep)}
	if c.Run {
		if len(e.Steps) > 0 && creates(e.Steps[0].SQL) && strings.HasPrefix(e.Steps[0].When, "the slots table of ") {
			return errors.New("the server can plan nothing with a slots table that is not there yet; countermysql init makes it")
		}
		if out.Plans, err = c.plans(s, e, args); err != nil {
			return err
		}
	}
	return s.result(out, func() {
		s.screen.line("%s", e)
		for _, p := range out.Plans {
			s.screen.line("\nthe server's plan of %s", p.SQL)
			for _, row := range p.Plan {
				var cells []string
				for _, name := range []string{"select_type", "table", "type", "key", "rows", "Extra", "EXPLAIN"} {
					if cell := row[strings.ToLower(name)]; cell != nil && cell != "" {
						cells = append(cells, fmt.Sprintf("%s=%v", name, cell))
					}
				}
				s.screen.line("  %s", strings.Join(cells, " "))
			}
		}
	})
}

func creates(stmt string) bool { return strings.HasPrefix(stmt, "CREATE TABLE ") }

// plans asks the server, below the driver, for its plans: first of the
// statement itself.
func (c *explainCommand) plans(s *session, e *countermysql.Explanation, args []any) ([]planOf, error) {
	connector, err := mysql.NewConnector(s.cfg)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	steps := append([]countermysql.ExplainedStep{{SQL: c.SQL, Args: args}}, e.Steps...)
	var all []planOf
	seen := map[string]bool{}
	for _, step := range steps {
		if step.SQL == "" || seen[step.SQL] {
			continue
		}
		seen[step.SQL] = true
		rows, err := db.QueryContext(s.ctx, "EXPLAIN "+step.SQL, step.Args...)
		if err != nil {
			return nil, fmt.Errorf("EXPLAIN %s: %w", step.SQL, err)
		}
		plan, err := maps(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, planOf{step.SQL, plan})
	}
	return all, nil
}

// maps reads rows by column.
func maps(rows *sql.Rows) ([]map[string]any, error) {
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var all []map[string]any
	for rows.Next() {
		cells := make([]sql.NullString, len(names))
		dest := make([]any, len(names))
		for i := range cells {
			dest[i] = &cells[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		row := map[string]any{}
		for i, name := range names {
			if name = strings.ToLower(name); cells[i].Valid {
				row[name] = numeric(cells[i].String)
			} else {
				row[name] = nil
			}
		}
		all = append(all, row)
	}
	return all, rows.Err()
}
