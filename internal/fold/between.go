package fold

import (
	"context"
	"slices"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/session"
)

// Taken are the keys by table, as [catalog.Key.ID], whose slots were rolled up for a statement that
// may write any row: the others were not locked before it came to them.
type Taken map[*catalog.Table]map[string]bool

// NoneBetween fails, as by a deadlock, where a row that the statement has written had got slots
// after all had been taken, and before it was locked: the statement has not seen what they hold.
func NoneBetween(ctx context.Context, f *Folder, taken Taken) error {
	for t, keys := range taken {
		late, err := slotted(ctx, f, t)
		if err != nil {
			return err
		}
		late = slices.DeleteFunc(late, func(k catalog.Key) bool { return keys[k.ID()] })
		for batch := range slices.Chunk(late, f.Settings.Several(t, BatchKeys, slices.Values(late))) {
			held, err := hasLocked(ctx, f, t, batch)
			if err != nil {
				return err
			}
			if held {
				return f.AsDeadlock("others have incremented rows of " + t.String() + " that the statement then has written")
			}
		}
	}
	return nil
}

// slotted are the keys that have slots, as others see them.
func slotted(ctx context.Context, f *Folder, t *catalog.Table) (keys []catalog.Key, err error) {
	found, err := f.Outside(ctx, "SELECT DISTINCT "+t.Key.Select(catalog.PrivateName)+" FROM "+t.Slots()+" AS "+catalog.PrivateName)
	for _, r := range found {
		keys = append(keys, catalog.Key(r[:len(t.Key)]))
	}
	return keys, err
}

// Others hold a row for a moment, who add to its slots or fold them; the transaction does until its end.
const (
	holdTries = 5
	holdPause = 2 * time.Millisecond
)

// hasLocked reports whether the transaction has locked rows of some keys exclusively, or somebody else
// has for long.
func hasLocked(ctx context.Context, f *Folder, t *catalog.Table, keys []catalog.Key) (bool, error) {
	count := "SELECT COUNT(*) FROM " + t.From() + " WHERE " + t.Key.WhereAny(keys, t.Ref())
	for try := 0; ; try++ {
		there, err := f.Outside(ctx, count)
		if err != nil {
			return false, err
		}
		free, err := f.Outside(ctx, count+" "+t.SkipLocked())
		switch {
		case err != nil:
			return false, err
		case slices.Equal(there[0], free[0]):
			return false, nil
		case try == holdTries || !session.Pause(ctx, holdPause):
			return true, ctx.Err()
		}
	}
}
