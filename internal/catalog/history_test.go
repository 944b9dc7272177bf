package catalog

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHistoryTriggers proves that the driver knows the triggers that it makes, in whatever
// spaces and of whatever interval, and none that do something else.
func TestHistoryTriggers(t *testing.T) {
	column := func(name, kind string) *Column { return &Column{Name: name, ColumnType: kind, DataType: kind} }
	id, likes, views := column("id", "int"), column("likes", "int"), column("views", "bigint")
	post := &Table{Spec: Spec{DB: "forum", Name: "post", History: History{Every: time.Hour, Table: "post_history"}},
		Columns: []*Column{id, likes, views}, Key: KeyColumns{id}, Counters: []*Column{views, likes}}
	body := post.historyBody("UPDATE", "post_history", time.Hour)
	require.Equal(t, "IF NOT (NEW.`likes` <=> OLD.`likes` AND NEW.`views` <=> OLD.`views`) THEN "+
		"INSERT INTO `post_history` (`id`, `bucket`, `likes`, `views`) VALUES (NEW.`id`, TIMESTAMP'1970-01-01 00:00:00' + INTERVAL UNIX_TIMESTAMP() DIV 3600 * 3600 SECOND, "+
		"CAST(COALESCE(NEW.`likes`, 0) AS SIGNED) - CAST(COALESCE(OLD.`likes`, 0) AS SIGNED), CAST(COALESCE(NEW.`views`, 0) AS DECIMAL(22,0)) - CAST(COALESCE(OLD.`views`, 0) AS DECIMAL(22,0))) "+
		"ON DUPLICATE KEY UPDATE "+
		"`likes` = `post_history`.`likes` + CAST(COALESCE(NEW.`likes`, 0) AS SIGNED) - CAST(COALESCE(OLD.`likes`, 0) AS SIGNED), "+
		"`views` = `post_history`.`views` + CAST(COALESCE(NEW.`views`, 0) AS DECIMAL(22,0)) - CAST(COALESCE(OLD.`views`, 0) AS DECIMAL(22,0)); END IF", body)

	var h HistoryState
	require.True(t, h.note(post, "UPDATE", "AFTER", body+" \n"))
	require.Equal(t, HistoryState{Table: "post_history", Every: time.Hour, Updates: true}, h)
	require.False(t, h.note(post, "UPDATE", "AFTER", body), "a second one adds once more")
	require.False(t, h.note(post, "INSERT", "AFTER", post.historyBody("INSERT", "post_history", time.Minute)), "of another interval")
	require.False(t, h.note(post, "INSERT", "AFTER", body))
	require.True(t, h.note(post, "INSERT", "AFTER", post.historyBody("INSERT", "post_history", time.Hour)))
	require.True(t, h.Whole())

	require.True(t, new(HistoryState).note(post, "UPDATE", "AFTER", post.historyBody("UPDATE", "a`b", 24*time.Hour)))
	for timing, other := range map[string]string{"BEFORE": body, "AFTER": body + " + 0", " AFTER": "", "AFTER ": "UPDATE post SET likes = 0"} {
		require.False(t, new(HistoryState).note(post, "UPDATE", timing, other), other)
	}
	post.Counters = post.Counters[:1]
	require.False(t, new(HistoryState).note(post, "UPDATE", "AFTER", body), "of other counters")
}
