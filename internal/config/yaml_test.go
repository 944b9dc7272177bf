package config

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/catalog"
)

func TestReadYAML(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "comments": "# nothing\n", "null": "~", "a marker": "---\n", "empty list": "tables: []", "no value": "tables:\n#- table: post\n",
	} {
		t.Run(name, func(t *testing.T) {
			c, mistakes := readYAML("counters.yaml", []byte(text))
			require.Empty(t, mistakes)
			c.At = nil
			require.Equal(t, &Settings{}, c)
		})
	}

	t.Run("all", func(t *testing.T) {
		c, mistakes := readYAML("counters.yaml", []byte(`
slots: 0x20
create_slots: True
read_own: snapshot
tables:
  - table: "`+"`my db`.`my.table`"+`"
    counters: [likes, views, 1]
    touch:
      - updated_at
    read_own: latest
    slots: 64
    slots_table: s
  - {table: page, counters: &c [hits], touch: }
  - {table: log, counters: *c}
`))
		require.Empty(t, mistakes)
		require.Equal(t, &Settings{
			Slots: 32, CreateSlots: true, ReadOwn: Snapshot,
			At: Places{"Slots": "counters.yaml:2", "CreateSlots": "counters.yaml:3", "ReadOwn": "counters.yaml:4", "Tables": "counters.yaml:6"},
			Tables: []Table{
				{Table: "`my db`.`my.table`", Counters: []string{"likes", "views", "1"}, Touch: []string{"updated_at"}, ReadOwn: Latest, Slots: 64, SlotsTable: "s",
					At: Places{"Table": "counters.yaml:6", "Counters": "counters.yaml:7", "Counters likes": "counters.yaml:7", "Counters views": "counters.yaml:7", "Counters 1": "counters.yaml:7",
						"Touch": "counters.yaml:9", "Touch updated_at": "counters.yaml:9", "ReadOwn": "counters.yaml:10", "Slots": "counters.yaml:11", "SlotsTable": "counters.yaml:12"}},
				{Table: "page", Counters: []string{"hits"}, At: Places{"Table": "counters.yaml:13", "Counters": "counters.yaml:13", "Counters hits": "counters.yaml:13", "Touch": "counters.yaml:13"}},
				{Table: "log", Counters: []string{"hits"}, At: Places{"Table": "counters.yaml:14", "Counters": "counters.yaml:13", "Counters hits": "counters.yaml:13"}},
			},
		}, c)
		require.NoError(t, second(c.resolve("forum")))
	})

	t.Run("days", func(t *testing.T) {
		c, mistakes := readYAML("counters.yaml", []byte("tables: [{table: post, counters: [likes], history: {every: 1d, keep: 90d}}, {table: page, counters: [hits], history: {every: 90m, keep: 36h}}]"))
		require.Empty(t, mistakes)
		require.Equal(t, &catalog.History{Every: 24 * time.Hour, Keep: 90 * 24 * time.Hour}, c.Tables[0].History)
		require.Equal(t, &catalog.History{Every: 90 * time.Minute, Keep: 36 * time.Hour}, c.Tables[1].History)
	})
}

func TestReadYAMLMistakes(t *testing.T) {
	const (
		top   = "slots, slot_range, create_slots, group_commit, read_own, rollup, reserve, tables"
		table = "table, counters, touch, read_own, slots, slots_table, recount, derived, buffered, history, reserve"
	)
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"unknown key", "slots: 3\nslot: 4\n", []string{`c.yaml:2: there is no setting "slot"; there are ` + top}},
		{"unknown key of a table", "tables:\n- table: post\n  Counters: [likes]\n  slottable: x\n", []string{
			`c.yaml:3: there is no setting "Counters"; there are ` + table,
			`c.yaml:4: there is no setting "slottable"; there are ` + table}},
		{"a key that is no text", "[a]: 3", []string{`c.yaml:1: there is no setting a list; there are ` + top}},
		{"twice", "slots: 3\nslots: 4\n", []string{`c.yaml:2: slots is set twice; keep one of them`}},
		{"slots", "slots: 0", []string{`c.yaml:1: "0" is not a possible number of slots; use 1 to 1024`}},
		{"fraction", "slots: 1.5", []string{`c.yaml:1: "1.5" is not a possible number of slots; use 1 to 1024`}},
		{"text for slots", "slots: '16'", []string{`c.yaml:1: "16" is not a possible number of slots; use 1 to 1024`}},
		{"tagged slots", "slots: !!int many", []string{`c.yaml:1: "many" is not a possible number of slots; use 1 to 1024`}},
		{"no slots", "slots:", []string{`c.yaml:1: nothing is not a possible number of slots; use 1 to 1024`}},
		{"huge slots", "slots: 99999999999999999999", []string{`c.yaml:1: "99999999999999999999" is not a possible number of slots; use 1 to 1024`}},
		{"too many slots", "\ntables:\n- table: post\n  counters: [likes]\n  slots: 1025\n", []string{`c.yaml:5: 1025 is not a possible number of slots; use 1 to 1024`}},
		{"create_slots", "create_slots: yes", []string{`c.yaml:1: "yes" is not a boolean; use true or false`}},
		{"create_slots list", "create_slots: [true]", []string{`c.yaml:1: a list is not a boolean; use true or false`}},
		{"read_own", "read_own: Snapshot", []string{`c.yaml:1: "Snapshot" is not a way to read one's own increments; use latest or snapshot`}},
		{"empty read_own", "read_own: ''", []string{`c.yaml:1: "" is not a name; write one, or leave the setting out`}},
		{"rollup", "rollup: 30s", []string{`c.yaml:1: "30s" is not a mapping of settings; write key: value, with the keys every`}},
		{"interval", "rollup: {every: 30}", []string{`c.yaml:1: "30" is not an interval; use at least a second, as 30s or 5m, or never`}},
		{"negative interval", "rollup:\n  every: -1s", []string{`c.yaml:2: -1s is not a possible interval of rollups; use at least a second, as 30s or 5m, or never`}},
		{"recount", "tables:\n- table: post\n  counters: [likes]\n  recount: {views: SELECT 1, likes: ''}\n", []string{
			`c.yaml:4: "" is not a name; write one, or leave the setting out`,
			`c.yaml:4: "views", which has a query, is not a counter of table "post"; list it among the counters, or remove its query`}},
		{"derived", "tables:\n- table: post\n  counters: [likes]\n  derived: {views: 'SELECT a, COUNT(*) FROM b GROUP BY a', likes: 'SELECT 1'}\n", []string{
			`c.yaml:4: the formula of counter "likes": it is more than a SELECT of groups of one table; write SELECT key, COUNT(*) FROM table WHERE … GROUP BY key, with COUNT(*), COUNT(column) or SUM(expression)`,
			`c.yaml:4: "views", which has a formula, is not a counter of table "post"; list it among the counters, or remove its formula`}},
		{"derived of itself", "tables:\n- table: post\n  counters: [likes]\n  derived: {likes: 'SELECT parent, COUNT(*) FROM post GROUP BY parent'}\n", []string{
			`c.yaml:4: the formula of counter "likes" reads the counter's own table; derive it from another table`}},
		{"derived of ours", "tables:\n- table: post\n  counters: [likes, views]\n  derived: {likes: 'SELECT id, SUM(hits) FROM page_slots GROUP BY id', views: 'SELECT id, SUM(hits) FROM seen GROUP BY id'}\n- table: page\n  counters: [hits]\n  history: {table: seen}\n", []string{
			`c.yaml:4: the formula of counter "likes" reads the slots of table "forum.page"; derive it from the application's own tables`,
			`c.yaml:4: the formula of counter "views" reads the history of table "forum.page"; derive it from the application's own tables`}},
		{"derived and buffered", "tables:\n- table: post\n  counters: [likes]\n  derived: {likes: 'SELECT a, COUNT(*) FROM b GROUP BY a'}\n  buffered: {}\n", []string{
			`c.yaml:4: table "post" is buffered, and counter "likes" derived; list the counters that are buffered, as buffered: {counters: [views]}, or remove buffered or the formula`}},
		{"none buffered", "tables:\n- table: post\n  counters: [likes]\n  buffered: {counters: []}\n", []string{
			`c.yaml:4: no counter is to be buffered; list those that may lose what waits, or leave counters out for all`}},
		{"others buffered", "tables:\n- table: post\n  counters: [likes, views]\n  buffered: {counters: [hits, Views, views]}\n", []string{
			`c.yaml:4: "hits", which is to be buffered, is not a counter of table "post"; list it among the counters, or remove it here`,
			`c.yaml:4: buffered counter "views" of table "post" is listed twice; list it once`}},
		{"derived otherwise", "tables:\n- table: post\n  counters: [likes]\n  derived: {likes: 'SELECT a, COUNT(*) FROM b GROUP BY a'}\n  recount: {likes: 'SELECT a, COUNT(*) FROM c GROUP BY a'}\n", []string{
			`c.yaml:4: counter "likes" has a formula, and another query under recount; remove it from recount: the formula is that query, too`}},
		{"buffered", "tables:\n- table: post\n  counters: [likes]\n  buffered: true\n", []string{`c.yaml:4: "true" is not a mapping of settings; write key: value, with the keys every, keys, counters`}},
		{"buffered for nothing", "tables:\n- table: post\n  counters: [likes]\n  buffered: {every: 0s, keys: 0}\n", []string{
			`c.yaml:4: "0s" is not an interval; use 10ms to 1h, as 1s`,
			`c.yaml:4: "0" is not a possible number of keys; use 1 to 10000000`}},
		{"buffered too seldom", "tables:\n- table: post\n  counters: [likes]\n  buffered:\n    every: 2h\n    keys: -1\n", []string{
			`c.yaml:5: 2h0m0s is not a possible interval of flushes; use 10ms to 1h, as 1s`,
			`c.yaml:6: -1 is not a possible number of keys; use 1 to 10000000`}},
		{"a history too often", "tables:\n- table: post\n  counters: [likes]\n  history: {every: 1s, keep: 0s}\n", []string{
			`c.yaml:4: "0s" is not an interval; use at least the interval, as 90d, or leave it out to keep all`,
			`c.yaml:4: 1s is not a possible interval of a history; use a part of a day from 1m to 24h, as 10m, 1h or 1d`}},
		{"a history of no day", "tables:\n- table: post\n  counters: [likes]\n  history: {every: 7h, keep: 1h}\n", []string{
			`c.yaml:4: 7h0m0s is not a possible interval of a history; use a part of a day from 1m to 24h, as 10m, 1h or 1d`,
			`c.yaml:4: 1h0m0s is not a possible time to keep a history; use at least the interval, as 90d, or leave it out to keep all`}},
		{"a history in a table of another", "tables:\n- table: post\n  counters: [likes]\n  history: {table: page_slots}\n- table: page\n  counters: [hits]\n  history: {table: a.b}\n", []string{
			`c.yaml:7: history table "a.b" is not a table's name; write the name of a table in the table's own database`,
			`c.yaml:4: history table "page_slots" of table "forum.post" is also the slots table of table "forum.page"; choose another name: history: {table: …}`}},
		{"buffered too often", "tables:\n- table: post\n  counters: [likes]\n  buffered: {every: 1ms, seconds: 3}\n", []string{
			`c.yaml:4: there is no setting "seconds"; there are every, keys, counters`,
			`c.yaml:4: 1ms is not a possible interval of flushes; use 10ms to 1h, as 1s`}},
		{"reserve", "reserve: 600\ntables:\n- table: item\n  counters: [stock]\n  reserve: {stock: many, seats: 3, STOCK: -1}\n", []string{
			`c.yaml:5: "many" is not a possible number of reserved rows; use 1 to 512, as 64, or 0 for none`,
			`c.yaml:1: 600 is not a possible number of reserved rows; use 1 to 512, as 64, or 0 for none`,
			`c.yaml:5: -1 is not a possible number of reserved rows; use 1 to 512, as 64, or 0 for none`,
			`c.yaml:5: "seats", which has a reserve, is not a counter of table "item"; list it among the counters, or take it from the reserve`}},
		{"a reserve beside a history", "tables:\n- table: item\n  counters: [stock]\n  reserve: {stock: 3}\n  history: {}\n", []string{
			`c.yaml:4: table "item" has a reserve, and a history or derived counters, whose slots have numbers of their own; take the reserve from its configuration, or that`}},
		{"a list to reserve", "tables:\n- table: item\n  counters: [stock]\n  reserve: [stock]\n", []string{`c.yaml:4: a list is not a mapping of counters to numbers of rows; write counter: 64`}},
		{"a reserve twice", "tables:\n- table: item\n  counters: [stock]\n  reserve:\n    stock: 1\n    STOCK: 2\n", []string{`c.yaml:5: counter "stock" of table "item" has two reserves; keep one of them`}},
		{"a list to recount", "tables:\n- table: post\n  counters: [likes]\n  recount: [likes]\n", []string{
			`c.yaml:4: a list is not a mapping of counters to queries; write counter: SELECT …`}},
		{"recount twice", "tables:\n- table: post\n  counters: [likes]\n  recount:\n    likes: SELECT 1, 1\n    likes: SELECT 2, 2\n", []string{
			`c.yaml:6: "likes" is set twice; keep one of them`}},
		{"recount twice in other letters", "tables:\n- table: post\n  counters: [likes]\n  recount:\n    likes: SELECT 1, 1\n    LIKES: SELECT 2, 2\n", []string{
			`c.yaml:5: counter "likes" of table "post" has two queries; keep one of them`}},
		{"tables", "tables: {table: post}", []string{`c.yaml:1: a mapping is not a list of tables; write a list, each item beginning with - table:`}},
		{"a name for a table", "tables:\n- post\n", []string{`c.yaml:2: "post" is not a mapping of settings; write key: value, with the keys ` + table}},
		{"counters", "tables:\n- table: post\n  counters: likes\n", []string{`c.yaml:3: "likes" is not a list of names; write [name, name]`}},
		{"a counter", "tables:\n- table: post\n  counters:\n  - {likes: 3}\n  - ~\n", []string{
			`c.yaml:4: a mapping is not a name; write one, or leave the setting out`,
			`c.yaml:5: nothing is not a name; write one, or leave the setting out`}},
		{"no counters", "tables:\n- counters:\n  table: post\n", []string{`c.yaml:3: table "post" has no counters; list its counters, or remove the table`}},
		{"no table", "tables:\n- counters: [likes]\n", []string{`c.yaml:2: the table's name is empty; write table or db.table`}},
		{"duplicate table", "tables:\n- {table: post, counters: [likes]}\n- {table: forum.post, counters: [views]}\n", []string{
			`c.yaml:3: table "forum.post" is listed twice; put all of it in one place`,
		}},
		{"not a mapping", "- 3", []string{`c.yaml:1: a list is not a mapping of settings; write key: value, with the keys ` + top}},
		{"two documents", "slots: 3\n---\nslots: 4\n", []string{`c.yaml:2: a second document begins; put all settings in one document`}},
		{"syntax", "slots: 3\ntables: [", []string{`c.yaml:2: not YAML: did not find expected node content; correct the syntax on this line or the one before it`}},
		{"unknown anchor", "slots: *x", []string{`c.yaml: not YAML: unknown anchor 'x' referenced; correct the syntax on this line or the one before it`}},
		{"an alias within itself", "tables: &a\n- *a\n", []string{`c.yaml:1: a list is not a mapping of settings; write key: value, with the keys ` + table}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(envConfig, "")
			withFile(t, "c.yaml", test.text)
			_, _, err := ParseDSN("user:secret@/forum?counterConfig=c.yaml", nil)
			require.Equal(t, test.want, mistakesOf(t, err))
		})
	}
}

func FuzzYAML(f *testing.F) {
	f.Add([]byte("slots: 16\nrollup: {every: 30s}\ncreate_slots: true\nread_own: latest\ntables:\n- table: post\n  counters: [likes]\n  touch: [at]\n  read_own: snapshot\n  slots: 64\n  slots_table: s\n"))
	f.Add([]byte("tables: &a [{table: x, counters: &b [y]}, {<<: *b}, *a]"))
	f.Add([]byte("--- !!map\nslots: !!int x\n...\n---\n"))
	f.Add([]byte("? [a]\n: b"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, mistakes := readYAML("c.yaml", text)
		for _, m := range mistakes {
			var e *catalog.ConfigError
			require.ErrorAs(t, m, &e)
			require.True(t, strings.HasPrefix(e.Place, "c.yaml"), e.Place)
		}
		specs, err := c.resolve("forum")
		if len(mistakes) > 0 || err != nil {
			return
		}
		require.Len(t, specs, len(c.Tables))
		for i, s := range specs {
			require.NotEmpty(t, s.Counters)
			require.True(t, s.Slots >= 1 && s.Slots <= 1024)
			if i > 0 {
				require.Less(t, specs[i-1].DB+"\x00"+specs[i-1].Name, s.DB+"\x00"+s.Name)
			}
		}
		require.Equal(t, c, c.merge(nil, ""))
	})
}
