package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/catalog"
)

// mistakesOf lists all mistakes as "place: problem; remedy", and sees that
// each is a *catalog.ConfigError.
func mistakesOf(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok, "not joined: %v", err)
	var list []string
	for _, e := range joined.Unwrap() {
		var c *catalog.ConfigError
		require.ErrorAs(t, e, &c)
		require.NotEmpty(t, c.Place)
		require.NotEmpty(t, c.Problem)
		require.NotEmpty(t, c.Remedy)
		require.Equal(t, "countermysql: "+c.Place+": "+c.Problem+"; "+c.Remedy, e.Error())
		list = append(list, strings.TrimPrefix(e.Error(), "countermysql: "))
	}
	return list
}

func (c *Settings) resolve(defaultDB string) ([]catalog.Spec, error) {
	specs, mistakes := c.check(defaultDB)
	if err := errors.Join(mistakes...); err != nil {
		return nil, err
	}
	return specs, nil
}

func second[T any](_ T, err error) error { return err }

func TestResolve(t *testing.T) {
	for _, test := range []struct {
		name   string
		config *Settings
		db     string
		want   []catalog.Spec
	}{
		{"nil", nil, "", []catalog.Spec(nil)},
		{"no tables", &Settings{}, "", []catalog.Spec{}},
		{"defaults", &Settings{Tables: []Table{{Table: "post", Counters: []string{"likes"}}}}, "forum",
			[]catalog.Spec{{DB: "forum", Name: "post", SlotsTable: "post_slots", Counters: []string{"likes"}, Slots: 16}}},
		{"inherited, overridden and sorted", &Settings{Slots: 1024, ReadOwn: Snapshot, Tables: []Table{
			{Table: "shop.item", Counters: []string{"sold"}, Slots: 1, ReadOwn: Latest, SlotsTable: "sold"},
			{Table: "page", Counters: []string{"hits"}},
			{Table: "forum.post", Counters: []string{"likes", "views"}, Touch: []string{"updated_at"}},
		}}, "forum", []catalog.Spec{
			{DB: "forum", Name: "page", SlotsTable: "page_slots", Counters: []string{"hits"}, Slots: 1024, OwnSnapshot: true},
			{DB: "forum", Name: "post", SlotsTable: "post_slots", Counters: []string{"likes", "views"}, Touch: []string{"updated_at"}, Slots: 1024, OwnSnapshot: true},
			{DB: "shop", Name: "item", SlotsTable: "sold", Counters: []string{"sold"}, Slots: 1},
		}},
		{"backquotes", &Settings{Tables: []Table{{Table: "`my db`.`my.ta``ble`", Counters: []string{"`a.b`"}, Touch: []string{"`c`"}, SlotsTable: "`s.t`"}}}, "",
			[]catalog.Spec{{DB: "my db", Name: "my.ta`ble", SlotsTable: "s.t", Counters: []string{"a.b"}, Touch: []string{"c"}, Slots: 16}}},
		{"the same names in two databases", &Settings{Tables: []Table{
			{Table: "a.post", Counters: []string{"n"}}, {Table: "b.post", Counters: []string{"n"}},
		}}, "", []catalog.Spec{
			{DB: "a", Name: "post", SlotsTable: "post_slots", Counters: []string{"n"}, Slots: 16},
			{DB: "b", Name: "post", SlotsTable: "post_slots", Counters: []string{"n"}, Slots: 16},
		}},
		{"names differing in case, each with its slots table", &Settings{Tables: []Table{
			{Table: "Post", Counters: []string{"n"}, SlotsTable: "a"}, {Table: "post", Counters: []string{"n"}},
		}}, "d", []catalog.Spec{
			{DB: "d", Name: "Post", SlotsTable: "a", Counters: []string{"n"}, Slots: 16},
			{DB: "d", Name: "post", SlotsTable: "post_slots", Counters: []string{"n"}, Slots: 16},
		}},
		{"64 characters that are more bytes", &Settings{Tables: []Table{{Table: strings.Repeat("ж", 58), Counters: []string{strings.Repeat("ж", 64)}}}}, "d",
			[]catalog.Spec{{DB: "d", Name: strings.Repeat("ж", 58), SlotsTable: strings.Repeat("ж", 58) + "_slots", Counters: []string{strings.Repeat("ж", 64)}, Slots: 16}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := test.config.resolve(test.db)
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}

func TestResolveMistakes(t *testing.T) {
	long := strings.Repeat("x", 65)
	likes := []string{"likes"}
	for _, test := range []struct {
		name   string
		config Settings
		want   []string
	}{
		{"slots", Settings{Slots: -1, Tables: []Table{{Table: "a", Counters: likes}, {Table: "b", Counters: likes, Slots: 1025}}}, []string{
			`Config.Slots: -1 is not a possible number of slots; use 1 to 1024`,
			`Config.Tables[1].Slots: 1025 is not a possible number of slots; use 1 to 1024`}},
		{"read_own", Settings{ReadOwn: "Latest", Tables: []Table{{Table: "a", Counters: likes, ReadOwn: "own"}}}, []string{
			`Config.ReadOwn: "Latest" is not a way to read one's own increments; use latest or snapshot`,
			`Config.Tables[0].ReadOwn: "own" is not a way to read one's own increments; use latest or snapshot`}},
		{"no counters", Settings{Tables: []Table{{Table: "a", Touch: likes}}}, []string{
			`Config.Tables[0].Counters: table "a" has no counters; list its counters, or remove the table`}},
		{"counter twice", Settings{Tables: []Table{{Table: "a", Counters: []string{"likes", "views", "LIKES", "`likes`"}}}}, []string{
			`Config.Tables[0].Counters[2]: counter "LIKES" of table "a" is listed twice; list it once`,
			`Config.Tables[0].Counters[3]: counter "likes" of table "a" is listed twice; list it once`}},
		{"touch twice, and a counter", Settings{Tables: []Table{{Table: "a", Counters: likes, Touch: []string{"at", "At", "Likes"}}}}, []string{
			`Config.Tables[0].Touch[1]: touch column "At" of table "a" is listed twice; list it once`,
			`Config.Tables[0].Touch[2]: column "Likes" of table "a" is a counter and a touch column; list it as one of them`}},
		{"empty names", Settings{Tables: []Table{{}, {Table: "d.", Counters: []string{""}, Touch: []string{"``"}, SlotsTable: " "}}}, []string{
			`Config.Tables[0].Table: the table's name is empty; write table or db.table`,
			`Config.Tables[0].Counters: table "" has no counters; list its counters, or remove the table`,
			`Config.Tables[1].Table: table "d." has an empty name; write every name in full`,
			`Config.Tables[1].Counters[0]: a column's name is empty; write the column's name`,
			"Config.Tables[1].Touch[0]: column \"``\" has an empty name; write every name in full"}},
		{"empty slots table", Settings{Tables: []Table{{Table: "a", Counters: likes, SlotsTable: " "}}}, []string{
			`Config.Tables[0].SlotsTable: slots table " " has an empty name; write every name in full`}},
		{"long names", Settings{Tables: []Table{
			{Table: long, Counters: []string{long}}, {Table: "a", Counters: likes, Touch: []string{long}, SlotsTable: long}, {Table: long[:59], Counters: likes}}}, []string{
			`Config.Tables[0].Table: table "` + long + `" has a name of more than 64 characters, the servers' limit; write the name that the server knows`,
			`Config.Tables[0].Counters[0]: column "` + long + `" has a name of more than 64 characters, the servers' limit; write the name that the server knows`,
			`Config.Tables[1].SlotsTable: slots table "` + long + `" has a name of more than 64 characters, the servers' limit; write the name that the server knows`,
			`Config.Tables[1].Touch[0]: column "` + long + `" has a name of more than 64 characters, the servers' limit; write the name that the server knows`,
			`Config.Tables[2].Table: the slots table's name, "` + long[:59] + `_slots", has more than 64 characters; choose a shorter name with slots_table`}},
		{"odd names", Settings{Tables: []Table{{Table: "a`b", Counters: []string{"a\x00", "\xff", "post.likes"}}, {Table: "`a", Counters: likes}, {Table: "a.b.c", Counters: likes}}}, []string{
			"Config.Tables[0].Table: table \"a`b\" has a backquote out of place; put a whole name between backquotes, and double a backquote that belongs to it",
			`Config.Tables[0].Counters[0]: column "a\x00" has a name that is not UTF-8 or holds a NUL; write the name that the server knows, in UTF-8`,
			`Config.Tables[0].Counters[1]: column "\xff" has a name that is not UTF-8 or holds a NUL; write the name that the server knows, in UTF-8`,
			`Config.Tables[0].Counters[2]: column "post.likes" is more than a column's name; write likes alone (and put a name that holds a dot in backquotes)`,
			"Config.Tables[1].Table: table \"`a\" has a backquote out of place; put a whole name between backquotes, and double a backquote that belongs to it",
			`Config.Tables[2].Table: table "a.b.c" has more than two names; write table or db.table, and a name that holds a dot in backquotes`}},
		{"names of the driver's own", Settings{Tables: []Table{{Table: "d.CounterMySQL_slots", Counters: likes}, {Table: "a", Counters: likes, SlotsTable: "countermysql_base"}, {Table: "countermysql", Counters: likes}}}, []string{
			`Config.Tables[0].Table: the table's name, "d.CounterMySQL_slots", is the driver's own; give it another name, or take it from the list`,
			`Config.Tables[1].SlotsTable: the slots table's name, "countermysql_base", is the driver's own; choose another name with slots_table`,
			`Config.Tables[2].Table: the slots table's name, "countermysql_slots", is the driver's own; choose another name with slots_table`}},
		{"a long text is shortened", Settings{Tables: []Table{{Table: strings.Repeat("x", 1000), Counters: likes}}}, []string{
			`Config.Tables[0].Table: table "` + strings.Repeat("x", 80) + `…" has a name of more than 64 characters, the servers' limit; write the name that the server knows`}},
		{"duplicate table", Settings{Tables: []Table{{Table: "d.a", Counters: likes}, {Table: "a", Counters: likes, SlotsTable: "s"}}}, []string{
			`Config.Tables[1].Table: table "d.a" is listed twice; put all of it in one place`}},
		{"slots table with a database", Settings{Tables: []Table{{Table: "a", Counters: likes, SlotsTable: "d.s"}}}, []string{
			`Config.Tables[0].SlotsTable: slots table "d.s" is more than a table's name; leave the database out: the slots table lives in the table's own (and put a name that holds a dot in backquotes)`}},
		{"slots table is a table", Settings{Tables: []Table{
			{Table: "a", Counters: likes, SlotsTable: "A"}, {Table: "b", Counters: likes}, {Table: "B_slots", Counters: likes}}}, []string{
			`Config.Tables[0].SlotsTable: slots table "A" of table "d.a" is itself a table with counters; choose another name with slots_table`,
			`Config.Tables[1].Table: slots table "b_slots" of table "d.b" is itself a table with counters; choose another name with slots_table`}},
		{"slots table shared", Settings{Tables: []Table{
			{Table: "a", Counters: likes, SlotsTable: "s"}, {Table: "b", Counters: likes, SlotsTable: "S"}, {Table: "e.b", Counters: likes, SlotsTable: "s"}}}, []string{
			`Config.Tables[1].SlotsTable: slots table "S" of table "d.b" is also that of table "d.a"; give each its own with slots_table`}},
		{"one table in two spellings", Settings{Tables: []Table{{Table: "a", Counters: likes}, {Table: "D.A", Counters: likes}}}, []string{
			`Config.Tables[1].Table: slots table "A_slots" of table "D.A" is also that of table "d.a"; give each its own with slots_table, or, if they are one table, write its name the same way`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			specs, err := test.config.resolve("d")
			require.Nil(t, specs)
			require.Equal(t, test.want, mistakesOf(t, err))
		})
	}

	t.Run("no database", func(t *testing.T) {
		c := Settings{Tables: []Table{{Table: "`a.b`", Counters: likes}, {Table: "d.a", Counters: likes}}}
		require.Equal(t, []string{"Config.Tables[0].Table: the DSN names no database for \"`a.b`\"; name a database in the DSN, or write db.`a.b`"},
			mistakesOf(t, second(c.resolve(""))))
	})
}

func TestClone(t *testing.T) {
	require.Nil(t, (*Settings)(nil).Clone())
	full := func() *Settings {
		return &Settings{
			Slots: 3, CreateSlots: true, ReadOwn: Snapshot,
			Tables: []Table{{Table: "a", Counters: []string{"n", "m"}, Touch: []string{"at"}, ReadOwn: Latest, Slots: 4, SlotsTable: "s",
				At: Places{"Counters n": "f:1", "Counters m": "f:2", "Touch at": "f:3"}}},
		}
	}
	c := full()
	d := c.Clone()
	require.Equal(t, full(), d)
	c.Slots, c.Tables[0].Slots, c.Tables[0].Counters[0], c.Tables[0].Touch[0] = 9, 9, "changed", "changed"
	c.Tables[0].At["Counters n"], c.Tables[0].At["Touch at"] = "changed", "changed"
	require.Equal(t, full(), d)
}

func TestMerge(t *testing.T) {
	one := &Settings{Slots: 3, CreateSlots: true, Tables: []Table{
		{Table: "post", Counters: []string{"likes"}, Touch: []string{"at"}, Slots: 4},
		{Table: "page", Counters: []string{"hits"}},
	}}
	two := &Settings{ReadOwn: Snapshot, Tables: []Table{
		{Table: "forum.`post`", Counters: []string{"LIKES", "views"}, SlotsTable: "s", ReadOwn: Latest, At: Places{"Counters LIKES": "f:1", "Counters views": "f:2", "SlotsTable": "f:3"}},
		{Table: "other.post", Counters: []string{"likes"}},
	}}
	before := []*Settings{one.Clone(), two.Clone()}
	m := one.merge(two, "forum")
	require.Equal(t, &Settings{Slots: 3, CreateSlots: true, ReadOwn: Snapshot, Tables: []Table{
		{Table: "post", Counters: []string{"likes", "views"}, Touch: []string{"at"}, Slots: 4, SlotsTable: "s", ReadOwn: Latest,
			At: Places{"Counters LIKES": "f:1", "Counters views": "f:2", "SlotsTable": "f:3"}},
		{Table: "page", Counters: []string{"hits"}},
		{Table: "other.post", Counters: []string{"likes"}},
	}}, m)
	m.Tables[0].Counters[0], m.Tables[2].Counters[0] = "changed", "changed"
	require.Equal(t, before, []*Settings{one, two}, "a merged Config shares nothing")

	require.Equal(t, one, one.merge(nil, ""))
	require.Equal(t, one, (*Settings)(nil).merge(one, ""))
	require.NotSame(t, one, one.merge(nil, ""))
	require.Nil(t, (*Settings)(nil).merge(nil, ""))

	t.Run("create_slots", func(t *testing.T) {
		require.True(t, one.merge(&Settings{}, "").CreateSlots)
		require.False(t, one.merge(&Settings{At: Places{"CreateSlots": "DSN parameter counterCreateSlots"}}, "").CreateSlots)
		require.True(t, (&Settings{}).merge(one, "").CreateSlots)
	})
	t.Run("all of a table", func(t *testing.T) {
		m := one.merge(&Settings{Slots: 5, Tables: []Table{{Table: "post", Slots: 6, Touch: []string{"seen"}}}}, "")
		require.Equal(t, 5, m.Slots)
		require.Equal(t, 6, m.Tables[0].Slots)
		require.Equal(t, []string{"at", "seen"}, m.Tables[0].Touch)
		require.Len(t, m.Tables, 2)
	})
	t.Run("what is twice in one stays twice", func(t *testing.T) {
		m := one.merge(&Settings{Tables: []Table{{Table: "post", Counters: []string{"likes", "likes"}}, {Table: "post", Counters: []string{"views"}}}}, "")
		require.Equal(t, []string{
			`Config.Tables[0].Counters[1]: counter "likes" of table "post" is listed twice; list it once`,
			`Config.Tables[2].Table: table "d.post" is listed twice; put all of it in one place`,
		}, mistakesOf(t, second(m.resolve("d"))))
	})
}
