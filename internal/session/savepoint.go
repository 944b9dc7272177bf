package session

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// Join makes InnoDB part of the server's transaction, as the pending increments would
// have: what joins behind a savepoint is rolled back as a whole by ROLLBACK TO, its
// snapshot and its locks too.
func (s *Session) Join(ctx context.Context) error {
	x := s.Open()
	if x == nil || len(x.Pending) == 0 || s.HasSnapshot || x.Joined {
		return nil
	}
	some := slices.Collect(maps.Values(x.Pending))[0]
	if _, err := s.Read(ctx, "SELECT "+sqltext.Uncached+"1 FROM "+some.Table.Base()+" WHERE FALSE"); err != nil {
		return err
	}
	x.Joined = true
	return nil
}

// SavepointName is equal for names that the servers take for one: to them é is e.
func (s *Session) SavepointName(ctx context.Context, name string) (string, error) {
	if catalog.Ascii(name) {
		return strings.ToUpper(name), nil
	}
	rows, err := s.Read(ctx, "SELECT CONVERT(CAST(WEIGHT_STRING(CONVERT("+catalog.Text(name)+" USING utf8mb3) COLLATE utf8mb3_general_ci) AS CHAR CHARACTER SET ucs2) USING utf8mb4)")
	if err != nil {
		return "", err
	}
	return rows[0][0], nil
}
