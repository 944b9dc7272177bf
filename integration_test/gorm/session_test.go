// Package gorm_test uses countermysql through GORM, as applications do. It is a
// module of its own, so that its dependencies are not ours.
package gorm_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/countermysql/countermysql/internal/twin"
)

func TestMain(m *testing.M) { os.Exit(twin.Main(m, config)) }

// session is GORM on one of the twins. All that GORM sends, with its
// RowsAffected and its error, is noted.
type session struct {
	*gorm.DB
	run *twin.Run
}

// forEachMode runs the program in the ways that GORM can talk to a server.
func forEachMode(t *testing.T, program func(t *testing.T, s session)) {
	for _, mode := range []struct {
		name   string
		config gorm.Config
		params []string
	}{
		{name: "default"},
		{name: "PrepareStmt", config: gorm.Config{PrepareStmt: true}},
		{name: "SkipDefaultTransaction", config: gorm.Config{SkipDefaultTransaction: true}, params: []string{"interpolateParams=true"}},
	} {
		t.Run(mode.name, func(t *testing.T) {
			twin.Compare(t, func(t *testing.T, run *twin.Run) {
				program(t, open(t, run, mode.config))
			}, append(mode.params, "parseTime=true")...)
		})
	}
}

func open(t *testing.T, run *twin.Run, config gorm.Config) session {
	t.Helper()
	run.Chance = savepoint
	config.NowFunc, config.Logger, config.TranslateError = run.Now, notes{run}, true
	db, err := gorm.Open(mysql.New(mysql.Config{DriverName: run.Driver, DSN: run.DSN}), &config)
	require.NoError(t, err)
	t.Cleanup(func() {
		pool, err := db.DB()
		require.NoError(t, err)
		require.NoError(t, pool.Close())
	})
	s := session{db.WithContext(t.Context()), run}
	require.NoError(t, s.quiet().AutoMigrate(models...)) // constraints in an order of chance
	return s
}

// quiet is the session without notes, for concurrent work.
func (s session) quiet() *gorm.DB {
	return s.Session(&gorm.Session{Logger: logger.Discard})
}

// note notes what a call of GORM answered, beside the statements that it sent.
func (s session) note(what string, db *gorm.DB, values ...any) {
	s.run.Note(what, append([]any{db.RowsAffected, db.Error}, values...)...)
}

// savepoint is a name that GORM makes for a nested transaction, by chance.
var savepoint = regexp.MustCompile(`\bsp\d+\b`)

// notes is GORM's logger.
type notes struct{ run *twin.Run }

func (n notes) LogMode(logger.LogLevel) logger.Interface    { return n }
func (n notes) Info(_ context.Context, s string, v ...any)  { n.run.Note("info "+s, v...) }
func (n notes) Warn(_ context.Context, s string, v ...any)  { n.run.Note("warning "+s, v...) }
func (n notes) Error(_ context.Context, s string, v ...any) { n.run.Note("error "+s, v...) }

func (n notes) Trace(_ context.Context, _ time.Time, statement func() (string, int64), err error) {
	text, rows := statement()
	if strings.Contains(strings.ToLower(text), "information_schema") {
		return // migrations look things up in an order of chance
	}
	n.run.Note(text, rows, err)
}
