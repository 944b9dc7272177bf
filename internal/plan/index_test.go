package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/catalogtest"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// TestSortedBy proves which orders an index of SHOW CREATE TABLE serves.
func TestSortedBy(t *testing.T) {
	const create = "CREATE TABLE `t` (`id` int NOT NULL, `key` int COMMENT 'KEY (`s`)', `a` int, `b` int, `c` int, `s` varchar(9), PRIMARY KEY (`id`), " +
		"KEY `key` (`a`,`b` DESC), KEY `prefix` (`b`,`s`(3),`c`) USING BTREE, UNIQUE KEY `u` (`c`,`a`) COMMENT 'x, y', KEY `e` ((`key` + 1)), " +
		"KEY `i` (`key`,`a`) /*!80000 INVISIBLE */, KEY `j` (`key`,`b`) IGNORED, CONSTRAINT `f` FOREIGN KEY (`s`) REFERENCES `o` (`id`)) ENGINE=InnoDB"
	tb := catalogtest.TestTable("t", nil, nil, []string{"id", "c,a"}, "id int", "key int", "a int null", "b int null", "c int null", "s varchar(9) null")
	tb.Indexed = tb.Indexes(create, sqltext.Tokenize(create, sqltext.Mode{}))
	by := func(cols ...string) []catalog.SortKey {
		var order []catalog.SortKey
		for _, c := range cols {
			order = append(order, catalog.SortKey{C: tb.Column(c[1:]), Desc: c[0] == '-'})
		}
		return order
	}
	for _, order := range [][]catalog.SortKey{by("+id"), by("-id"), by("+a"), by("-a", "+b"), by("+a", "-b", "+id"), by("-a", "+b", "-id"), by("+b"), by("-c", "-a", "-id")} {
		require.True(t, tb.SortedBy(order), "%v", order)
	}
	for _, order := range [][]catalog.SortKey{by("+a", "+b"), by("+a", "+id"), by("-b", "-id", "-a"), by("+b", "+s"), by("+b", "+id"), by("+s"), by("+key"), by("-c", "+a"), by("+a", "-b", "-id")} {
		require.False(t, tb.SortedBy(order), "%v", order)
	}
	require.True(t, tb.Finds(tb.Column("b")))
	require.False(t, tb.Finds(tb.Column("s")))
}
