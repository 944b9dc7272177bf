package config

import (
	"cmp"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// withFile writes a file into an own working directory.
func withFile(t *testing.T, name, text string) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
}

func TestParseDSN(t *testing.T) {
	t.Setenv(envConfig, "")
	latest := func(s catalog.Spec) catalog.Spec { s.Slots = 16; return s }
	for _, test := range []struct {
		name   string
		params string
		plain  string // the parameters that go-sql-driver should see
		want   []catalog.Spec
	}{
		{"nothing of ours", "parseTime=true", "parseTime=true", []catalog.Spec{}},
		{"no parameters", "", "", []catalog.Spec{}},
		{"two and three parts", "parseTime=true&counters=post.likes,post.views,other_db.page.hits", "parseTime=true", []catalog.Spec{
			latest(catalog.Spec{DB: "forum", Name: "post", SlotsTable: "post_slots", Counters: []string{"likes", "views"}}),
			latest(catalog.Spec{DB: "other_db", Name: "page", SlotsTable: "page_slots", Counters: []string{"hits"}})}},
		{"a reserve", "counters=item.stock&counterReserve=64", "", []catalog.Spec{
			latest(catalog.Spec{DB: "forum", Name: "item", SlotsTable: "item_slots", Counters: []string{"stock"}, Reserve: catalog.Reserve{All: 64}})}},
		{"the same table in both forms", "counters=post.likes,forum.post.views", "", []catalog.Spec{
			latest(catalog.Spec{DB: "forum", Name: "post", SlotsTable: "post_slots", Counters: []string{"likes", "views"}})}},
		{"spaces", "counters=post.likes,+post.views%20", "", []catalog.Spec{
			latest(catalog.Spec{DB: "forum", Name: "post", SlotsTable: "post_slots", Counters: []string{"likes", "views"}})}},
		{"backquotes", "counters=`my+db`.`a.b,c`.`d``e`,`x%26%2F%3F`.n", "", []catalog.Spec{
			latest(catalog.Spec{DB: "forum", Name: "x&/?", SlotsTable: "x&/?_slots", Counters: []string{"n"}}),
			latest(catalog.Spec{DB: "my db", Name: "a.b,c", SlotsTable: "a.b,c_slots", Counters: []string{"d`e"}})}},
		{"touch columns", "counterTouch=user.last_seen,other_db.page.`a.b`,forum.user.updated_at&counters=user.posts,other_db.page.hits", "", []catalog.Spec{
			latest(catalog.Spec{DB: "forum", Name: "user", SlotsTable: "user_slots", Counters: []string{"posts"}, Touch: []string{"last_seen", "updated_at"}}),
			latest(catalog.Spec{DB: "other_db", Name: "page", SlotsTable: "page_slots", Counters: []string{"hits"}, Touch: []string{"a.b"}})}},
		{"all", "wait_timeout=5&counters=post.likes&counterSlots=64&counterCreateSlots=1&counterReadOwn=snapshot&charset=utf8mb4", "wait_timeout=5&charset=utf8mb4", []catalog.Spec{
			{DB: "forum", Name: "post", SlotsTable: "post_slots", Counters: []string{"likes"}, Slots: 64, OwnSnapshot: true}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			const base = "user:p@ss/?&word@tcp(localhost:3307)/forum"
			cfg, config, err := ParseDSN(base+"?"+test.params, nil)
			require.NoError(t, err)
			plain, err := mysql.ParseDSN(base + "?" + test.plain)
			require.NoError(t, err)
			require.Equal(t, plain, cfg)
			require.Equal(t, plain.FormatDSN(), cfg.FormatDSN())
			require.NotContains(t, strings.ToLower(cfg.FormatDSN()), "counter")
			specs, err := config.resolve(cfg.DBName)
			require.NoError(t, err)
			require.Equal(t, test.want, specs)
		})
	}

	t.Run("booleans", func(t *testing.T) {
		for text, want := range map[string]bool{"1": true, "true": true, "TRUE": true, "True": true, "0": false, "false": false, "FALSE": false, "False": false} {
			_, config, err := ParseDSN("/?counterCreateSlots="+text, nil)
			require.NoError(t, err)
			require.Equal(t, want, config.CreateSlots, text)
		}
	})
	t.Run("empty", func(t *testing.T) {
		cfg, config, err := ParseDSN("", nil)
		require.NoError(t, err)
		require.Nil(t, cfg.Params)
		require.Empty(t, config.Tables)
	})
}

func TestParseDSNMistakes(t *testing.T) {
	t.Setenv(envConfig, "")
	const form = "; write table.column or db.table.column, with commas between counters"
	const there = "there are counters, counterSlots, counterSlotRange, counterCreateSlots, counterGroupCommit, counterReadOwn, counterRollup, counterTouch, counterReserve, counterConfig"
	for _, test := range []struct {
		params string
		want   []string
	}{
		{"counterSlots=1025", []string{`DSN parameter counterSlots: 1025 is not a possible number of slots; use 1 to 1024`}},
		{"counterSlots=-1", []string{`DSN parameter counterSlots: -1 is not a possible number of slots; use 1 to 1024`}},
		{"counterSlots=0", []string{`DSN parameter counterSlots: "0" is not a possible number of slots; use 1 to 1024`}},
		{"counterSlots=many", []string{`DSN parameter counterSlots: "many" is not a possible number of slots; use 1 to 1024`}},
		{"counterSlots=99999999999999999999", []string{`DSN parameter counterSlots: "99999999999999999999" is not a possible number of slots; use 1 to 1024`}},
		{"counterSlots=", []string{`DSN parameter counterSlots: it has no value; give it one, or leave it out`}},
		{"counterCreateSlots", []string{`DSN parameter counterCreateSlots: it has no value; give it one, or leave it out`}},
		{"counterCreateSlots=yes", []string{`DSN parameter counterCreateSlots: "yes" is not a boolean; use true or false`}},
		{"counterReadOwn=own", []string{`DSN parameter counterReadOwn: "own" is not a way to read one's own increments; use latest or snapshot`}},
		{"counterRollup=30", []string{`DSN parameter counterRollup: "30" is not an interval; use at least a second, as 30s or 5m, or never`}},
		{"counterRollup=0s", []string{`DSN parameter counterRollup: "0s" is not an interval; use at least a second, as 30s or 5m, or never`}},
		{"counterRollup=10ms", []string{`DSN parameter counterRollup: 10ms is not a possible interval of rollups; use at least a second, as 30s or 5m, or never`}},
		{"counters=post.likes&counters=post.views", []string{`DSN parameter counters: it is given twice; give it once; counters are separated by commas`}},
		{"Counters=post.likes", []string{`DSN parameter Counters: there is no such parameter; ` + there}},
		{"COUNTERSLOT=3", []string{`DSN parameter COUNTERSLOT: there is no such parameter; ` + there}},
		{"counterGroupComit=1", []string{`DSN parameter counterGroupComit: there is no such parameter; ` + there}},
		{"counters=likes", []string{`DSN parameter counters: counter "likes" names no table` + form}},
		{"counters=a.b.c.d", []string{`DSN parameter counters: counter "a.b.c.d" has more than three names` + form}},
		{"counters=post.likes,", []string{`DSN parameter counters: an entry is empty` + form}},
		{"counters=post.,`a", []string{
			`DSN parameter counters: counter "post." has an empty name; write every name in full`,
			"DSN parameter counters: counter \"`a\" has a backquote out of place; put a whole name between backquotes, and double a backquote that belongs to it"}},
		{"counters=post.likes,forum.post.LIKES", []string{`DSN parameter counters: counter "LIKES" of table "post" is listed twice; list it once`}},
		{"counters=post.likes,post_slots.n", []string{`DSN parameter counters: slots table "post_slots" of table "forum.post" is itself a table with counters; choose another name with slots_table`}},
		{"counters=post.likes&counterTouch=last_seen,post.likes,post.seen,post.SEEN,user.seen,", []string{
			`DSN parameter counterTouch: touch column "last_seen" names no table; write table.column or db.table.column, with commas between touch columns`,
			`DSN parameter counterTouch: an entry is empty; write table.column or db.table.column, with commas between touch columns`,
			`DSN parameter counterTouch: column "likes" of table "post" is a counter and a touch column; list it as one of them`,
			`DSN parameter counterTouch: touch column "SEEN" of table "post" is listed twice; list it once`,
			`DSN parameter counterTouch: table "user" has no counters; list its counters, or remove the table`}},
		{"counterConfig=missing.yaml", []string{`DSN parameter counterConfig: the file can't be read: open missing.yaml: no such file or directory; check its name and its permissions; a relative name starts at the working directory`}},
		{"counterReserve=x", []string{`DSN parameter counterReserve: "x" is not a possible number of reserved rows; use 1 to 512, as 64, or 0 for none`}},
		{"counters=item.stock&counterReserve=64&counterRollup=never", []string{"DSN parameter counterReserve: reserved rows are filled, and given back, in the background, where nothing goes on; roll up in the background, or take the reserve from the configuration"}},
		{"counterSlots=0&counterReadOwn=x&counterCreateSlots=y&counters=z&counterX=1&counterConfig=missing.yaml", []string{
			`DSN parameter counterX: there is no such parameter; ` + there,
			`DSN parameter counterConfig: the file can't be read: open missing.yaml: no such file or directory; check its name and its permissions; a relative name starts at the working directory`,
			`DSN parameter counterSlots: "0" is not a possible number of slots; use 1 to 1024`,
			`DSN parameter counterCreateSlots: "y" is not a boolean; use true or false`,
			`DSN parameter counters: counter "z" names no table` + form,
			`DSN parameter counterReadOwn: "x" is not a way to read one's own increments; use latest or snapshot`}},
	} {
		t.Run(test.params, func(t *testing.T) {
			t.Chdir(t.TempDir())
			cfg, config, err := ParseDSN("user:secret@tcp(localhost)/forum?"+test.params, nil)
			require.Nil(t, cfg)
			require.Nil(t, config)
			require.Equal(t, test.want, mistakesOf(t, err))
			require.NotContains(t, err.Error(), "secret")
		})
	}

	t.Run("no database", func(t *testing.T) {
		_, _, err := ParseDSN("user:secret@/?counters=post.likes,forum.post.likes", nil)
		require.Equal(t, []string{`DSN parameter counters: the DSN names no database for "post.likes"; name a database in the DSN, or write db.post.likes`}, mistakesOf(t, err))
	})
	t.Run("go-sql-driver's own errors", func(t *testing.T) {
		for _, dsn := range []string{
			"no slash", "user:secret@tcp(localhost/forum", "/?parseTime=perhaps",
			"/?counters=%zz", "user:secret@net/forum?counterSlots=0",
		} {
			_, want := mysql.ParseDSN(dsn)
			require.Error(t, want, dsn)
			_, _, err := ParseDSN(dsn, nil)
			require.Equal(t, want, err, dsn)
		}
	})
}

func TestParseDSNFile(t *testing.T) {
	const file = `
slots: 32
create_slots: true
tables:
  - table: post
    counters: [likes]
    touch: [updated_at]
    slots: 64
  - table: other_db.page
    counters: [hits]
`
	post := catalog.Spec{DB: "forum", Name: "post", SlotsTable: "post_slots", Counters: []string{"likes"}, Touch: []string{"updated_at"}, Slots: 64}
	page := catalog.Spec{DB: "other_db", Name: "page", SlotsTable: "page_slots", Counters: []string{"hits"}, Slots: 32}

	parse := func(t *testing.T, params string) (*Settings, []catalog.Spec) {
		cfg, config, err := ParseDSN("user:secret@/forum?"+params, nil)
		require.NoError(t, err)
		require.Nil(t, cfg.Params)
		specs, err := config.resolve(cfg.DBName)
		require.NoError(t, err)
		return config, specs
	}

	t.Run("by parameter", func(t *testing.T) {
		t.Setenv(envConfig, "missing.yaml")
		withFile(t, "counters.yaml", file)
		config, specs := parse(t, "counterConfig=counters.yaml")
		require.Equal(t, []catalog.Spec{post, page}, specs)
		require.True(t, config.CreateSlots)
	})
	t.Run("by an escaped path", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "my counters.yaml")
		require.NoError(t, os.WriteFile(path, []byte(file), 0o600))
		_, specs := parse(t, "counterConfig="+url.QueryEscape(path))
		for _, dsn := range []string{"user:sec/ret@tcp(localhost)/forum?counterConfig=" + path, "/forum?parseTime=true&counterConfig=" + path + "&loc=UTC", "user:x?counterConfig=/y@unix(/tmp/my.sock)/forum?counterConfig=" + path} {
			cfg, config, err := ParseDSN(dsn, nil)
			require.NoError(t, err, dsn)
			require.Equal(t, "forum", cfg.DBName)
			require.NotEmpty(t, config.Tables)
		}
		require.Equal(t, []catalog.Spec{post, page}, specs)
	})
	t.Run("by environment variable", func(t *testing.T) {
		t.Setenv(envConfig, "counters.yaml")
		withFile(t, "counters.yaml", file)
		_, specs := parse(t, "")
		require.Equal(t, []catalog.Spec{post, page}, specs)
	})
	t.Run("the DSN overrides and extends", func(t *testing.T) {
		withFile(t, "counters.yaml", file)
		config, specs := parse(t, "counterConfig=counters.yaml&counterSlots=8&counterReadOwn=snapshot&counterCreateSlots=false&counters=post.likes,forum.post.views,blog.visits")
		require.False(t, config.CreateSlots)
		post, page := post, page
		post.Counters, post.OwnSnapshot = []string{"likes", "views"}, true
		page.Slots, page.OwnSnapshot = 8, true
		require.Equal(t, []catalog.Spec{
			{DB: "forum", Name: "blog", SlotsTable: "blog_slots", Counters: []string{"visits"}, Slots: 8, OwnSnapshot: true}, post, page}, specs)
	})
	t.Run("the DSN gives a table its counters", func(t *testing.T) {
		withFile(t, "counters.yaml", "tables: [{table: post, touch: [at]}]")
		_, specs := parse(t, "counterConfig=counters.yaml&counters=post.n")
		require.Equal(t, []string{"n"}, specs[0].Counters)
		require.Equal(t, []string{"at"}, specs[0].Touch)
	})
	t.Run("upon a Config of Register", func(t *testing.T) {
		withFile(t, "counters.yaml", "tables: [{table: post, touch: [at]}]")
		base := &Settings{Slots: 9, Tables: []Table{{Table: "forum.post", Counters: []string{"a"}}}}
		cfg, config, err := ParseDSN("/forum?counterConfig=counters.yaml&counters=post.b", base)
		require.NoError(t, err)
		specs, err := config.resolve(cfg.DBName)
		require.NoError(t, err)
		require.Equal(t, []catalog.Spec{{DB: "forum", Name: "post", SlotsTable: "post_slots", Counters: []string{"a", "b"}, Touch: []string{"at"}, Slots: 9}}, specs)
		require.Equal(t, []string{"a"}, base.Tables[0].Counters)
	})
	t.Run("places of mistakes in all of them", func(t *testing.T) {
		t.Setenv(envConfig, "counters.yaml")
		withFile(t, "counters.yaml", "slots: 9999\ntables:\n- table: post\n  counters:\n  - likes\n  - Likes\n  slots: 2000\n  slots_table: page\n- counters: [x]\n")
		base := &Settings{Tables: []Table{{Table: "page", Counters: []string{"n", "n"}}}}
		_, _, err := ParseDSN("u:secret@/forum?counters=post.views,page.,post.views", base)
		require.Equal(t, []string{
			`DSN parameter counters: counter "page." has an empty name; write every name in full`,
			`counters.yaml:1: 9999 is not a possible number of slots; use 1 to 1024`,
			`Config.Tables[0].Counters[1]: counter "n" of table "page" is listed twice; list it once`,
			`counters.yaml:7: 2000 is not a possible number of slots; use 1 to 1024`,
			`counters.yaml:6: counter "Likes" of table "post" is listed twice; list it once`,
			`DSN parameter counters: counter "views" of table "post" is listed twice; list it once`,
			`counters.yaml:9: the table's name is empty; write table or db.table`,
			`counters.yaml:8: slots table "page" of table "forum.post" is itself a table with counters; choose another name with slots_table`,
		}, mistakesOf(t, err))
	})
	t.Run("a file that is not there", func(t *testing.T) {
		t.Setenv(envConfig, "missing.yaml")
		t.Chdir(t.TempDir())
		_, _, err := ParseDSN("/", nil)
		require.Equal(t, []string{`environment variable COUNTERMYSQL_CONFIG: the file can't be read: open missing.yaml: no such file or directory; check its name and its permissions; a relative name starts at the working directory`}, mistakesOf(t, err))
	})
}

func FuzzParseDSN(f *testing.F) {
	f.Setenv(envConfig, "")
	for _, params := range []string{
		"", "counters=post.likes,d.page.hits", "counters=`a.b`.c,`d``e`.f", "counterSlots=8&counterReadOwn=snapshot&counterCreateSlots=True", "counterConfig=a.yaml",
		"counters", "Counters=1", "counterslot=", "parseTime=true&a=b&counters=%60a%26%60.b", "counters=a.b&counters=c.d",
	} {
		f.Add("user:secret@tcp(localhost:3306)/forum?" + params)
		f.Add("/?" + params)
	}
	f.Fuzz(func(t *testing.T, dsn string) {
		if strings.Contains(dsn, "strict=") {
			t.Skip("go-sql-driver panics on it")
		}
		plain, plainErr := mysql.ParseDSN(dsn)
		if plainErr == nil && strings.Contains(plain.Params[paramConfig], "/") {
			t.Skip("files of this machine")
		}
		cfg, config, err := ParseDSN(dsn, nil)
		if plainErr != nil {
			require.Equal(t, plainErr, err)
			return
		}
		if err != nil {
			require.NotEmpty(t, mistakesOf(t, err))
			if len(plain.Passwd) > 8 && strings.Count(dsn, plain.Passwd) == 1 {
				require.NotContains(t, err.Error(), plain.Passwd)
			}
			return
		}
		// Only what is ours is gone.
		for key := range plain.Params {
			if ourParam(key) {
				delete(plain.Params, key)
			}
		}
		if len(plain.Params) == 0 {
			plain.Params = nil
		}
		require.Equal(t, plain, cfg)
		specs, err := config.resolve(cfg.DBName)
		require.NoError(t, err)

		// The same again, from what was understood.
		var counters []string
		for _, s := range specs {
			for _, c := range s.Counters {
				counters = append(counters, sqltext.JoinName(s.DB, s.Name, c))
			}
		}
		if _, err := sqltext.SplitName(sqltext.JoinName(cfg.DBName)); len(counters) == 0 || err != nil {
			return // the server refuses such a database, not we
		}
		_, again, err := ParseDSN("/?counters="+url.QueryEscape(strings.Join(counters, ","))+"&counterSlots="+strconv.Itoa(specs[0].Slots)+"&counterReadOwn="+cmp.Or(config.ReadOwn, Latest), nil)
		require.NoError(t, err)
		same, err := again.resolve("")
		require.NoError(t, err)
		require.Equal(t, specs, same)
	})
}

// TestRollupInterval proves where the interval of rollups may come from, and
// that the DSN wins.
func TestRollupInterval(t *testing.T) {
	t.Setenv(envConfig, "")
	withFile(t, "c.yaml", "rollup: {every: 5m}")
	for params, want := range map[string]time.Duration{
		"": 0, "counterRollup=30s": 30 * time.Second, "counterConfig=c.yaml": 5 * time.Minute,
		"counterConfig=c.yaml&counterRollup=1h": time.Hour, "counterConfig=c.yaml&counterRollup=never": Never, "counterRollup=never": Never,
	} {
		_, config, err := ParseDSN("/forum?"+params, nil)
		require.NoError(t, err)
		require.Equal(t, want, config.Rollup, params)
	}
}
