package countermysql

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSortedBy proves which orders an index of SHOW CREATE TABLE serves.
func TestSortedBy(t *testing.T) {
	const create = "CREATE TABLE `t` (`id` int NOT NULL, `key` int COMMENT 'KEY (`s`)', `a` int, `b` int, `c` int, `s` varchar(9), PRIMARY KEY (`id`), " +
		"KEY `key` (`a`,`b` DESC), KEY `prefix` (`b`,`s`(3),`c`) USING BTREE, UNIQUE KEY `u` (`c`,`a`) COMMENT 'x, y', KEY `e` ((`key` + 1)), " +
		"KEY `i` (`key`,`a`) /*!80000 INVISIBLE */, KEY `j` (`key`,`b`) IGNORED, CONSTRAINT `f` FOREIGN KEY (`s`) REFERENCES `o` (`id`)) ENGINE=InnoDB"
	tb := testTable("t", nil, nil, []string{"id", "c,a"}, "id int", "key int", "a int null", "b int null", "c int null", "s varchar(9) null")
	tb.indexed = tb.indexes(create, tokenize(create, lexMode{}))
	by := func(cols ...string) []sortKey {
		var order []sortKey
		for _, c := range cols {
			order = append(order, sortKey{tb.column(c[1:]), c[0] == '-'})
		}
		return order
	}
	for _, order := range [][]sortKey{by("+id"), by("-id"), by("+a"), by("-a", "+b"), by("+a", "-b", "+id"), by("-a", "+b", "-id"), by("+b"), by("-c", "-a", "-id")} {
		require.True(t, tb.sortedBy(order), "%v", order)
	}
	for _, order := range [][]sortKey{by("+a", "+b"), by("+a", "+id"), by("-b", "-id", "-a"), by("+b", "+s"), by("+b", "+id"), by("+s"), by("+key"), by("-c", "+a"), by("+a", "-b", "-id")} {
		require.False(t, tb.sortedBy(order), "%v", order)
	}
	require.True(t, tb.finds(tb.column("b")))
	require.False(t, tb.finds(tb.column("s")))
}
