// Package random compares countermysql with go-sql-driver on random scripts:
// both run the same statements on twin databases of one server, and every
// answer and the tables at the end have to be equal.
package random

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Script is one comparison: everything that has to be known to repeat it.
type Script struct {
	Seed     uint64
	Options  []string // DSN parameters of both drivers
	Slots    int
	Cools    bool // slots are for hot rows only
	Late     bool // RowsAffected of what BeginTx has begun is asked after COMMIT
	ReadOwn  string
	Counters []Counter
	Setup    []string // run on both databases by go-sql-driver; {db} is the database
	Steps    []Step
	Tables   []string // read at the end
}

// Counter names the counters of one table.
type Counter struct {
	Table   string
	Columns []string
	Touch   []string
}

// Step is one call of the application.
type Step struct {
	Do       string // "exec", "query", "begin", "commit", "rollback"; "other": exec by another client; "rollup": of ours
	SQL      string
	Args     [][]any // one call for each; none: without arguments
	Prepared bool
	Ordered  bool   // the rows have a total order
	Level    int    // sql.IsolationLevel of begin
	ReadOnly bool   // of begin
	Lax      string // what is not compared: "id", "value", "types", or of "numbers" how they are written
}

// GoTest prints a test that fails as long as the script makes a difference, to be
// pasted into this package.
func (s *Script) GoTest() string {
	return fmt.Sprintf("func TestSeed%d(t *testing.T) {\n\tsame(t, %#v)\n}\n", s.Seed, s)
}

// GoString prints the script as a literal.
func (s *Script) GoString() string {
	var b strings.Builder
	fmt.Fprintf(&b, "&Script{\n")
	if len(s.Options) > 0 {
		fmt.Fprintf(&b, "\tOptions: %#v,\n", s.Options)
	}
	fmt.Fprintf(&b, "\tSlots: %d,\n", s.Slots)
	if s.ReadOwn != "" {
		fmt.Fprintf(&b, "\tReadOwn: %q,\n", s.ReadOwn)
	}
	if s.Cools {
		b.WriteString("\tCools: true,\n")
	}
	if s.Late {
		b.WriteString("\tLate: true,\n")
	}
	fmt.Fprintf(&b, "\tCounters: []Counter{")
	for i, c := range s.Counters {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "{Table: %q, Columns: %#v, Touch: %#v}", c.Table, c.Columns, c.Touch)
	}
	b.WriteString("},\n\tSetup: []string{\n")
	for _, q := range s.Setup {
		fmt.Fprintf(&b, "\t\t%s,\n", quoted(q))
	}
	b.WriteString("\t},\n\tSteps: []Step{\n")
	for _, st := range s.Steps {
		fmt.Fprintf(&b, "\t\t%s,\n", st.GoString())
	}
	fmt.Fprintf(&b, "\t},\n\tTables: %#v,\n}", s.Tables)
	return b.String()
}

// GoString prints one step.
func (s Step) GoString() string {
	var b strings.Builder
	fmt.Fprintf(&b, "{Do: %q", s.Do)
	if s.SQL != "" {
		fmt.Fprintf(&b, ", SQL: %s", quoted(s.SQL))
	}
	if s.Args != nil {
		b.WriteString(", Args: [][]any{")
		for i, args := range s.Args {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteByte('{')
			for j, a := range args {
				if j > 0 {
					b.WriteString(", ")
				}
				b.WriteString(goLiteral(a))
			}
			b.WriteByte('}')
		}
		b.WriteByte('}')
	}
	if s.Prepared {
		b.WriteString(", Prepared: true")
	}
	if s.Ordered {
		b.WriteString(", Ordered: true")
	}
	if s.Level != 0 {
		fmt.Fprintf(&b, ", Level: %d", s.Level)
	}
	if s.ReadOnly {
		b.WriteString(", ReadOnly: true")
	}
	if s.Lax != "" {
		fmt.Fprintf(&b, ", Lax: %q", s.Lax)
	}
	b.WriteByte('}')
	return b.String()
}

// quoted writes a string literal, raw where that is possible.
func quoted(s string) string {
	if strings.ContainsAny(s, "`\x00\r") {
		return fmt.Sprintf("%q", s)
	}
	return "`" + s + "`"
}

func goLiteral(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case []byte:
		return fmt.Sprintf("[]byte(%q)", v)
	case time.Time:
		return fmt.Sprintf("time.Date(%d, %d, %d, %d, %d, %d, %d, time.UTC)", v.Year(), v.Month(), v.Day(), v.Hour(), v.Minute(), v.Second(), v.Nanosecond())
	case string:
		return fmt.Sprintf("%q", v)
	case int, bool:
		return fmt.Sprint(v)
	case json.RawMessage:
		return fmt.Sprintf("json.RawMessage(%q)", v)
	case Amount:
		return fmt.Sprintf("Amount(%d)", v)
	case sql.NullTime:
		return "sql.NullTime{}"
	case Present:
		return "Present{}"
	}
	if _, ok := v.(driver.Valuer); ok {
		return fmt.Sprintf("%#v", v)
	}
	return fmt.Sprintf("%T(%v)", v, v)
}
