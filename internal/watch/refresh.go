package watch

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
)

// lastReading is what a reading leaves to the next.
type lastReading struct {
	objects *catalog.Objects // of the last one
	answers catalog.Answers  // in it; nil: it has failed
	server  catalog.Server   // of the last one that asked
	tally   catalog.Tally    // the DDL that had begun when the schema was read
	began   time.Duration    // when that was, by clock
	moved   time.Duration    // when a reading saw more DDL, by clock
}

// refresh runs a reading.
func (w *Watcher) refresh(ctx context.Context, r *reading) (*catalog.Schema, error) {
	now, known := w.tally(ctx), w.current.Load()
	moved := !now.Same(w.last.tally)
	if !now.SameRights(w.last.tally) {
		w.config.Lookups.Renew()
		clear(w.refused)
	}
	read, _ := w.Looked()
	if r.seeing == ofDDL && !moved && known != nil && !w.Changed() && (!known.Server.Galera || read < time.Second) { // whose other nodes' DDL is not counted
		return known, nil
	}
	if !moved && r.seeing <= ofNone && known != nil && !w.Changed() && known.Settled() && !w.wantsMore(known) {
		w.checked.Store(int64(catalog.Clock()))
		r.tell(known, nil)
		if at := catalog.Clock(); at-w.last.moved > catalog.SchemaSettles && at-w.last.began < catalog.SchemaSettles {
			return known, nil
		}
	}
	began := catalog.Clock()
	part := r.seeing > ofNone && known != nil && !known.Server.Galera && w.last.objects != nil && w.last.objects.Still(now)
	if !part {
		w.last.objects = &catalog.Objects{Tally: now}
	}
	epoch, answers := w.remembered(part && r.seeing == ofOurs)
	s, err := w.load(ctx, r.seeing > ofNone, &now, answers)
	for mysqlerr.Number(err) == mysqlerr.ErrLockWait && (w.current.Load() == nil || w.Changed()) && ctx.Err() == nil {
		r.obstacle.Load().meets(err)
		answers = catalog.Answers{}
		s, err = w.load(ctx, r.seeing > ofNone, &now, answers) // nothing goes on without it: it waits, as statements do
	}
	if err != nil {
		w.errors.Add(1)
		if mysqlerr.Number(err) == mysqlerr.ErrLockWait && w.current.Load() != nil { // who locks a table for long keeps all from it, and nobody from other tables
			w.checked.Store(int64(catalog.Clock() - catalog.SchemaAge))
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("countermysql: reading the schema took longer than %s: %w", readingTimeout, err)
		}
		return nil, err
	}
	w.last.answers = answers
	w.partRead.Store(int64(catalog.Clock()))
	if !part { // the next look reads all again
		w.checked.Store(int64(catalog.Clock()))
		w.last.tally, w.last.began = now, began
		if moved {
			w.last.moved = began
		}
	}
	if old := w.current.Load(); old != nil && old.Fingerprint == s.Fingerprint {
		w.learned.Store(epoch)
		return old, nil
	}
	w.current.Store(s)
	w.config.Adopted(s)
	w.learned.Store(epoch)
	w.warn(s)
	return s, nil
}

// warn logs what keeps counters of a schema from being fast.
func (w *Watcher) warn(s *catalog.Schema) {
	if missing := slices.Concat(s.Unknown, s.Absent); missing != nil && w.config.Missing != nil {
		w.config.Missing(missing)
	}
	for _, t := range s.Tables {
		if t.Unmade != nil {
			w.config.Warn("unmade "+t.String(), "countermysql: the slots table can't be seen, or made", "table", t.String(), "error", t.Unmade)
		}
		if t.Unfit != nil {
			w.config.Warn("unfit "+t.String(), "countermysql: table can't have counters", "table", t.String(), "reasons", t.Unfit)
		}
		if t.Degraded != nil {
			w.config.Warn("degraded "+t.String()+strings.Join(t.Degraded, ";"), "countermysql: table has been changed so that it takes no more increments into slots, and is as slow as on plain MySQL", "table", t.String(), "reasons", t.Degraded)
		}
	}
}

// maxLoads bounds how often one reading loads the schema because DDL of slots tables may
// have changed it.
const maxLoads = 11

// load reads what the answers lack of the schema; t, which was taken before, counts its own
// DDL, too, or that would have the schema read once more.
func (w *Watcher) load(ctx context.Context, seesDDL bool, t *catalog.Tally, answers catalog.Answers) (*catalog.Schema, error) {
	look, err := w.config.Lookups.DB()
	if err != nil {
		return nil, err
	}
	if w.last.objects.At == 0 {
		if w.last.server, err = catalog.LoadServer(ctx, look); err != nil {
			return nil, err
		}
	}
	if err := w.writesNames(ctx, look); err != nil {
		return nil, err
	}
	if seesDDL {
		clear(w.refused)
	}
	for load := 1; ; load++ {
		s, err := catalog.LoadSchema(ctx, look, w.last.server, w.config.Specs, w.last.objects, answers)
		if err != nil || !w.config.CreateSlots || load == maxLoads {
			return s, err
		}
		again, err := w.makeMissing(ctx, look, s, load == 1)
		if err != nil || !again {
			return s, err
		}
		if made := s.SlotsToMake(); made != nil && !w.wantsMore(s) {
			for _, t := range made {
				delete(answers.To(catalog.ColumnsSQL), s.Key(t.Spec.DB, t.Spec.SlotsTable))
			}
			t.Creates(len(made))
			continue
		}
		clear(answers)
		*t = w.tally(ctx)
	}
}

// tally asks the server; whatever keeps it from answering says nothing of the schema.
func (w *Watcher) tally(ctx context.Context) (t catalog.Tally) {
	look, err := w.config.Lookups.DB()
	if err != nil {
		return catalog.Tally{}
	}
	asked := catalog.Clock()
	rows, err := look.QueryContext(ctx, catalog.TallySQL)
	if err != nil {
		return catalog.Tally{}
	}
	told, err := catalog.Texts(rows)
	var counts strings.Builder
	known := false
	for _, v := range told {
		name, value := v[0], v[1]
		if uptime, err := time.ParseDuration(value + "s"); err == nil && strings.HasPrefix(name, "Uptime") {
			t.Since, known = asked-uptime, true
			continue
		}
		counts.WriteString(name + "=" + value + " ")
	}
	if err != nil || !known {
		return catalog.Tally{}
	}
	t.Counts = strings.TrimSpace(counts.String())
	return t
}

// writesNames looks whether the listed names, which are UTF-8, reach the server as
// they are. Otherwise a table would not be found, and its slots not be read.
func (w *Watcher) writesNames(ctx context.Context, look *sql.DB) error {
	for _, spec := range w.config.Specs {
		for _, name := range slices.Concat([]string{spec.DB, spec.Name, spec.SlotsTable}, spec.Counters, spec.Touch) {
			if catalog.Ascii(name) {
				continue
			}
			var charset string
			if err := look.QueryRowContext(ctx, "SELECT @@character_set_client").Scan(&charset); err != nil || strings.HasPrefix(charset, "utf8") {
				return err
			}
			return &catalog.ConfigError{Place: "table " + spec.DB + "." + spec.Name, Problem: "the name " + strconv.Quote(name) + " can't be written in the connection's character set " + charset,
				Remedy: "set charset=utf8mb4 in the DSN, or list the table where that is set"}
		}
	}
	return nil
}
