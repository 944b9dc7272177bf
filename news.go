package countermysql

import (
	"context"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// schemaFor is the schema that a text is planned by. To make tables, and to drop those that
// it knows or that are not listed, the old one will do: who makes many does not have it read
// for each.
func (c *conn) schemaFor(ctx context.Context, text string) (*catalog.Schema, error) {
	if s := c.connector.watcher.Current(); s != nil && c.connector.watcher.Changed() {
		toks := sqltext.Tokenize(text, c.Settings.Mode)
		of, what := sqltext.Definition(toks)
		_, changed := s.ChangedBy(toks, text)
		if sqltext.MakesTable(toks) || s.DropsKnown(toks) || of == "TABLE" && toks[0].In(sqltext.MakesTables) && !sqltext.HasWord(what, "SELECT", "LIKE", "TABLE", "WITH", "VALUES") && !changed {
			return s, nil
		}
	}
	return c.schema(ctx)
}
