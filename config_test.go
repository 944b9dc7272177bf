package countermysql

import (
	"log/slog"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/ngrok/sqlmw"
	"github.com/stretchr/testify/require"
)

// TestConfigClone proves that nothing of a Config is lost where it is copied or read
// together with a DSN, and that the copy shares nothing with it.
func TestConfigClone(t *testing.T) {
	require.Nil(t, (*Config)(nil).clone())
	full := func() *Config {
		return &Config{
			Slots: 3, SlotRange: "16-31", CreateSlots: true, NoGroupCommit: true, ReadOwn: ReadOwnSnapshot, Rollup: time.Minute, Logger: slog.Default(), Interceptor: sqlmw.NullInterceptor{},
			Tables: []TableConfig{{Table: "a", Counters: []string{"n", "m"}, Touch: []string{"at"}, ReadOwn: ReadOwnLatest, Slots: 4, SlotsTable: "s", Recount: map[string]string{"n": "SELECT 1, 2"}}},
		}
	}
	c := full()
	d := c.clone()
	_, read, err := parseDSN("/forum", c)
	require.NoError(t, err)
	require.Equal(t, full(), d)
	require.Equal(t, full(), read)
	c.Slots, c.Tables[0].Slots, c.Tables[0].Counters[0], c.Tables[0].Touch[0], c.Tables[0].Recount["n"] = 9, 9, "changed", "changed", "changed"
	require.Equal(t, full(), d)
	require.Equal(t, full(), read)
}

// TestPlacesStay proves that a mistake which is made in a Config that ParseDSN has read is
// told with its place in the DSN, unless it is another entry of a list.
func TestPlacesStay(t *testing.T) {
	cfg, config, err := ParseDSN("u@tcp(h)/forum?counters=post.likes&counterSlots=8")
	require.NoError(t, err)
	config.Slots, config.Tables[0].Counters[0] = -1, ""
	_, err = NewConnector(cfg, config)
	require.EqualError(t, err, "countermysql: DSN parameter counterSlots: -1 is not a possible number of slots; use 1 to 1024\n"+
		"countermysql: Config.Tables[0].Counters[0]: a column's name is empty; write the column's name")
}

// TestParametersInGo proves that a DSN that go-sql-driver has read does not send
// our parameters to the server.
func TestParametersInGo(t *testing.T) {
	cfg, err := mysql.ParseDSN("u@tcp(h)/forum?counters=post.likes&counterSlot=3&charset=utf8mb4&sql_mode=%27%27")
	require.NoError(t, err)
	_, err = NewConnector(cfg, &Config{Slots: -1})
	require.EqualError(t, err, "countermysql: Config.Slots: -1 is not a possible number of slots; use 1 to 1024\n"+
		`countermysql: mysql.Config.Params["counterSlot"]: it is not for the server; read the DSN with countermysql.ParseDSN, or set it in countermysql.Config`+"\n"+
		`countermysql: mysql.Config.Params["counters"]: it is not for the server; read the DSN with countermysql.ParseDSN, or set it in countermysql.Config`)
	_, err = NewConnector(&mysql.Config{Params: map[string]string{"sql_mode": "''"}}, nil)
	require.NoError(t, err)
}
