package plan

import (
	"database/sql/driver"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/catalogtest"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/stock"
)

func guarded(t *testing.T, text string, args ...any) (*Guarded, bool) {
	t.Helper()
	g := NewPlan(catalogtest.Forum(false), text, sqltext.Mode{}, "forum").Exactly().Guard
	require.NotNil(t, g, text)
	b := Binder{Encoder: sqltext.Encoder{Charset: "utf8mb4", Loc: time.UTC, Interpolated: true}}
	for i, arg := range args {
		b.Args = append(b.Args, driver.NamedValue{Ordinal: i + 1, Value: arg})
	}
	return g.Bind(b)
}

// TestGuarded proves which statements are sent for several guarded updates, and that they
// have one shape if they differ in amounts, thresholds and present times alone.
func TestGuarded(t *testing.T) {
	free := "(SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`item_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `item`.`id` LOCK IN SHARE MODE) IS NULL"
	const sell = "UPDATE item SET stock = stock - ? WHERE id = ? AND stock >= ? AND name = ?"
	a, ok := guarded(t, sell, int64(2), int64(7), int64(3), "x")
	require.True(t, ok)
	require.Equal(t, stock.Want{Delta: -2, Limit: 3}, a.Want)
	require.Equal(t, "UPDATE item SET stock = stock - 5 WHERE id = 7 AND `item`.`stock` >= 6 AND name = 'x'", a.Together(stock.Want{Delta: -5, Limit: 6}))
	require.Equal(t, "UPDATE item SET stock = stock - 2 WHERE id = 7 AND IF("+free+", (stock >= 3) IS TRUE, FALSE) AND name = 'x'", a.Alone())
	require.Equal(t, "UPDATE item SET stock = stock - 5 WHERE id = 7 AND stock >= 3 AND name = 'x'", a.Locked(-5))
	require.Equal(t, "SELECT `item`.`stock` FROM `forum`.`item` AS `item` WHERE  id = 7 AND TRUE AND name = 'x' FOR UPDATE", a.Look())
	require.Equal(t, "`item`.`id` = 7", a.Row())
	b, _ := guarded(t, sell, int64(1), int64(7), int64(100), "x")
	require.Equal(t, a.Shape, b.Shape)
	c, _ := guarded(t, sell, int64(2), int64(7), int64(3), "y")
	require.NotEqual(t, a.Shape, c.Shape)

	const dated = "UPDATE item SET stock = stock - ?, updated_at = ? WHERE id = ? AND stock > 0"
	now := time.Now().UTC()
	a, ok = guarded(t, dated, int64(1), now, int64(7))
	require.True(t, ok)
	require.EqualValues(t, 1, a.Limit)
	b, ok = guarded(t, dated, int64(1), now.Add(-time.Second), int64(7))
	require.True(t, ok)
	require.Equal(t, a.Shape, b.Shape)

	a, ok = guarded(t, "UPDATE post SET views = views + ? WHERE id = ? AND views + ? <= likes", int64(2), int64(7), int64(2))
	require.True(t, ok)
	require.Equal(t, stock.Want{Delta: 2, Limit: -2}, a.Want)
	require.True(t, strings.HasSuffix(a.Together(stock.Want{Delta: 4, Limit: -4}), ", (CAST(`post`.`views` AS DECIMAL(30)) - CAST(`post`.`likes` AS DECIMAL(30)) <= -4) IS TRUE, FALSE)"), a.Together(a.Want))

	a, ok = guarded(t, "UPDATE item SET stock = GREATEST(stock - ?, ?) WHERE id = ?", int64(2), int64(1), int64(7))
	require.True(t, ok)
	require.Equal(t, stock.Want{Delta: -2, Limit: 3}, a.Want)
	require.Equal(t, "UPDATE item SET stock = GREATEST(stock - 5, 1) WHERE id = 7 AND `item`.`stock` >= 6", a.Together(stock.Want{Delta: -5, Limit: 6}))
	require.Equal(t, "UPDATE item SET stock = GREATEST(stock - 5, 1) WHERE id = 7", a.Locked(-5))
	b, _ = guarded(t, "UPDATE item SET stock = GREATEST(stock - ?, ?) WHERE id = ?", int64(2), int64(0), int64(7))
	require.NotEqual(t, a.Shape, b.Shape)
	for _, args := range [][]any{{int64(-2), int64(0)}, {int64(2), 0.5}, {int64(2), "0"}, {int64(2), nil}} {
		_, ok = guarded(t, "UPDATE item SET stock = GREATEST(stock - ?, ?) WHERE id = ?", append(args, int64(7))...)
		require.False(t, ok, args)
	}

	a, ok = guarded(t, "UPDATE post SET likes = likes + ? WHERE id = ?", int64(2), int64(7))
	require.True(t, ok)
	require.Equal(t, stock.Want{Delta: 2, Limit: stock.Unlimited}, a.Want)
	require.Equal(t, "UPDATE post SET likes = likes + 5 WHERE id = 7 AND "+strings.ReplaceAll(free, "item", "post"), a.Together(stock.Want{Delta: 5, Limit: stock.Unlimited}))
	b, _ = guarded(t, "UPDATE post SET likes = likes + ? WHERE id = ?", int64(-2), int64(7))
	require.NotEqual(t, a.Shape, b.Shape)

	a, ok = guarded(t, "UPDATE item SET stock = stock - ? WHERE id = ?", int64(2), int64(7))
	require.True(t, ok)
	require.Equal(t, "UPDATE item SET stock = stock - 9 WHERE id = 7", a.Together(stock.Want{Delta: -9, Limit: stock.Unlimited}))
	require.Equal(t, "UPDATE item SET stock = stock - 2 WHERE id = 7 AND "+free, a.Alone())

	a, ok = guarded(t, "UPDATE post SET views = views + ? WHERE id = ? AND views + ? <= 100", "2", int64(7), 2.0)
	require.True(t, ok)
	require.Equal(t, stock.Want{Delta: 2, Limit: 98}, a.Want)
	require.True(t, strings.HasSuffix(a.Together(stock.Want{Delta: 4, Limit: 96}), ", (`post`.`views` <= 96 AND `post`.`views` >= -1125899906842624 AND `post`.`views` <= 1125899906842620) IS TRUE, FALSE)"), a.Together(a.Want))
	require.True(t, a.Rounds())

	for what, args := range map[string][]any{
		"nothing": {int64(0), int64(7), int64(3), "x"}, "more": {int64(-1), int64(7), int64(3), "x"}, "too much": {int64(1) << 40, int64(7), int64(3), "x"},
		"text": {"1 ", int64(7), int64(3), "x"}, "zeros": {"01", int64(7), int64(3), "x"}, "a fraction": {1.5, int64(7), int64(3), "x"}, "NULL": {int64(1), int64(7), nil, "x"},
		"a fraction in text": {int64(1), int64(7), "3.0", "x"}, "beyond 63 bits": {uint64(1), int64(7), uint64(1) << 63, "x"}, "not in DOUBLE": {int64(1), int64(7), "9007199254740993", "x"},
	} {
		_, ok := guarded(t, sell, args...)
		require.False(t, ok, what)
	}
	_, ok = guarded(t, dated, int64(1), now.Add(-time.Hour), int64(7))
	require.False(t, ok, "another time than now")
}

// TestGuardedIs proves that a guarded update passes for one bound before only if that was the
// same statement, of a session that writes values alike, with the same numbers and texts, and
// that its time is the present one still.
func TestGuardedIs(t *testing.T) {
	const sell = "UPDATE item SET stock = stock - ? WHERE id = ? AND stock >= ? AND name = ?"
	x, _ := guarded(t, sell, int64(2), int64(7), int64(3), "x")
	with := func(args ...any) Binder {
		b := Binder{Encoder: x.binder.Encoder}
		for i, arg := range args {
			b.Args = append(b.Args, driver.NamedValue{Ordinal: i + 1, Value: arg})
		}
		return b
	}
	require.True(t, x.Is(x.guard, with(int64(2), int64(7), int64(3), "x")))
	for _, other := range []Binder{
		with(int64(1), int64(7), int64(3), "x"), with(int64(2), int64(8), int64(3), "x"), with(int64(2), int64(7), int64(3), "y"),
		with(uint64(2), int64(7), int64(3), "x"), with(2., int64(7), int64(3), "x"), with(int64(2), int64(7), "3", "x"), with(int64(2), int64(7), int64(3), []byte("x")),
		{sqltext.Encoder{Charset: "utf8mb4", Loc: time.UTC}, x.binder.Args}, {x.binder.Encoder, x.binder.Args[:3]},
	} {
		require.False(t, x.Is(x.guard, other), "%v", other)
	}
	another, _ := guarded(t, sell, int64(2), int64(7), int64(3), "x")
	require.False(t, x.Is(another.guard, x.binder))

	now := time.Now().UTC().Format(time.DateTime)
	x, ok := guarded(t, "UPDATE item SET stock = stock - ?, updated_at = ? WHERE id = ? AND stock > 0", int64(1), now, int64(7))
	require.True(t, ok)
	require.True(t, x.Is(x.guard, x.binder))
	x.binder.Args[1].Value = "2001-01-01 00:00:00"
	require.False(t, x.Is(x.guard, x.binder))
}
