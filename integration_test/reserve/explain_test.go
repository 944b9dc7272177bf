package reserve

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestReserveExplained proves that what Explain says of a guarded update is what a transaction
// sends: to a reserved row while there are some, to the base row else.
func TestReserveExplained(t *testing.T) {
	const text = "UPDATE item SET stock = stock - 3 WHERE id = 1 AND stock >= 3"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newShop(t, srv, reserved())
		said, err := countermysql.Explain(t.Context(), tw.Ours, text)
		require.NoError(t, err)
		var steps []string
		for _, s := range said.Steps {
			steps = append(steps, sameSlot(s.SQL))
		}
		sale := func() []harness.Sending {
			return tw.Sent.During(func() {
				tx, err := tw.Ours.Begin()
				require.NoError(t, err)
				_, err = tx.Exec(text)
				require.NoError(t, err)
				require.NoError(t, tx.Commit())
			})
		}
		texts := func(sent []harness.Sending) (texts []string) {
			for _, s := range sent {
				if s.Text != "BEGIN" && !strings.HasPrefix(s.Text, "COMMIT") { // that of who fills the reserve, too
					texts = append(texts, sameSlot(s.Text))
				}
			}
			return texts
		}
		require.Equal(t, []string{text}, texts(sale()))
		require.Contains(t, steps, text)
		want(t, tw, 1)
		sent := texts(sale())
		require.Len(t, sent, 2)
		at := slices.Index(steps, sent[0])
		require.GreaterOrEqual(t, at, 0, sent[0])
		require.Equal(t, sent, steps[at:at+2])
	})
}

var slotNumber = regexp.MustCompile("645[0-9]{2}")

var moment = regexp.MustCompile("'20[^']*'")

// sameSlot is a text with the first reserved slot for whichever it names, and the server's clock
// for what that said.
func sameSlot(text string) string {
	return moment.ReplaceAllString(slotNumber.ReplaceAllString(text, "64512"), "CURRENT_TIMESTAMP(6)")
}

// TestReserveChecked proves that Check says of which counters no reserve comes, and why, and that
// their guarded updates run as ever.
func TestReserveChecked(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for what, why := range map[string]string{
			"MODIFY stock INT NOT NULL":                                    "it is no integer that is UNSIGNED, and could go below zero",
			"MODIFY stock DECIMAL(9, 0) UNSIGNED NOT NULL":                 "it is no integer that is UNSIGNED, and could go below zero",
			"MODIFY views INT UNSIGNED NULL":                               "counter views may be NULL",
			"ADD CONSTRAINT most CHECK (stock <= 100000)":                  "a CHECK constraint reads a counter",
			"COMMENT = 'as it is'":                                         "",
			"DROP PRIMARY KEY, MODIFY id VARCHAR(9), ADD PRIMARY KEY (id)": "the table's key is not of integers",
			"ADD FOREIGN KEY (id) REFERENCES shelf (id) ON DELETE CASCADE": "a foreign key to shelf changes or deletes its rows",
			"TRIGGER BEFORE UPDATE ON item FOR EACH ROW SET @a = 1":        "the table has a trigger for UPDATE",
		} {
			tw := newShop(t, srv, reserved())
			harness.ExecAll(t, tw.Direct, "DROP TABLE sale;\nCREATE TABLE shelf (id INT PRIMARY KEY);\nINSERT INTO shelf SELECT id FROM item")
			if rest, trigger := what[len("TRIGGER "):], what[:8] == "TRIGGER "; trigger {
				harness.ExecAll(t, tw.Ours, "CREATE TRIGGER moved "+rest)
			} else {
				harness.ExecAll(t, tw.Ours, "ALTER TABLE item "+what)
			}
			findings, err := countermysql.Check(t.Context(), tw.Ours)
			require.NoError(t, err)
			problem := "counter stock gets no reserved rows: " + why
			require.Equal(t, why != "", slices.ContainsFunc(findings, func(f countermysql.Finding) bool { return f.Severity == countermysql.Warning && f.Problem == problem }), "%s: %v", what, findings)
			for range 2 {
				tx, err := tw.Ours.Begin()
				require.NoError(t, err)
				require.EqualValues(t, 1, harness.Affected(t, tx, buy, 1, 1, 1))
				require.NoError(t, tx.Commit())
			}
			require.EqualValues(t, 9998, harness.Number(t, tw.Ours, stockOf))
			tables, err := countermysql.Tables(t.Context(), tw.Ours)
			require.NoError(t, err)
			require.Equal(t, why == "", tables[0].Reserve["stock"] == rows, what)
		}
	})
}
