package traffic

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
)

var key = catalog.Key{"7"}

func own() catalog.Key { return key }

// TestHeat proves that a key becomes hot when most of its increments meet others, sooner in
// a crowd, that one which meets others now and then does not, and that it is tried again soon
// after they meet no more, or none comes.
func TestHeat(t *testing.T) {
	until := func(most int, done func() bool, f func()) (n int) {
		for n = 0; !done() && n < most; n++ {
			f()
		}
		return n
	}
	synctest.Test(t, func(t *testing.T) {
		var s Keys
		hot := func() bool { return s.Hot(key.ID()) }
		meet := func() { s.Meet(key) }
		require.False(t, hot())
		require.True(t, s.Mild(key.ID()))
		meets := until(100, hot, meet)
		require.True(t, meets > 4 && meets < 32, "%d", meets)
		require.False(t, s.Mild(key.ID()))
		for range 10 {
			time.Sleep(hotFor - 1)
			require.True(t, hot())
			meet()
		}
		mild := until(100, func() bool { return s.Mild(key.ID()) }, func() { s.Pass(own) })
		require.Less(t, mild, 32)
		time.Sleep(hotFor - 1)
		require.True(t, hot())
		time.Sleep(time.Nanosecond)
		require.False(t, hot())
		require.Equal(t, 2000, until(2000, hot, func() { meet(); s.Pass(own); s.Pass(own) }), "a third of them")

		var crowded Keys
		require.Less(t, until(100, func() bool { return crowded.Hot(key.ID()) }, func() { crowded.Crowd(key) }), meets)
	})
}

// heated makes the key hot.
func heated(s *Keys) {
	for !s.Hot(key.ID()) {
		s.Crowd(key)
	}
}

// TestRefused proves that batches of a key whose row was locked go to slots for a while, and those of
// others don't.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Keys
		free := func() bool { return s.Free(key) }
		require.True(t, free())
		heated(&s)
		require.True(t, free())
		s.Refuse(key)
		require.False(t, free())
		require.True(t, s.Free(catalog.Key{"8"}))
		time.Sleep(metFor)
		require.True(t, free())
	})
}

// TestCold proves that keys are folded soon if they are not hot, later if they are or can't be
// folded, and that they count as in slots until then.
func TestCold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Keys{Table: &catalog.Table{}}
		slotted := func() int { n, _ := s.Slotted(); return n }
		write := func() { s.Write([]*slotsql.RowIncrement{{Key: key}}) }
		cold := func() []*KnownKey {
			keys, _, others := s.Cold(10)
			require.NotEqual(t, others, len(keys) > 0)
			return keys
		}
		write()
		require.Equal(t, 1, slotted())
		require.Empty(t, cold())
		time.Sleep(CoolSoon)
		keys := cold()
		require.Len(t, keys, 1)
		require.Equal(t, 1, slotted(), "it is being folded")
		s.Folded(keys)
		require.Equal(t, 1, slotted(), "it is locked")
		time.Sleep(CoolSoon)
		require.Empty(t, cold())
		time.Sleep(CoolSoon)
		require.Len(t, cold(), 1)
		s.Folded(nil)
		require.Zero(t, slotted())

		heated(&s)
		write()
		time.Sleep(CoolSoon)
		require.Empty(t, cold())
		time.Sleep(coolAfter)
		require.Len(t, cold(), 1)
		s.Folded(nil)

		folds := func(d time.Duration) (n int) { // beside increments, with a row that is locked
			for range d / CoolSoon {
				s.Crowd(key)
				write()
				time.Sleep(CoolSoon)
				if keys := cold(); len(keys) > 0 {
					n++
					s.Folded(keys)
				}
			}
			return n
		}
		require.Zero(t, folds(coolOld-CoolSoon))
		require.Equal(t, 3, folds(3*coolOld))
	})
}

// TestStuck proves that keys are folded one by one after some have waited in vain, that the one which has is
// left alone for a while, and tried again behind the others, and that nothing of this lasts.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Keys{Table: &catalog.Table{}}
		others := []catalog.Key{{"1"}, {"2"}, {"3"}}
		write := func(keys ...catalog.Key) {
			for _, k := range keys {
				s.Write([]*slotsql.RowIncrement{{Key: k}})
			}
			time.Sleep(CoolSoon)
		}
		fold := func(fails catalog.Key) (ids []string) {
			known, _, _ := s.Cold(10)
			var left []*KnownKey
			var keys []catalog.Key
			for _, k := range known {
				ids, keys = append(ids, k.Key.ID()), append(keys, k.Key)
				if fails != nil && k.Key.ID() == fails.ID() {
					left = known
				}
			}
			s.Folded(left)
			if left != nil {
				s.Stick(keys)
			}
			return ids
		}
		write(append(others, key)...)
		require.Len(t, fold(key), 4)
		time.Sleep(2 * CoolSoon)
		folded := map[string]int{}
		for range 8 {
			ids := fold(key)
			require.LessOrEqual(t, len(ids), 1)
			for _, id := range ids {
				folded[id]++
			}
		}
		require.Equal(t, map[string]int{"1": 1, "2": 1, "3": 1, "7": 1}, folded)

		time.Sleep(stuckFor)
		write(others[:2]...)
		var order []string
		for range 4 {
			order = append(order, fold(key)...)
		}
		require.Len(t, order, 3)
		require.Equal(t, key.ID(), order[2])

		time.Sleep(apartFor)
		write(others...)
		require.Len(t, fold(nil), 4)
		_, _, slotted := s.Cold(10)
		require.False(t, slotted)
	})
}
