package session

import (
	"context"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/lookups"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/txn"
)

// Settings is the state of a connection that statements depend on.
type Settings struct {
	DB                string
	Mode              sqltext.Mode
	Charset           string
	Isolation         string
	Zone              string
	Collation         string
	SQLMode           string
	Strict            bool // a number out of range is an error, and is not cut to what the column can hold
	WholeDates        bool // NO_ZERO_IN_DATE: a date without a day or month is not copied as it is
	SnapshotIsolation bool // MariaDB's innodb_snapshot_isolation
	SafeUpdates       bool // sql_safe_updates
	ReadOnly          bool
	MariaDB           bool
	Server            string // host name and port
	Kin               string // see lookups.AffinitySQL
	SelectLimit       string // sql_select_limit; "": none
	Packet            int    // bytes that a statement may have
	Completes         bool   // completion_type: COMMIT does more than that
	Timed             bool   // MySQL's max_execution_time: it ends queries, and no other statements
	LosesWait         bool   // MariaDB's SET STATEMENT would leave it with the global innodb_lock_wait_timeout
}

func literalsOf(cfg *mysql.Config, s Settings) sqltext.Encoder {
	l := sqltext.Encoder{Charset: s.Charset, NoBackslashEscapes: s.Mode.NoBackslashEscapes, Loc: cfg.Loc, Interpolated: cfg.InterpolateParams}
	if strings.Contains(cfg.FormatDSN(), "timeTruncate=") {
		l.Loc = nil // go-sql-driver keeps the setting to itself
	}
	return l
}

// ReadSettings reads the session's state from the server.
func (s *Session) ReadSettings(ctx context.Context, known *catalog.Schema) error {
	isolation, readOnlyBy, snapshotBy, timedBy, losesBy := "@@transaction_isolation", "@@transaction_read_only", "0", "@@max_execution_time > 0", "0"
	if known.Server.MariaDB {
		isolation, readOnlyBy, timedBy = "@@tx_isolation", "@@tx_read_only", "0"
		losesBy = "@@innodb_lock_wait_timeout = 50 AND @@global.innodb_lock_wait_timeout <> 50" // as it does with what a session has by InnoDB's own default
	}
	if known.Server.SnapshotIsolation {
		snapshotBy = "@@innodb_snapshot_isolation"
	}
	now := Settings{MariaDB: known.Server.MariaDB}
	var snapshot, readOnly, safe, completion, packet, timed, loses string
	asked := []struct {
		what string
		told *string
	}{
		{"DATABASE()", &now.DB}, {"@@sql_mode", &now.SQLMode}, {"@@character_set_client", &now.Charset}, {isolation, &now.Isolation},
		{"@@time_zone", &now.Zone}, {"@@collation_connection", &now.Collation}, {snapshotBy, &snapshot}, {readOnlyBy, &readOnly},
		{lookups.ServerSQL, &now.Server}, {"CAST(@@sql_select_limit AS CHAR)", &now.SelectLimit}, {"@@sql_safe_updates", &safe},
		{"@@completion_type", &completion}, {lookups.AffinitySQL, &now.Kin}, {"@@max_allowed_packet", &packet}, {timedBy, &timed}, {losesBy, &loses},
	}
	questions := make([]string, len(asked))
	for i, one := range asked {
		questions[i] = one.what
	}
	rows, err := s.ask(ctx, "SELECT "+strings.Join(questions, ", ")+" LIMIT 1")
	if err != nil {
		return err
	}
	for i, one := range asked {
		*one.told = rows[0][i]
	}
	if now.Packet, err = strconv.Atoi(packet); err != nil {
		return err
	}
	if own := s.Config.MaxAllowedPacket; own > 0 {
		now.Packet = min(now.Packet, own)
	}
	mode := "," + now.SQLMode + ","
	now.Mode = sqltext.Mode{AnsiQuotes: strings.Contains(mode, ",ANSI_QUOTES,"), NoBackslashEscapes: strings.Contains(mode, ",NO_BACKSLASH_ESCAPES,")}
	now.Strict, now.WholeDates = strings.Contains(mode, ",STRICT_"), strings.Contains(mode, ",NO_ZERO_IN_DATE,")
	now.Isolation = strings.ReplaceAll(now.Isolation, "-", " ")
	now.SelectLimit = strings.TrimPrefix(now.SelectLimit, sqltext.NoLimit)
	now.SnapshotIsolation, now.ReadOnly, now.SafeUpdates, now.Timed = snapshot == "1", readOnly == "1", safe == "1", timed == "1"
	now.Completes, now.LosesWait = completion != "NO_CHAIN", loses == "1"
	if s.Tx != nil && s.Settings.Zone != "" && s.Settings.Zone != now.Zone {
		s.Tx.Rezone()
	}
	s.Settings = now
	if s.Initial.Charset == "" {
		s.Initial = s.Settings
	}
	s.Literals = literalsOf(s.Config, s.Settings)
	s.Stale = false
	return nil
}

// Readable fails where the connection's character set has characters whose second byte is
// an ASCII one: what is half a character would be taken for a backslash or a quote, and
// the text behind it for a string.
func (s *Settings) Readable() error {
	switch s.Charset {
	case "big5", "cp932", "gb18030", "gbk", "sjis":
		return &catalog.RefusedError{What: "the connection's character set " + s.Charset, Reason: "half a character of it may look like a backslash or a quote",
			Remedy: "set charset=utf8mb4 in the DSN, or SET NAMES utf8mb4 before statements of tables with counters; columns may keep theirs"}
	}
	return nil
}

// MayChange notes that a statement may change the session. The level of the open
// transaction stays as it is.
func (s *Session) MayChange(ctx context.Context, text string) error {
	if s.Begun() && s.Tx == nil {
		if known := s.Watcher.Current(); s.Stale && known != nil {
			if err := s.ReadSettings(ctx, known); err != nil {
				return err
			}
		}
		s.Tx = txn.New(s.Level())
	}
	s.Environment.mayChange(text)
	s.HasSnapshot = s.HasSnapshot && s.Begun() // autocommit = 0 begins without one
	return nil
}

// NextLevel is the level that SET @@transaction_isolation gives the next transaction.
// The server would not tell it afterwards.
func (s *Session) NextLevel(ctx context.Context, text string) string {
	level := sqltext.NextLevel(text, s.Settings.Mode)
	if level == "" || s.Begun() { // then it is refused
		return ""
	}
	rows, err := s.Read(ctx, "SELECT CAST("+level+" AS CHAR) LIMIT 1")
	if err != nil {
		return "" // the statement itself says what is wrong
	}
	level = strings.ToUpper(strings.ReplaceAll(rows[0][0], "-", " "))
	if n, err := strconv.Atoi(level); err == nil && 0 <= n && n < len(sqltext.Levels) {
		level = sqltext.Levels[n]
	}
	return level
}
