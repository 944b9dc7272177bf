package countermysql

import (
	"context"
	"strings"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
)

// tally asks the server; whatever keeps it from answering says nothing of the schema.
func (c *Connector) tally(ctx context.Context) (t catalog.Tally) {
	look, err := c.lookups()
	if err != nil {
		return catalog.Tally{}
	}
	asked := catalog.Clock()
	rows, err := look.QueryContext(ctx, catalog.TallySQL)
	if err != nil {
		return catalog.Tally{}
	}
	defer rows.Close()
	var counts strings.Builder
	known := false
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return catalog.Tally{}
		}
		if uptime, err := time.ParseDuration(value + "s"); err == nil && strings.HasPrefix(name, "Uptime") {
			t.Since, known = asked-uptime, true
			continue
		}
		counts.WriteString(name + "=" + value + " ")
	}
	if rows.Err() != nil || !known {
		return catalog.Tally{}
	}
	t.Counts = strings.TrimSpace(counts.String())
	return t
}
