// Package countermysqlprom gives Prometheus the driver's statistics.
//
//	prometheus.MustRegister(countermysqlprom.NewCollector(db, "forum"))
//
// Names follow https://prometheus.io/docs/practices/naming/, and the label
// db_name is that of [collectors.NewDBStatsCollector]. Beside this file, grafana.json is a
// dashboard for them, and alerts.yaml has rules.
//
// [collectors.NewDBStatsCollector]: https://pkg.go.dev/github.com/prometheus/client_golang/prometheus/collectors#NewDBStatsCollector
package countermysqlprom

import (
	"database/sql"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/countermysql/countermysql"
)

// collector reads the statistics when it is asked: there is nothing to keep.
type collector struct {
	db *sql.DB

	statements, exact, fallbacks, pending, flushes, slotted, slottedAge, waiting, schemaAge, schemaErrors, degraded, unfit, groups, guards, reserved, errors *prometheus.Desc
	rollups, rollupRows, rollupSlots, rollupOrphans, rollupSkipped                                                                                           *prometheus.Desc

	bufferedIncrements, bufferedWaiting, bufferedKeys, bufferedOldest, bufferedAge, bufferedFlushes, bufferedLost *prometheus.Desc

	derivedKept, historyWritten, historyForgotten *prometheus.Desc
}

var _ prometheus.Collector = (*collector)(nil)

// NewCollector returns a collector of the statistics of db, which has to be
// countermysql's. It asks the server nothing.
func NewCollector(db *sql.DB, dbName string) prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("countermysql_"+name, help, labels, prometheus.Labels{"db_name": dbName})
	}
	return &collector{
		db:            db,
		statements:    desc("statements_total", "Statements on tables with counters, by what became of them.", "class"),
		exact:         desc("exact_statements_total", "Statements that rolled up the rows concerned and ran as they are, by reason.", "reason"),
		fallbacks:     desc("fallbacks_total", "Plans of texts that could not be parsed or resolved."),
		pending:       desc("pending_increments", "Increments of open transactions that wait for COMMIT."),
		slotted:       desc("slotted_keys", "Keys whose slots this process has written and not folded since: the hot ones."),
		slottedAge:    desc("slotted_oldest_seconds", "For how long the oldest of them is in slots."),
		flushes:       desc("flushes_total", "Tables whose pending increments a COMMIT took to slots, but those of groups."),
		degraded:      desc("degraded_tables", "Tables that others have changed so that they take no more increments into slots.", "table"),
		unfit:         desc("unfit_tables", "Tables that can't have counters, whose statements fail.", "table"),
		waiting:       desc("waiting_slot_rows", "Rows of slots tables that the rollup in the background found when it looked last, at most 10,000 of a table.", "table"),
		schemaAge:     desc("schema_age_seconds", "Since the process has looked at the server's tables last; one that does nothing does not look."),
		schemaErrors:  desc("schema_errors_total", "Readings of the server's tables that failed."),
		groups:        desc("group_size", "How many increments, or transactions of nothing else, shared a commit."),
		guards:        desc("guard_size", "How many updates of one row that need its value, and increments that came with them, shared a commit."),
		reserved:      desc("reserved_updates_total", "Guarded updates in transactions that took from reserved rows."),
		errors:        desc("server_errors_total", "Errors of the server in answer to statements on tables with counters, by their numbers.", "code"),
		rollups:       desc("rollups_total", "Rollups of this process, by result.", "result"),
		rollupRows:    desc("rollup_rows_total", "Base rows that got the sum of their slots."),
		rollupSlots:   desc("rollup_slots_total", "Rows that rollups removed from slots tables."),
		rollupOrphans: desc("rollup_orphans_total", "Rows that rollups removed from slots tables because their base rows were gone."),
		rollupSkipped: desc("rollup_skipped_rows_total", "Base rows that rollups could not do, by reason: busy ones were locked by others, left ones can't take their slots.", "reason"),

		bufferedIncrements: desc("buffered_increments_total", "Increments that were acknowledged before they were stored.", "table"),
		bufferedWaiting:    desc("buffered_waiting_increments", "Of them, those that are not stored yet.", "table"),
		bufferedKeys:       desc("buffered_keys", "Rows of which such increments wait.", "table"),
		bufferedOldest:     desc("buffered_oldest_seconds", "Since the first of them was acknowledged.", "table"),
		bufferedAge:        desc("buffered_flush_age_seconds", "Since the last flush that did not fail; where nothing waits there is none.", "table"),
		bufferedFlushes:    desc("buffered_flushes_total", "Flushes of buffers, by result.", "table", "result"),
		bufferedLost:       desc("buffered_lost_increments_total", "Increments that were acknowledged and could not be stored, by reason.", "table", "reason"),

		derivedKept:      desc("derived_kept", "1 for a derived counter whose triggers are in place, 0 for one that does not follow its formula.", "table", "counter"),
		historyWritten:   desc("history_written", "1 for a table whose triggers write its history as configured, 0 for one of which it lacks changes.", "table"),
		historyForgotten: desc("history_forgotten_rows_total", "Rows of histories that rollups removed as they were kept for long enough."),
	}
}

// Describe lists the metrics.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		c.statements, c.exact, c.fallbacks, c.pending, c.flushes, c.slotted, c.slottedAge, c.waiting, c.schemaAge, c.schemaErrors, c.degraded, c.unfit, c.groups, c.guards, c.reserved, c.errors,
		c.rollups, c.rollupRows, c.rollupSlots, c.rollupOrphans, c.rollupSkipped,
		c.bufferedIncrements, c.bufferedWaiting, c.bufferedKeys, c.bufferedOldest, c.bufferedAge, c.bufferedFlushes, c.bufferedLost,
		c.derivedKept, c.historyWritten, c.historyForgotten,
	} {
		ch <- d
	}
}

// Collect reads them.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	s, err := countermysql.Stats(c.db)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(c.statements, err)
		return
	}
	count := func(d *prometheus.Desc, n int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	exact, fallbacks := int64(0), int64(0)
	for reason, n := range s.Exact {
		count(c.exact, n, reason)
		exact += n
	}
	for _, f := range s.Fallbacks {
		fallbacks += f.Count
	}
	count(c.statements, s.Increments, "increment")
	count(c.statements, s.Sums, "sum")
	count(c.statements, exact, "exact")
	count(c.statements, s.Verbatim, "verbatim")
	count(c.fallbacks, fallbacks)
	count(c.flushes, s.Flushes)
	count(c.reserved, s.Reserved)
	ch <- prometheus.MustNewConstMetric(c.pending, prometheus.GaugeValue, float64(s.Pending))
	ch <- prometheus.MustNewConstMetric(c.slotted, prometheus.GaugeValue, float64(s.Slotted.Keys))
	ch <- prometheus.MustNewConstMetric(c.slottedAge, prometheus.GaugeValue, s.Slotted.Oldest.Seconds())
	ch <- prometheus.MustNewConstMetric(c.schemaAge, prometheus.GaugeValue, s.Schema.Age.Seconds())
	count(c.schemaErrors, s.Schema.Errors)
	for table, n := range s.Waiting {
		ch <- prometheus.MustNewConstMetric(c.waiting, prometheus.GaugeValue, float64(n), table)
	}
	for table := range s.Unfit {
		ch <- prometheus.MustNewConstMetric(c.unfit, prometheus.GaugeValue, 1, table)
	}
	for table := range s.Degraded {
		ch <- prometheus.MustNewConstMetric(c.degraded, prometheus.GaugeValue, 1, table)
	}
	for number, n := range s.Errors {
		count(c.errors, n, strconv.Itoa(int(number)))
	}
	for d, h := range map[*prometheus.Desc]countermysql.Histogram{c.groups: s.Groups, c.guards: s.Guards} {
		buckets := map[float64]uint64{}
		total := uint64(0)
		for i, n := range h.Counts {
			total += uint64(n)
			if i < len(h.Bounds) {
				buckets[float64(h.Bounds[i])] = total
			}
		}
		ch <- prometheus.MustNewConstHistogram(d, total, float64(h.Sum), buckets)
	}
	buffered := int64(0)
	for table, b := range s.Buffered {
		gauge := func(d *prometheus.Desc, n float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, n, table)
		}
		buffered += b.Acknowledged
		count(c.bufferedIncrements, b.Acknowledged, table)
		gauge(c.bufferedWaiting, float64(b.Waiting))
		gauge(c.bufferedKeys, float64(b.Keys))
		gauge(c.bufferedOldest, b.Oldest.Seconds())
		if !b.Flushed.IsZero() {
			gauge(c.bufferedAge, b.Age.Seconds())
		}
		count(c.bufferedFlushes, b.Flushes, table, "done")
		count(c.bufferedFlushes, b.Failures, table, "failed")
		for reason, n := range b.Lost {
			count(c.bufferedLost, n, table, reason)
		}
	}
	if s.Buffered != nil {
		count(c.statements, buffered, "buffered")
	}
	kept := func(d *prometheus.Desc, problem string, labels ...string) {
		value := 0.0
		if problem == "" {
			value = 1
		}
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	for _, d := range s.Derived {
		kept(c.derivedKept, d.Problem, d.Table, d.Counter)
	}
	for _, h := range s.Histories {
		kept(c.historyWritten, h.Problem, h.Table)
	}
	r := s.Rollups
	count(c.rollups, r.Runs-r.Errors, "done")
	count(c.rollups, r.Errors, "failed")
	count(c.rollupRows, r.Keys)
	count(c.rollupSlots, r.Slots)
	count(c.rollupOrphans, r.Orphans)
	count(c.rollupSkipped, r.Busy, "busy")
	count(c.rollupSkipped, r.Left, "left")
	count(c.historyForgotten, r.Forgotten)
}
