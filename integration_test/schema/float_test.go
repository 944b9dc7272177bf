package schema

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestFloatRemedy proves that the error of a FLOAT or DOUBLE counter has the ALTER TABLE that
// mends it, which runs as it is written and leaves all else of the column as it was.
func TestFloatRemedy(t *testing.T) {
	definitions := []struct{ float, decimal string }{
		{"DOUBLE", "DECIMAL(20,6)"},
		{"FLOAT NOT NULL DEFAULT 1.5", "DECIMAL(20,6) NOT NULL DEFAULT 1.5"},
		{"DOUBLE(9,3) UNSIGNED NOT NULL", "DECIMAL(20,6) UNSIGNED NOT NULL"},
		{"FLOAT UNSIGNED NOT NULL DEFAULT 2 COMMENT 'kept, it''s 100% `so`'", "DECIMAL(20,6) UNSIGNED NOT NULL DEFAULT 2 COMMENT 'kept, it''s 100% `so`'"},
		{"DOUBLE DEFAULT 7 CHECK (`n, o` < 1000)", "DECIMAL(20,6) DEFAULT 7 CHECK (`n, o` < 1000)"},
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, d := range definitions {
			t.Run(d.float, func(t *testing.T) {
				const table = "CREATE TABLE post (id INT PRIMARY KEY, `n, o` %, title VARCHAR(9))"
				tw := harness.NewTwin(t, srv, strings.ReplaceAll(table, "%", d.float), harness.Counters("post", "`n, o`"))
				_, err := tw.Ours.Exec("UPDATE post SET `n, o` = `n, o` + 1 WHERE id = 1")
				var unfit *countermysql.UnfitError
				require.ErrorAs(t, err, &unfit)
				remedy := regexp.MustCompile("ALTER TABLE .*(, or an integer)").FindStringSubmatch(err.Error())
				require.NotNil(t, remedy, err)
				alter := strings.TrimSuffix(remedy[0], remedy[1])
				harness.Affected(t, tw.Direct, alter)
				harness.Affected(t, tw.Plain, strings.Replace(alter, harness.DbName(t, tw.Direct), harness.DbName(t, tw.Plain), 1))
				require.NotContains(t, said(tw.LearnAnew(t)), "DECIMAL")

				wanted := harness.NewTwin(t, srv, strings.ReplaceAll(table, "%", d.decimal), harness.Counters("other", "n"))
				const show = "SHOW CREATE TABLE post"
				require.Equal(t, harness.Queried(t.Context(), wanted.Plain, show), harness.Queried(t.Context(), tw.Direct, show))
				tw.Play(t, "A: INSERT INTO post (id, `n, o`) VALUES (1, 3)", "A: INSERT INTO post (id) VALUES (2)", "A: UPDATE post SET `n, o` = `n, o` + 1.25 WHERE id = 1", "A: UPDATE post SET `n, o` = `n, o` + 1 WHERE id = 2", "A: SELECT * FROM post ORDER BY id")
				if !strings.Contains(d.float, "CHECK") { // which has increments go to the base row
					require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT COUNT(DISTINCT id) FROM post_slots WHERE id = 1"))
				}
			})
		}
	})
}
