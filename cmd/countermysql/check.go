package main

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/countermysql/countermysql"
)

type checkCommand struct{}

func (checkCommand) Help() string {
	return `Looks at the server and at every listed table: engines, keys, triggers, generated columns, CHECKs, views and
routines, foreign keys, indexes, privileges, the slots tables, histories, the binary log. It changes nothing.

Example:

  countermysql check --dsn 'app@tcp(127.0.0.1:3306)/forum?counters=post.likes,post.views'`
}

func (c *checkCommand) run(s *session) error {
	findings, err := countermysql.Check(s.ctx, s.db)
	if err != nil {
		return err
	}
	failed := false
	for i := range findings {
		f := &findings[i]
		if s.makes && creates(f.SQL) && strings.HasPrefix(f.Problem, "its slots table ") {
			f.Severity, f.Remedy = countermysql.Warning, "the application makes it with its first statement on the table (create_slots); countermysql init, or the statement, makes it now"
		}
		failed = failed || f.Severity == countermysql.Failure
	}
	err = s.result(converted(findings, asFinding), func() {
		if len(findings) == 0 {
			s.screen.line("all is well")
		}
		for _, f := range findings {
			where, color := f.Table, text.FgYellow
			if where == "" {
				where = "the server"
			}
			if f.Severity == countermysql.Failure {
				color = text.FgRed
			}
			s.screen.line("%s %s: %s; %s", s.screen.color(color, string(f.Severity)), where, f.Problem, f.Remedy)
			if f.SQL != "" {
				s.screen.line("    %s", strings.ReplaceAll(f.SQL, "\n", "\n    "))
			}
		}
	})
	if err == nil && failed {
		return &exit{code: exitFound}
	}
	return err
}

type initCommand struct {
	ForeignKey []string `help:"Give the slots table of this table a foreign key with ON DELETE CASCADE, for rows that others delete. May be repeated." placeholder:"TABLE"`
	Yes        bool     `short:"y" help:"Run the statements; without it they are only printed."`
}

func (initCommand) Help() string {
	return `Prints the statements that make what is missing, slots tables, histories and their triggers, and runs them with --yes. What is there already needs none. It
also opens slots tables that "countermysql drop --stop-only" has closed.

Example:

  countermysql init --dsn "$DSN" --config counters.yaml --yes`
}

func (c *initCommand) run(s *session) error {
	statements, err := countermysql.Init(s.ctx, s.db, &countermysql.InitOptions{DryRun: !c.Yes, ForeignKeys: c.ForeignKey})
	if statements == nil {
		statements = []string{}
	}
	run := c.Yes && err == nil
	if !s.json { // before it asks
		if len(statements) == 0 && err == nil {
			s.screen.line("nothing to do")
		}
		for _, stmt := range statements {
			s.screen.line("%s;", stmt)
		}
	}
	declined := false
	if err == nil && !c.Yes && len(statements) > 0 {
		if declined = !s.screen.asks(c.question(s, statements)); !declined {
			statements, err = countermysql.Init(s.ctx, s.db, &countermysql.InitOptions{ForeignKeys: c.ForeignKey})
			run = err == nil
		}
	}
	rerr := s.result(initialized{statements, run}, func() {})
	switch {
	case err != nil:
		return err
	case rerr != nil:
		return rerr
	case declined:
		return &exit{exitAsks, errNothingDone}
	}
	return nil
}

// question has the statements in it where they are not printed before.
func (c *initCommand) question(s *session, statements []string) string {
	if !s.json {
		return "Run these?"
	}
	return strings.Join(statements, ";\n") + ";\nRun these?"
}
