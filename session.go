package countermysql

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/sqltext"
)

func literalsOf(cfg *mysql.Config, s session) sqltext.Encoder {
	l := sqltext.Encoder{Charset: s.charset, NoBackslashEscapes: s.mode.NoBackslashEscapes, Loc: cfg.Loc, Interpolated: cfg.InterpolateParams}
	if strings.Contains(cfg.FormatDSN(), "timeTruncate=") {
		l.Loc = nil // go-sql-driver keeps the setting to itself
	}
	return l
}

// session is the state of a connection that statements depend on.
type session struct {
	db         string
	mode       sqltext.Mode
	charset    string
	isolation  string
	zone       string
	collation  string
	sqlMode    string
	strict     bool // a number out of range is an error, and is not cut to what the column can hold
	wholeDates bool // NO_ZERO_IN_DATE: a date without a day or month is not copied as it is
	snapshot   bool // MariaDB's innodb_snapshot_isolation
	safe       bool // sql_safe_updates
	readOnly   bool
	server     string // host name and port
	kin        string // see kinName
	limit      string // sql_select_limit; "": none
	packet     int    // bytes that a statement may have
	completes  bool   // completion_type: COMMIT does more than that
	timed      bool   // MySQL's max_execution_time: it ends queries, and no other statements
}

// probe reads the session's state from the server.
func (c *conn) probe(ctx context.Context, s *catalog.Schema) error {
	isolation, readOnly, snapshot, timed := "@@transaction_isolation", "@@transaction_read_only", "0", "@@max_execution_time > 0"
	if s.Server.MariaDB {
		isolation, readOnly, timed = "@@tx_isolation", "@@tx_read_only", "0"
	}
	if s.Server.SnapshotIsolation {
		snapshot = "@@innodb_snapshot_isolation"
	}
	rows, err := c.ask(ctx, "SELECT DATABASE(), @@sql_mode, @@character_set_client, "+isolation+", @@time_zone, @@collation_connection, "+snapshot+", "+readOnly+", "+serverName+", CAST(@@sql_select_limit AS CHAR), @@sql_safe_updates, @@completion_type, "+kinName+", @@max_allowed_packet, "+timed+" LIMIT 1")
	if err != nil {
		return err
	}
	v := rows[0]
	packet, err := strconv.Atoi(v[13])
	if err != nil {
		return err
	}
	if own := c.connector.cfg.MaxAllowedPacket; own > 0 {
		packet = min(packet, own)
	}
	if c.tx != nil && c.session.zone != "" && c.session.zone != v[4] {
		c.tx.rezone()
	}
	mode := "," + v[1] + ","
	c.session = session{
		db:         v[0],
		mode:       sqltext.Mode{AnsiQuotes: strings.Contains(mode, ",ANSI_QUOTES,"), NoBackslashEscapes: strings.Contains(mode, ",NO_BACKSLASH_ESCAPES,")},
		charset:    v[2],
		isolation:  strings.ReplaceAll(v[3], "-", " "),
		zone:       v[4],
		collation:  v[5],
		sqlMode:    v[1],
		strict:     strings.Contains(mode, ",STRICT_"),
		wholeDates: strings.Contains(mode, ",NO_ZERO_IN_DATE,"),
		snapshot:   v[6] == "1",
		readOnly:   v[7] == "1",
		server:     v[8],
		safe:       v[10] == "1",
		limit:      strings.TrimPrefix(v[9], sqltext.NoLimit),
		completes:  v[11] != "NO_CHAIN",
		kin:        v[12],
		packet:     packet,
		timed:      v[14] == "1",
	}
	if c.initial.charset == "" {
		c.initial = c.session
	}
	c.literals = literalsOf(c.connector.cfg, c.session)
	c.dirty = false
	return nil
}

// readable fails where the connection's character set has characters whose second byte is
// an ASCII one: what is half a character would be taken for a backslash or a quote, and
// the text behind it for a string.
func (s *session) readable() error {
	switch s.charset {
	case "big5", "cp932", "gb18030", "gbk", "sjis":
		return &RefusedError{What: "the connection's character set " + s.charset, Reason: "half a character of it may look like a backslash or a quote",
			Remedy: "set charset=utf8mb4 in the DSN, or SET NAMES utf8mb4 before statements of tables with counters; columns may keep theirs"}
	}
	return nil
}

// changes notes that a statement may change the session. The level of the open
// transaction stays as it is.
func (c *conn) changes(ctx context.Context, text string) error {
	if c.begun() && c.tx == nil {
		if s := c.connector.current.Load(); c.dirty && s != nil {
			if err := c.probe(ctx, s); err != nil {
				return err
			}
		}
		c.tx = newTx(c.level())
	}
	c.dirty, c.changed = true, true
	c.clock = c.clock || strings.Contains(strings.ToLower(text), "timestamp")
	c.role = c.role || strings.Contains(strings.ToLower(text), "role")
	c.fixed = c.fixed && c.begun() // autocommit = 0 begins without one
	return nil
}

// seesMore fails if a statement names a configured table that the session sees by a role
// it has set, and the look-up connections don't: its slots would be left out.
func (c *conn) seesMore(ctx context.Context, s *catalog.Schema, stmt string) error {
	for _, spec := range s.Specs {
		t := (&catalog.Table{Spec: spec}).String()
		if !slices.Contains(s.Unknown, t) || !strings.Contains(strings.ToLower(stmt), strings.ToLower(spec.Name)) {
			continue
		}
		if c.asks(ctx, sqltext.Quote(spec.DB)+"."+sqltext.Quote(spec.Name)) != 0 {
			continue // so does the statement itself
		}
		if now, err := c.connector.learn(ctx); err != nil || !slices.Contains(now.Unknown, t) { // somebody has made it
			continue
		}
		return &UnfitError{Table: t, Reasons: []string{"the driver's look-up connections, which have not the role that this session has set, don't see it; make that the user's default role (SET DEFAULT ROLE)"}}
	}
	return nil
}

// settleTexts applies what is pending before such a SET, as its keys, times and
// conditions are texts, and forgets by which texts rows were written.
func (c *conn) settleTexts(ctx context.Context, text string) error {
	if c.tx == nil || !slices.ContainsFunc(sqltext.Tokenize(text, c.session.mode), func(t sqltext.Token) bool {
		return sqltext.Rereads[strings.ToUpper(t.Variable())]
	}) {
		return nil
	}
	for _, w := range c.tx.written {
		zoned := slices.ContainsFunc(w.t.Unique, func(k catalog.UniqueKey) bool {
			return slices.ContainsFunc(k.Columns, func(c *catalog.Column) bool { return c.DataType == "timestamp" })
		})
		if slices.ContainsFunc(w.rows, func(r writtenRow) bool {
			return zoned || !catalog.Ascii(r.base) || strings.ContainsRune(r.base, '\\')
		}) {
			w.setAny()
		}
	}
	return c.applyAll(ctx)
}

// altered reports whether the session computes otherwise than a look-up
// connection, which is as the DSN made it.
func (c *conn) altered() bool {
	a, b := c.session, c.initial
	return c.clock || a.zone != b.zone || a.collation != b.collation || a.sqlMode != b.sqlMode || a.charset != b.charset
}

// read runs a query of ours on this connection, without the application's
// sql_select_limit, and returns its rows as text; NULL is "".
func (c *conn) read(ctx context.Context, query string) (_ [][]string, err error) {
	if c.dirty { // it may be another now
		rows, err := c.ask(ctx, "SELECT CAST(@@sql_select_limit AS CHAR) LIMIT 1")
		if err != nil {
			return nil, err
		}
		c.session.limit = strings.TrimPrefix(rows[0][0], sqltext.NoLimit)
	}
	if c.session.limit != "" {
		if _, err := c.do(ctx, "SET sql_select_limit = "+sqltext.NoLimit); err != nil {
			return nil, err
		}
		defer func() {
			if _, serr := c.do(context.WithoutCancel(ctx), "SET sql_select_limit = "+c.session.limit); serr != nil {
				c.lose(serr) // the session is not what the application has made it
				err = cmp.Or(err, serr)
			}
		}()
	}
	return c.ask(ctx, c.untimed(query))
}

// untimed lets a query of ours wait for locks for as long as the statement that it is
// for would: MySQL ends queries after max_execution_time, those that lock as well, and
// nothing else (https://dev.mysql.com/doc/refman/8.4/en/server-system-variables.html).
func (c *conn) untimed(query string) string {
	begin, rest, ok := strings.Cut(query, "SELECT ")
	ok = ok && strings.Trim(begin, "(") == "" // or the first part of a UNION: the hint is for all of it
	if s := c.connector.current.Load(); !ok || c.locking || !c.session.timed && !c.dirty || s == nil || s.Server.MariaDB {
		return query
	}
	return begin + "SELECT /*+ SET_VAR(max_execution_time = 0) */ " + rest
}

func (c *conn) ask(ctx context.Context, query string) ([][]string, error) {
	rows, err := c.queryer.QueryContext(ctx, query, nil)
	if err != nil {
		return nil, c.failed(err)
	}
	all, err := drain(rows)
	if cerr := rows.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, c.failed(err)
	}
	return all, nil
}

// usable reports whether go-sql-driver would send a statement: the connection is not
// closed, and no rows of it are open. What can't be sent can't be pending.
func (c *conn) usable() bool {
	v, ok := c.below.(driver.Validator)
	return !ok || v.IsValid()
}

// drain reads rows as text; NULL is "".
func drain(rows driver.Rows) (all [][]string, err error) {
	dest := make([]driver.Value, len(rows.Columns()))
	for {
		err := rows.Next(dest)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, answer.Texts(dest))
	}
}

// do runs a statement of ours on this connection.
func (c *conn) do(ctx context.Context, stmt string) (int64, error) {
	res, err := c.execer.ExecContext(ctx, stmt, nil)
	if err != nil {
		return 0, c.failed(err)
	}
	return res.RowsAffected()
}

// runAutocommit executes SET autocommit. To switch it on commits, and where the text does
// not tell the value it may do so.
func (c *conn) runAutocommit(ctx context.Context, k *call) (outcome, error) {
	if err := c.changes(ctx, k.text); err != nil {
		return outcome{}, err
	}
	switch {
	case k.Plan.Class == plan.Exact: // it reads counters as well
		return c.runAnything(ctx, k)
	case k.Plan.Arg == "on" && !c.autocommit():
		return c.runCommit(ctx, k)
	case k.Plan.Arg != "off":
		return c.runAnything(ctx, k)
	}
	if err := c.settleTexts(ctx, k.text); err != nil {
		return outcome{}, err
	}
	out, err := k.forward(ctx, k.text)
	c.fixed = c.fixed || k.Plan.Fixes && err == nil
	return out, err
}

// runSet executes a SET of anything else, and USE.
func (c *conn) runSet(ctx context.Context, k *call) (outcome, error) {
	if err := c.changes(ctx, k.text); err != nil {
		return outcome{}, err
	}
	if err := c.settleTexts(ctx, k.text); err != nil {
		return outcome{}, err
	}
	out, err := c.runData(ctx, k)
	if err == nil && !c.begun() && sqltext.SetsLevel(sqltext.Tokenize(k.text, c.session.mode)) {
		c.next = ""
	}
	return out, err
}

// runSetTransaction executes SET TRANSACTION, and SET @@transaction_isolation, for the
// next transaction.
func (c *conn) runSetTransaction(ctx context.Context, k *call) (outcome, error) {
	level := k.Plan.Arg
	if level == sqltext.ByVariable { // other settings may stand beside it
		if err := c.changes(ctx, k.text); err != nil {
			return outcome{}, err
		}
		level = c.nextLevel(ctx, k.text)
		if k.Plan.Class == plan.Exact {
			if err := c.settleAll(ctx, k); err != nil {
				return outcome{}, err
			}
		}
	}
	out, err := k.forward(ctx, k.text)
	switch {
	case err != nil:
	case level != "":
		c.next = level
	case c.next == "": // READ ONLY: nobody else may run what comes next
		c.next = c.session.isolation
	}
	return out, err
}

// NextLevel is the level that SET @@transaction_isolation gives the next transaction.
// The server would not tell it afterwards.
func (c *conn) nextLevel(ctx context.Context, text string) string {
	level := sqltext.NextLevel(text, c.session.mode)
	if level == "" || c.begun() { // then it is refused
		return ""
	}
	rows, err := c.read(ctx, "SELECT CAST("+level+" AS CHAR) LIMIT 1")
	if err != nil {
		return "" // the statement itself says what is wrong
	}
	level = strings.ToUpper(strings.ReplaceAll(rows[0][0], "-", " "))
	if n, err := strconv.Atoi(level); err == nil && 0 <= n && n < len(sqltext.Levels) {
		level = sqltext.Levels[n]
	}
	return level
}
