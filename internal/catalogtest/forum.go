package catalogtest

import (
	"fmt"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// col makes a column from "name type [null] [auto] [onupdate] [default]".
func col(def string) *catalog.Column {
	f := strings.Fields(def)
	c := &catalog.Column{Name: f[0], ColumnType: strings.ReplaceAll(f[1], "_", " ")}
	c.DataType, _, _ = strings.Cut(c.ColumnType, "(")
	c.DataType, _, _ = strings.Cut(c.DataType, " ")
	for _, option := range f[2:] {
		switch option {
		case "null":
			c.Nullable, c.HasDefault = true, true
		case "auto":
			c.AutoInc, c.HasDefault = true, true
		case "onupdate":
			c.OnUpdate, c.HasDefault = true, true
		case "default":
			c.HasDefault = true
		}
	}
	if c.StringKey() {
		c.Charset, c.Collation = "utf8mb4", "utf8mb4_general_ci"
	}
	if c.DataType == "decimal" {
		c.Scale = 2
	}
	return c
}

// TestTable makes a table; the first key is its primary key.
func TestTable(name string, counters, touch []string, keys []string, defs ...string) *catalog.Table {
	t := &catalog.Table{Spec: catalog.Spec{DB: "forum", Name: name, SlotsTable: name + "_slots", Counters: counters, Touch: touch, Slots: 16}, SlotCol: "slot"}
	for _, def := range defs {
		t.Columns = append(t.Columns, col(def))
	}
	for i, k := range keys {
		u := catalog.UniqueKey{Name: fmt.Sprint("key", i)}
		for _, c := range strings.Split(k, ",") {
			u.Columns = append(u.Columns, t.Column(c))
		}
		if i == 0 {
			u.Name, t.Key = "PRIMARY", u.Columns
		}
		t.Unique = append(t.Unique, u)
	}
	t.AllUnique = len(t.Unique)
	for _, c := range counters {
		t.Counters = append(t.Counters, t.Column(c))
	}
	for _, c := range t.Columns {
		if c.OnUpdate || strings.EqualFold(c.Name, strings.Join(touch, "")) {
			t.Touch = append(t.Touch, c)
		}
	}
	return t
}

// indexDefinitions are those of SHOW CREATE TABLE.
var indexDefinitions = map[string]string{
	"post": "(PRIMARY KEY (`id`), UNIQUE KEY `slug` (`slug`), KEY `likes` (`likes`), KEY `seen` (`views`) /*!80000 INVISIBLE */)",
	"page": "(PRIMARY KEY (`day`,`page`), KEY `hits` (`hits` DESC,`page`) USING BTREE COMMENT 'KEY (a)', KEY `short` (`page`(3),`hits`))",
	"item": "(PRIMARY KEY (`id`), KEY `stock` (`stock`,`updated_at`), KEY `unused` (`updated_at`) IGNORED)",
}

// Forum is the schema of the golden files.
func Forum(mariaDB bool) *catalog.Schema {
	s := &catalog.Schema{Server: catalog.Server{MariaDB: mariaDB}, Tables: map[string]*catalog.Table{}}
	for _, t := range []*catalog.Table{
		TestTable("post", []string{"likes", "views"}, nil, []string{"id", "slug"},
			"id int auto", "slug varchar(20) null", "title varchar(50) null", "deleted_at datetime null", "likes int default", "views bigint_unsigned null"),
		TestTable("page", []string{"hits"}, nil, []string{"day,page"}, "day date", "page varchar(20)", "hits decimal(10,2) default"),
		TestTable("item", []string{"stock"}, []string{"updated_at"}, []string{"id"}, "id bigint", "name varchar(20) null", "stock int_unsigned default", "updated_at datetime null"),
		TestTable("hits", []string{"cnt"}, nil, nil, "cnt int"),
	} {
		t.MariaDB = mariaDB
		create := indexDefinitions[t.Spec.Name]
		t.Indexed = t.Indexes(create, sqltext.Tokenize(create, sqltext.Mode{}))
		s.Tables[s.Key("forum", t.Spec.Name)] = t
		s.Specs = append(s.Specs, t.Spec)
	}
	s.Dependents = s.Closure([]catalog.Dependent{{DB: "forum", Name: "popular", Body: "select id from post where likes > 100", Reads: true}})
	s.Index()
	return s
}
