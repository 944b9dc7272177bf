package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// degrade notes what keeps a table from becoming a counter table. One that has slots
// goes on without new ones: others have changed it, and their DDL must not stop anybody.
func (t draft) degrade(format string, args ...any) {
	why := fmt.Sprintf(format, args...)
	if len(t.stored) > 0 && !t.Taken {
		t.Degraded = append(t.Degraded, why)
	} else {
		t.Unfit = append(t.Unfit, why)
	}
}

// refuse notes what keeps a table from being one.
func (t draft) refuse(format string, args ...any) {
	t.Unfit = append(t.Unfit, fmt.Sprintf(format, args...))
}

// judge notes what keeps the table from being a counter table, or from becoming one.
func (t draft) judge(engine string, rowsOverOne bool, createSQL string) {
	if !strings.EqualFold(engine, "InnoDB") {
		t.Unfolded = true
		t.degrade("its engine %s has no row locks; convert it with ALTER TABLE %s ENGINE=InnoDB", engine, t.Base())
	}
	options, _ := sqltext.Behind(createSQL, "ENGINE")
	if _, versioned := sqltext.Behind(options, "WITH", "SYSTEM", "VERSIONING"); versioned {
		t.degrade("it is system-versioned, and increments in slots would make no history; drop the versioning or take the table from the list")
	}
	if len(t.Key) == 0 && rowsOverOne {
		what := "no primary key"
		if _, prefix := sqltext.Behind(createSQL, "PRIMARY", "KEY"); prefix {
			what = "a primary key with a part of a column alone"
		}
		t.refuse("it has %s and more than one row; add a primary key of whole columns", what)
	}
	for _, name := range t.Spec.Counters {
		if c := t.Column(name); c != nil { // or it is not added yet
			t.judgeCounter(c, name, createSQL, options)
		}
	}
	for _, name := range t.Spec.Touch {
		switch c := t.Column(name); {
		case c == nil: // not added yet
		case !c.moment():
			t.refuse("touch column %s is %s; DATETIME and TIMESTAMP can be touched", name, c.ColumnType)
		}
	}
	for _, c := range t.Touch {
		if t.Key.Has(c.Name) {
			t.refuse("touch column %s is part of the key", c.Name)
		}
	}
	for _, c := range t.Key {
		if !keyTypes[c.DataType] {
			t.refuse("key column %s is %s, which has no exact equality", c.Name, c.ColumnType)
		}
	}
}

// judgeCounter does so for a counter, of the name that is listed.
func (t draft) judgeCounter(c *Column, name, createSQL, options string) {
	switch {
	case slices.Contains([]string{"float", "double"}, c.DataType):
		t.Unsummed = true
		t.degrade("counter %s is %s, whose sum depends on the order; make it a DECIMAL, as %s, or an integer", name, c.ColumnType, t.decimalSQL(c, createSQL))
	case !c.Integer() && !c.Decimal():
		t.refuse("counter %s is %s; make it an integer or a DECIMAL", name, c.ColumnType)
	case c.zerofill():
		t.Unsummed = true
		t.degrade("counter %s is ZEROFILL; drop the attribute", name)
	case c.generated != "":
		t.refuse("counter %s is a generated column; count a stored one", name)
	case c.AutoInc || t.Key.Has(name):
		t.refuse("counter %s is part of the key or AUTO_INCREMENT", name)
	}
	for _, k := range sqltext.UniqueWith(createSQL, name) {
		if !t.Key.Has(name) {
			t.degrade("counter %s is in the unique key %s; drop it from the key", name, k)
		}
	}
	for _, g := range t.Columns {
		if g.generated != "" && sqltext.MentionsWord(g.generated, c.Name) {
			t.Computed, t.Unsummed = append(t.Computed, g), true
			t.degrade("generated column %s reads counter %s; compute it in the query", g.Name, name)
		}
	}
	if partition, _ := sqltext.Behind(options, "PARTITION", "BY"); sqltext.MentionsWord(partition, c.Name) {
		t.degrade("counter %s is in the partitioning key", name)
	}
}

// decimalSQL is the statement that makes a FLOAT or DOUBLE column a DECIMAL, with whatever
// else its definition says: MODIFY drops what is left out, as NOT NULL and DEFAULT.
func (t *Table) decimalSQL(c *Column, createSQL string) string {
	name, definition := sqltext.Quote(c.Name), " DECIMAL(20,6)"
	if c.Unsigned() {
		definition += " UNSIGNED"
	}
	if _, rest, found := strings.Cut(createSQL, "\n  "+name+" "+c.ColumnType); found {
		line, _, _ := strings.Cut(rest, "\n")
		definition += strings.TrimSuffix(line, ",")
	}
	return "ALTER TABLE " + t.Base() + " MODIFY " + name + definition
}

var keyTypes = map[string]bool{
	"tinyint": true, "smallint": true, "mediumint": true, "int": true, "bigint": true, "decimal": true,
	"char": true, "varchar": true, "binary": true, "varbinary": true, "enum": true, "set": true, "uuid": true, "inet6": true, "inet4": true,
	"date": true, "datetime": true, "timestamp": true, "time": true, "year": true,
}
