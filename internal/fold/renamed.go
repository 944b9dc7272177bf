package fold

import (
	"context"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
)

// FollowName adds what is in the slots of a table that has been renamed to its base rows under their new
// name, and drops the slots table, if it is to go and holds nothing any more. done is false where the
// table has its old name, as ever or again: then another one may have the slots.
func FollowName(ctx context.Context, f *Folder, t *catalog.Table, to string, drops bool) (done bool, err error) {
	if _, err := f.Read(ctx, "SELECT 1 FROM "+t.Base()+" LIMIT 0"); mysqlerr.Number(err) != mysqlerr.ErrNoTable {
		return false, err
	}
	if err := f.FoldTableAlone(ctx, t.At(to)); err != nil && mysqlerr.Number(err) != mysqlerr.ErrNoTable { // the slots table may have been renamed too
		return false, err
	}
	if drops && !t.Galera { // where it could stay shut; what others have planned for the old name, a view of the table perhaps, then fails
		if _, err := f.DropEmpty(ctx, t.Slots(), ""); err != nil && mysqlerr.Number(err) != mysqlerr.ErrNoTable {
			return false, err
		}
	}
	return true, nil
}
