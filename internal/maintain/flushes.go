package maintain

import (
	"context"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
)

// hasFlushes asks whether a database has the table of flushes.
func hasFlushes(db string) string {
	return "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = " + catalog.Text(db) + " AND TABLE_NAME = '" + catalog.FlushesTable + "'"
}

// flushes makes the tables in which processes number what they have buffered.
func (i *initialization) flushes(ctx context.Context, s *catalog.Schema) error {
	made := map[string]bool{}
	for _, t := range s.All() {
		if t.Spec.Buffered.Every == 0 || made[t.Spec.DB] {
			continue
		}
		made[t.Spec.DB] = true
		rows, err := i.lookups.Query(ctx, hasFlushes(t.Spec.DB))
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			i.run(ctx, t, catalog.CreateFlushes(t.Spec.DB))
		}
	}
	return nil
}

// buffered looks at a table whose increments are to wait in memory.
func (k *inspection) buffered(t *catalog.Table) {
	if t.Spec.Buffered.Every == 0 {
		return
	}
	const never = ", so that no increment is buffered"
	if len(t.Key) == 0 {
		k.warn(t.String(), "it is to be buffered, and has no primary key"+never, "take buffered from its configuration", "")
	}
	for _, c := range t.Touch {
		if c.OnUpdate {
			k.warn(t.String(), "it is to be buffered, and each increment sets its column "+c.Name+" to the present time"+never, "take buffered from its configuration, or ON UPDATE CURRENT_TIMESTAMP from the column", "")
		}
	}
	flushes := catalog.Flushes(t.Spec.DB)
	if rows := k.ask(hasFlushes(t.Spec.DB)); len(rows) == 0 && k.err == nil {
		k.warn(t.String(), "it is to be buffered, and the table "+strings.ReplaceAll(flushes, "`", "")+", in which flushes are numbered, is missing, or the user may not see it"+never,
			"run countermysql init, or the statement", catalog.CreateFlushes(t.Spec.DB))
		return
	}
	k.mayDo(t, []need{
		{"SELECT", flushes, "SELECT batch FROM " + flushes}, {"INSERT", flushes, "INSERT INTO " + flushes + " (flusher) SELECT '' FROM DUAL WHERE FALSE"},
		{"UPDATE", flushes, "UPDATE " + flushes + " SET batch = 0 WHERE FALSE"}, {"DELETE", flushes, "DELETE FROM " + flushes + " WHERE FALSE"},
	})
}
