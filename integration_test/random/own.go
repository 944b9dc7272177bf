package random

import (
	"context"
	"database/sql"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// kind is what a side of a comparison sends its statements with.
type kind int

const (
	plains        kind = iota // go-sql-driver
	countermysqls             // countermysql
	reopening                 // go-sql-driver, with tables that are opened anew before each statement
	viewing                   // go-sql-driver, with views of the counter tables for a query that differs
	limiting                  // the same, with views that keep conditions out of them
	computing                 // the same as viewing, with counters that the views compute
	repreparing               // go-sql-driver, with statements that are prepared anew for each execution
	replanning                // go-sql-driver, with no semi-joins for a query that differs
)

// views reports whether there are views of the counter tables.
func (k kind) views() bool { return k == viewing || k == limiting || k == computing }

// owned says whether a difference is the server's own: plain go-sql-driver gives the
// same two answers.
func (r *Runner) owned(ctx context.Context, s *Script, d *Difference) bool {
	if d.Kind == "affected" && d.Step >= 0 && momentary.MatchString(s.Steps[d.Step].SQL) { // a second may have gone by between the two sides
		if again, err := r.compare(ctx, s, countermysqls, 0); err == nil && again == nil {
			return true
		}
	}
	if (d.What == "1690 against 1264" || d.What == "1264 against 1690") && !r.MariaDB && s.floats(s.Steps[d.Step]) { // TestAcceptedFloatingError
		return true
	}
	if d.What == "0 against 1690" && !r.MariaDB && s.Steps[d.Step].Prepared && len(s.Steps[d.Step].Args) > 1 && slices.ContainsFunc(slices.Concat(s.Steps[d.Step].Args...), isUnsigned) {
		return true // what has made the parameter another one in between went another way: TestAcceptedEarlierTypes
	}
	var ways []kind
	if r.reopen(s) != "" && d.mayBeReopening() {
		ways = append(ways, reopening)
	}
	if (d.Kind == "rows" || d.Kind == "affected" || d.What == "1690 against 0") && len(selects.FindAllString(s.Steps[d.Step].SQL, 2)) == 2 {
		ways = append(ways, viewing, computing, replanning)
	}
	if !r.MariaDB && d.Kind == "rows" && slices.ContainsFunc(slices.Concat(s.Steps[d.Step].Args...), isFraction) { // TestAcceptedFractions
		ways = append(ways, limiting)
	}
	if step := max(d.Step, 0); !r.MariaDB && step < len(s.Steps) && s.Steps[step].Prepared && (d.What == "0 against 1690" || (d.Kind == "rows" || d.Kind == "affected") && slices.ContainsFunc(s.Setup, partitioned.MatchString)) {
		ways = append(ways, repreparing)
	} else if !r.MariaDB && (d.Kind == "rows" || d.Kind == "affected") && slices.ContainsFunc(s.Steps[:step], s.floats) {
		ways = append(ways, repreparing)
	} else if !r.MariaDB && d.What == "1690 against 0" && s.Steps[step].Prepared { // a parameter that has been UNSIGNED before
		ways = append(ways, repreparing)
	}
	if d.Kind == "final rows" {
		return r.writesOwn(ctx, s)
	}
	for range 3 { // what MySQL is wrong about also depends on how many rows it guesses that there are
		for _, k := range ways {
			if own, err := r.compare(ctx, s, k, d.Step); err == nil && own.sameAs(d, k) {
				return true
			}
		}
	}
	return false
}

func isUnsigned(arg any) bool {
	return arg != nil && strings.HasPrefix(reflect.TypeOf(arg).Name(), "uint")
}

// isFraction reports whether an argument is a time that a column may have too few digits for.
func isFraction(arg any) bool {
	at, is := arg.(time.Time)
	return is && at.Nanosecond() != 0
}

// Alive reports whether the server answers.
func (r *Runner) Alive(ctx context.Context) bool { return r.admin.PingContext(ctx) == nil }

// CrashesPlain reports whether a script crashes the server also where plain go-sql-driver is
// on both sides, and counts it then. It is down behind it, as it was before.
func (r *Runner) CrashesPlain(ctx context.Context, s *Script) bool {
	_, _ = r.compare(ctx, s, repreparing, 0)
	if r.Alive(ctx) {
		return false
	}
	r.Own++
	return true
}

// writesOwn says the same of rows that a statement has written by what it reads: it is the
// last of the shortest beginning of the script behind which the tables differ.
func (r *Runner) writesOwn(ctx context.Context, s *Script) bool {
	for i, step := range s.Steps {
		begins := *s
		begins.Steps = s.Steps[:i+1]
		d, err := r.compare(ctx, &begins, countermysqls, 0)
		if err != nil || d == nil {
			continue
		}
		var ways []kind
		if len(selects.FindAllString(step.SQL, 2)) == 2 {
			ways = append(ways, viewing, computing)
		}
		if !r.MariaDB && begins.floats(step) {
			ways = append(ways, repreparing)
		}
		return d.Kind == "final rows" && slices.ContainsFunc(ways, func(k kind) bool {
			own, err := r.compare(ctx, &begins, k, i)
			return err == nil && own.sameAs(d, k)
		})
	}
	return false
}

// floats reports whether a parameter of a step's text may have become a floating-point one
// before its last call.
func (s *Script) floats(step Step) bool {
	if !step.Prepared {
		return false
	}
	var calls [][]any
	for _, other := range s.Steps {
		if other.Prepared && other.SQL == step.SQL {
			calls = append(calls, other.Args...)
		}
	}
	return len(calls) > 1 && slices.ContainsFunc(calls[:len(calls)-1], func(args []any) bool {
		return slices.ContainsFunc(args, func(arg any) bool {
			switch arg.(type) {
			case float32, float64, sql.NullFloat64:
				return true
			}
			return false
		})
	})
}

// reopen is the statement that has the server open a script's tables anew,
// where its answers may depend on that; "" elsewhere.
//
// MySQL's next AUTO_INCREMENT id does. Each time a table is opened,
// ha_innobase::open takes a counter that equals the highest id ever written for
// one just loaded, and adds 1. But it equals that one also after an INSERT that
// named the next id and then failed, or became an update, by another unique key.
// So the next generated id is one higher if the table has been opened in
// between: by the first statement of a connection that finds it open in no
// place of its part of the table cache (the connection's id modulo
// table_open_cache_instances), by a self-join, or by countermysql's look-up
// connections and queries for first rows. TestReopening shows it without us.
//
// So the tables are opened anew after the setup, and a difference is the
// server's own if plain go-sql-driver gives the same two answers at the same
// step: one as it is, one with tables that are opened anew before each
// statement. It shows in the LastInsertId of the statement that makes the id;
// nothing else is let pass.
//
// On MariaDB, an UPDATE that gives rows of a partitioned table other keys finds
// only some of them after one that named a PARTITION, as long as the table stays
// open. It shows in the number of affected rows, or in that no two rows get the same
// key. TestForgottenPartitions shows it without us. Inside a transaction, whose tables
// nobody else can close, it is not recognized.
func (r *Runner) reopen(s *Script) string {
	var names []string
	matters := makesIDs
	if r.MariaDB {
		matters = partitioned
	}
	for _, q := range s.Setup {
		if m := matters.FindStringSubmatch(q); m != nil {
			names = append(names, m[1])
		}
	}
	if names == nil {
		return ""
	}
	return "FLUSH LOCAL TABLES " + strings.Join(names, ", ")
}

var (
	upserts     = regexp.MustCompile(`(?i)\bON\s+DUPLICATE\b`)
	selects     = regexp.MustCompile(`(?i)\bSELECT\b`)
	makesIDs    = regexp.MustCompile("^CREATE TABLE (\\{db\\}\\.`\\w+`) .*AUTO_INCREMENT")
	momentary   = regexp.MustCompile(`(?i)\b(NOW|CURRENT_TIMESTAMP|LOCALTIME)\b`)
	partitioned = regexp.MustCompile("^CREATE TABLE (\\{db\\}\\.`\\w+`) .*PARTITION BY")
)

// skipsIDs reports whether other ids may be made behind an upsert that has failed by a
// counter's range, which countermysql may have sent twice: TestAcceptedNextID.
func (s *Script) skipsIDs(step Step, err int) bool {
	return (err == 1264 || err == 1690) && upserts.MatchString(step.SQL) && slices.ContainsFunc(s.Setup, makesIDs.MatchString)
}

// begins reports whether it is only in countermysql that a transaction has begun, by a
// statement on a partitioned table, or one which the server has refused because it reads the
// table that it writes, or because it makes no sense: TestAcceptedBeginOfPartition,
// TestAcceptedBeginOfRefused, TestAcceptedNonsense.
func (s *Script) begins(mariaDB, refused bool, x, y *outcome) bool {
	return x.err == 0 && y.err == 1568 && (refused || !mariaDB && slices.ContainsFunc(s.Setup, partitioned.MatchString))
}

// takesEarlier reports whether a text that the last of some steps gives a prepared statement was taken
// for an unsigned number, as an argument of an earlier execution was: TestAcceptedEarlierSigns.
func takesEarlier(steps []Step, args []any, x, y *outcome) bool {
	step := steps[len(steps)-1]
	if !step.Prepared || x.err != 0 || y.err != 1690 {
		return false
	}
	texts := slices.ContainsFunc(args, func(arg any) bool {
		switch arg.(type) {
		case string, []byte:
			return true
		}
		return false
	})
	return texts && slices.ContainsFunc(steps, func(earlier Step) bool {
		return earlier.SQL == step.SQL && slices.ContainsFunc(slices.Concat(earlier.Args...), func(arg any) bool {
			switch arg.(type) {
			case uint8, uint16, uint32, uint, uint64:
				return true
			}
			return false
		})
	})
}

// prepareAnew forgets a statement for a repreparing side.
//
// MySQL finds no row of a partitioned table by a list of rows of parameters the first time
// that a statement is executed, and what is there from then on. Inside a transaction
// countermysql may have prepared another text for it. TestFirstExecution shows it
// without us. Nor do numbers go out of range, or lose digits, that a parameter adds which has
// been a floating-point one before (TestAcceptedEarlierTypes).
func (x *side) prepareAnew(text string) {
	if stmt := x.stmts[text]; x.anew && stmt != nil {
		stmt.Close()
		delete(x.stmts, text)
	}
}

// view puts views of the same rows in the place of counter tables: the server makes
// tables of them, of all rows if they have a LIMIT, or merges them into the query, with
// counters that are computed.
//
// What a server answers to a query on tables and to the same query on such views has to
// be the same. Where the server is wrong about one of them, as both are in some subqueries
// within subqueries, or computes for a row what a condition leaves out, countermysql may
// get the right answer, or another wrong one: it reads counters from such a view.
// TestContradictions shows it without us.
func (x *side) view(ctx context.Context, s *Script, k kind) error {
	for _, c := range s.Counters {
		algorithm, columns, limit := "TEMPTABLE", "*", ""
		if k == limiting {
			limit = " LIMIT 18446744073709551615"
		}
		if k == computing {
			algorithm = "MERGE"
			names := x.do(ctx, Step{Do: "query", SQL: "SELECT GROUP_CONCAT(CONCAT('`', COLUMN_NAME, '`') ORDER BY ORDINAL_POSITION) FROM information_schema.COLUMNS" +
				" WHERE TABLE_SCHEMA = '{db}' AND TABLE_NAME = '" + c.Table + "'"}, nil)
			if names.err != 0 {
				return errors.New(names.message)
			}
			columns = strings.Trim(strings.TrimPrefix(names.values[0][0], "[]byte "), `"`)
			for _, name := range c.Columns {
				columns = strings.Replace(columns, "`"+name+"`", "`"+name+"` + 0 AS `"+name+"`", 1)
			}
		}
		for _, q := range []string{"RENAME TABLE {db}.`{t}` TO {db}.`{t}_viewed`", "CREATE ALGORITHM = " + algorithm + " VIEW {db}.`{t}` AS SELECT " + columns + " FROM {db}.`{t}_viewed`" + limit} {
			if _, err := x.conn.ExecContext(ctx, strings.NewReplacer("{db}", x.db, "{t}", c.Table).Replace(q)); err != nil {
				return err
			}
		}
	}
	return nil
}

// sameAs says whether two differences are of the same two ids or numbers of rows, in
// either order, or, with views, of the same rows.
func (d *Difference) sameAs(e *Difference, k kind) bool {
	if d == nil || d.Step != e.Step || d.Kind != e.Kind || d.What != e.What {
		return false
	}
	same, turned := d.Plain == e.Plain && d.Ours == e.Ours, d.Plain == e.Ours && d.Ours == e.Plain
	if k != reopening {
		return same
	}
	return d.mayBeReopening() && (same || turned)
}

// mayBeReopening reports whether it is what tables that are opened anew can change.
func (d *Difference) mayBeReopening() bool {
	return d.Kind == "id" || d.Kind == "affected" || d.What == "0 against 1062"
}
