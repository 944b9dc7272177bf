// Package countermysqlotel gives OpenTelemetry the driver's statistics.
//
//	registration, err := countermysqlotel.Register(db, otel.GetMeterProvider())
//
// Names and units follow
// https://opentelemetry.io/docs/specs/semconv/general/metrics/. Traces need
// nothing of this: otelsql works around the driver as around any other.
package countermysqlotel

import (
	"context"
	"database/sql"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/countermysql/countermysql"
)

// scope is the instrumentation scope.
const scope = "github.com/countermysql/countermysql"

// instruments makes instruments, and keeps their errors until the end.
type instruments struct {
	meter metric.Meter
	all   []metric.Observable
	errs  []error
}

func (i *instruments) counter(name, unit, description string) metric.Int64ObservableCounter {
	c, err := i.meter.Int64ObservableCounter("countermysql."+name, metric.WithUnit(unit), metric.WithDescription(description))
	i.all, i.errs = append(i.all, c), append(i.errs, err)
	return c
}

func (i *instruments) number(name, unit, description string) metric.Int64ObservableUpDownCounter {
	n, err := i.meter.Int64ObservableUpDownCounter("countermysql."+name, metric.WithUnit(unit), metric.WithDescription(description))
	i.all, i.errs = append(i.all, n), append(i.errs, err)
	return n
}

func (i *instruments) seconds(name, description string) metric.Float64ObservableGauge {
	s, err := i.meter.Float64ObservableGauge("countermysql."+name, metric.WithUnit("s"), metric.WithDescription(description))
	i.all, i.errs = append(i.all, s), append(i.errs, err)
	return s
}

// Register has a provider observe the statistics of db, which has to be
// countermysql's, with attributes that tell it from others, such as
// semconv.DBNamespace. Unregister ends it.
func Register(db *sql.DB, provider metric.MeterProvider, attributes ...attribute.KeyValue) (metric.Registration, error) {
	if _, err := countermysql.Stats(db); err != nil {
		return nil, err
	}
	i := &instruments{meter: provider.Meter(scope)}
	statements := i.counter("statements", "{statement}", "Statements on tables with counters, by what became of them.")
	exact := i.counter("statements.exact", "{statement}", "Statements that rolled up the rows concerned and ran as they are, by reason.")
	fallbacks := i.counter("fallbacks", "{plan}", "Plans of texts that could not be parsed or resolved.")
	flushes := i.counter("flushes", "{table}", "Tables whose pending increments a COMMIT took to slots, but those of groups.")
	groups := i.counter("groups", "{group}", "Commits shared by increments outside transactions.")
	grouped := i.counter("groups.increments", "{increment}", "Increments, or transactions of nothing else, in those groups.")
	guards := i.counter("guards", "{group}", "Commits shared by updates of one row that need its value, and increments that came with them.")
	guarded := i.counter("guards.updates", "{update}", "Updates in those groups.")
	reserved := i.counter("reserved.updates", "{update}", "Guarded updates in transactions that took from reserved rows.")
	serverErrors := i.counter("errors", "{error}", "Errors of the server in answer to statements on tables with counters, by their numbers.")
	rollups := i.counter("rollups", "{rollup}", "Rollups of this process, by result.")
	rows := i.counter("rollup.rows", "{row}", "Base rows that rollups dealt with, by what became of them.")
	slots := i.counter("rollup.slots", "{row}", "Rows that rollups removed from slots tables.")
	pending := i.number("increments.pending", "{increment}", "Increments of open transactions that wait for COMMIT.")
	slotted := i.number("keys.slotted", "{key}", "Keys whose slots this process has written and not folded since: the hot ones.")
	oldest := i.seconds("keys.slotted.oldest", "For how long the oldest of them is in slots.")
	degraded := i.number("tables.degraded", "{table}", "Tables that others have changed so that they take no more increments into slots.")
	unfit := i.number("tables.unfit", "{table}", "Tables that can't have counters, whose statements fail.")
	waiting := i.number("slots.waiting", "{row}", "Rows of slots tables that the rollup in the background found when it looked last, at most 10,000 of a table.")
	age := i.seconds("schema.age", "Since the process has looked at the server's tables last; one that does nothing does not look.")
	schemaErrors := i.counter("schema.errors", "{reading}", "Readings of the server's tables that failed.")
	buffered := i.counter("buffered.increments", "{increment}", "Increments that were acknowledged before they were stored.")
	bufferedFlushes := i.counter("buffered.flushes", "{flush}", "Flushes of buffers, by result.")
	bufferedLost := i.counter("buffered.lost", "{increment}", "Increments that were acknowledged and could not be stored, by reason.")
	bufferedWaiting := i.number("buffered.waiting", "{increment}", "Increments that were acknowledged and are not stored yet.")
	bufferedKeys := i.number("buffered.keys", "{key}", "Rows of which such increments wait.")
	bufferedOldest := i.seconds("buffered.oldest", "Since the first of them was acknowledged.")
	bufferedAge := i.seconds("buffered.flush.age", "Since the last flush that did not fail; where nothing waits there is none.")
	kept := i.number("derived.kept", "{counter}", "1 for a derived counter whose triggers are in place, 0 for one that does not follow its formula.")
	written := i.number("history.written", "{table}", "1 for a table whose triggers write its history as configured, 0 for one of which it lacks changes.")
	forgotten := i.counter("history.forgotten", "{row}", "Rows of histories that rollups removed as they were kept for long enough.")
	if err := errors.Join(i.errs...); err != nil {
		return nil, err
	}
	return i.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s, err := countermysql.Stats(db)
		if err != nil {
			return err
		}
		common := metric.WithAttributes(attributes...)
		observe := func(c metric.Int64Observable, n int64, own ...attribute.KeyValue) {
			o.ObserveInt64(c, n, common, metric.WithAttributes(own...))
		}
		total, texts, groupCount, guardCount := int64(0), int64(0), int64(0), int64(0)
		for reason, n := range s.Exact {
			total += n
			observe(exact, n, attribute.String("reason", reason))
		}
		for _, f := range s.Fallbacks {
			texts += f.Count
		}
		for _, n := range s.Groups.Counts {
			groupCount += n
		}
		for _, n := range s.Guards.Counts {
			guardCount += n
		}
		for table, b := range s.Buffered {
			of := attribute.String("table", table)
			observe(statements, b.Acknowledged, of, attribute.String("class", "buffered"))
			observe(buffered, b.Acknowledged, of)
			observe(bufferedFlushes, b.Flushes, of, attribute.String("result", "done"))
			observe(bufferedFlushes, b.Failures, of, attribute.String("result", "failed"))
			for reason, n := range b.Lost {
				observe(bufferedLost, n, of, attribute.String("reason", reason))
			}
			observe(bufferedWaiting, b.Waiting, of)
			observe(bufferedKeys, b.Keys, of)
			o.ObserveFloat64(bufferedOldest, b.Oldest.Seconds(), common, metric.WithAttributes(of))
			if !b.Flushed.IsZero() {
				o.ObserveFloat64(bufferedAge, b.Age.Seconds(), common, metric.WithAttributes(of))
			}
		}
		for class, n := range map[string]int64{"increment": s.Increments, "sum": s.Sums, "exact": total, "verbatim": s.Verbatim} {
			observe(statements, n, attribute.String("class", class))
		}
		for number, n := range s.Errors {
			observe(serverErrors, n, attribute.Int("db.response.status_code", int(number)))
		}
		observe(fallbacks, texts)
		observe(flushes, s.Flushes)
		observe(groups, groupCount)
		observe(grouped, s.Groups.Sum)
		observe(guards, guardCount)
		observe(guarded, s.Guards.Sum)
		observe(reserved, s.Reserved)
		observe(pending, s.Pending)
		observe(slotted, s.Slotted.Keys)
		o.ObserveFloat64(oldest, s.Slotted.Oldest.Seconds(), common)
		observe(degraded, int64(len(s.Degraded)))
		observe(unfit, int64(len(s.Unfit)))
		for table, n := range s.Waiting {
			observe(waiting, n, attribute.String("table", table))
		}
		o.ObserveFloat64(age, s.Schema.Age.Seconds(), common)
		observe(schemaErrors, s.Schema.Errors)
		observe(rollups, s.Rollups.Runs-s.Rollups.Errors, attribute.String("result", "done"))
		observe(rollups, s.Rollups.Errors, attribute.String("result", "failed"))
		observe(rows, s.Rollups.Keys, attribute.String("result", "done"))
		observe(rows, s.Rollups.Busy, attribute.String("result", "busy"))
		observe(rows, s.Rollups.Left, attribute.String("result", "left"))
		for _, d := range s.Derived {
			observe(kept, inPlace(d.Problem), attribute.String("table", d.Table), attribute.String("counter", d.Counter))
		}
		for _, h := range s.Histories {
			observe(written, inPlace(h.Problem), attribute.String("table", h.Table))
		}
		observe(forgotten, s.Rollups.Forgotten)
		observe(slots, s.Rollups.Slots, attribute.Bool("orphan", false))
		observe(slots, s.Rollups.Orphans, attribute.Bool("orphan", true))
		return nil
	}, i.all...)
}

// inPlace is 1 without a problem.
func inPlace(problem string) int64 {
	if problem == "" {
		return 1
	}
	return 0
}
