package increment

import (
	"log/slog"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/fold"
	"github.com/countermysql/countermysql/internal/maintain"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/traffic"
)

// Shared is what the callers of one connector share.
type Shared struct {
	Alone      bool // each sends by itself
	Background *maintain.Background
	Log        *slog.Logger
	tables     traffic.ByTable[table]
}

// NewShared is that for some tables.
func NewShared(specs []catalog.Spec, alone bool, background *maintain.Background, log *slog.Logger) *Shared {
	return &Shared{Alone: alone, Background: background, Log: log, tables: traffic.ForTables[table](specs)}
}

// Caller increments in one session, alone or together with others. Like the session it is
// used by one goroutine at a time.
type Caller struct {
	*fold.Folder
	shared *Shared
	Filler plan.Filler // from one statement to the next
	key    []byte      // of its increment
}

// New returns the Caller of a session.
func New(f *fold.Folder, shared *Shared) *Caller { return &Caller{Folder: f, shared: shared} }

// Grouped reports whether what the session sends may share a transaction with what others
// send: no statement has changed it.
func (c *Caller) Grouped() bool { return !c.shared.Alone && c.AsOpened() }
