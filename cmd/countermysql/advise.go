package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jedib0t/go-pretty/v6/table"
)

type adviseCommand struct {
	Watch   time.Duration `help:"Watch the live server for so long, instead of the load." placeholder:"DURATION"`
	Clients int           `default:"32" help:"How many clients of one counter there are at the same time."`
	Work    time.Duration `default:"2ms" help:"How long their transactions do other work."`
	Stock   bool          `help:"Try reserved rows of a stock, with orders that take one each, instead of slots."`
	Seconds float64       `default:"0.5" help:"How long each number of slots is tried in a round."`
	Rounds  int           `default:"5" help:"How many rounds; up to three times as many while they do not tell."`
	Yes     bool          `short:"y" help:"Create and drop the scratch database without asking."`
}

func (adviseCommand) Help() string {
	return `Tries 1, 2, 4 … slots with transactions that increment one counter, on a scratch database of this server, in rounds
that go up and down through the numbers, and recommends the smallest that is as fast as the fastest, within 5 %. Only
what was measured in one round is compared. Where the rounds contradict each other, as on a server that has other work,
it goes on for up to three times as many, and then recommends nothing (exit code 3): try at a quieter time, or with more
--seconds. Each process chooses slots for itself: with several, divide the clients among them (--clients is for one).

With --stock it tries 0, 2, 4 … reserved rows (counterReserve) with transactions that take one of a stock (SET n = n - 1
WHERE id = 1 AND n >= 1) and do other work, and recommends likewise; 0 is without a reserve: then one waits for the other.

With --watch it loads nothing and changes nothing, but watches the listed counters at work, and recommends for each:
twice the slots if transactions were seen to wait for slots, fewer if only few slots of a key were written at a time,
else what there is. "Now" is the number in this tool's configuration. Watch when there is most to do, and again after a
change. What it can't know: the load of other times; waits that begin and end between two looks, which are 0.2 s apart;
how many slots were locked at once (it sees which were written from one second to the next, which may be more, and none
that was rolled up meanwhile); how many increments make up an amount. Who waits takes the PROCESS privilege on MariaDB,
and SELECT on performance_schema on MySQL; without it nothing but the rates is told. It reads every slots table each
second.

Examples:

  countermysql advise --dsn "$DSN" --clients 64 --work 5ms --yes
  countermysql advise --dsn "$DSN" --stock --clients 64 --work 5ms --yes
  countermysql advise --dsn "$DSN" --watch 1m`
}

// trial is what one number of slots, or of reserved rows, gave.
type trial struct {
	Slots     int       `json:"slots,omitempty"`
	Reserve   int       `json:"reserve,omitempty"`
	PerSecond float64   `json:"per_second"` // transactions: the median of the rounds
	Spread    float64   `json:"spread"`     // the middle half of the rounds, as a part of the median
	Rounds    []float64 `json:"rounds"`     // transactions per second
	LockWaits int64     `json:"lock_waits"` // of all rounds
	Read      float64   `json:"read_seconds"`
}

type advice struct {
	Stock       bool    `json:"stock,omitempty"` // of reserved rows
	Recommended int     `json:"recommended"`     // 0: none
	Refused     string  `json:"refused,omitempty"`
	Clients     int     `json:"clients"`
	Work        float64 `json:"work_seconds"`
	Trials      []trial `json:"trials"`
}

// maxRounds is how many times the rounds go on where they do not tell.
const maxRounds = 3

func (c *adviseCommand) run(s *session) error {
	if c.Watch < 0 {
		return &exit{exitUsage, errors.New("--watch must be positive")}
	}
	if c.Watch > 0 {
		return c.watch(s)
	}
	if c.Clients < 1 || c.Seconds <= 0 || c.Rounds < 1 {
		return &exit{exitUsage, errors.New("--clients, --seconds and --rounds must be positive")}
	}
	name := fmt.Sprintf("countermysql_advise_%d", os.Getpid())
	if err := s.confirmed(c.Yes, fmt.Sprintf("the database %s is created on %s, loaded by %d clients for some seconds, and dropped", name, s.cfg.Addr, c.Clients)); err != nil {
		return err
	}
	if _, err := s.db.ExecContext(s.ctx, "CREATE DATABASE "+quote(name)); err != nil {
		if refused := new(mysql.MySQLError); errors.As(err, &refused) && refused.Number == 1044 {
			return fmt.Errorf("%w; GRANT ALL ON `countermysql\\_advise\\_%%`.* to the tool's user, or use --watch, which needs no database", err)
		}
		return err
	}
	defer func() {
		if _, err := s.db.ExecContext(context.WithoutCancel(s.ctx), "DROP DATABASE "+quote(name)); err != nil {
			s.screen.note(fmt.Sprintf("the database %s is left behind: %v", name, err))
		}
	}()
	out, err := c.rounds(s, name)
	if err != nil {
		return err
	}
	if err := s.result(out, func() { s.showAdvice(out) }); err != nil {
		return err
	}
	if out.Refused != "" {
		return &exit{code: exitFound}
	}
	return nil
}

// rounds tries every number of slots in each of the rounds.
func (c *adviseCommand) rounds(s *session, database string) (advice, error) {
	out := advice{Clients: c.Clients, Work: c.Work.Seconds(), Stock: c.Stock}
	most, slots := maxSlots, []int{1}
	if c.Stock {
		most, slots = maxReserve, []int{0}
	}
	for n := 2; n <= min(max(8, 2*c.Clients), most); n *= 2 {
		slots = append(slots, n)
	}
	for _, n := range slots {
		if c.Stock {
			out.Trials = append(out.Trials, trial{Reserve: n})
		} else {
			out.Trials = append(out.Trials, trial{Slots: n})
		}
	}
	b := s.screen.bars()
	defer b.stop()
	var rounds [][]float64
	reads := make([][]float64, len(slots))
	for steps := int64(0); ; {
		round := make([]float64, len(slots))
		for i := range slots {
			if len(rounds)%2 == 1 { // down again: what changes slowly is fair to all
				i = len(slots) - 1 - i
			}
			r, err := c.try(s, database, slots[i])
			if err != nil {
				return out, err
			}
			t := &out.Trials[i]
			round[i], t.LockWaits, reads[i] = r.perSecond, t.LockWaits+r.lockWaits, append(reads[i], r.read.Seconds())
			steps++
			b.update("trying", steps, int64(c.Rounds*len(slots)))
		}
		rounds = append(rounds, round)
		if len(rounds) < c.Rounds {
			continue
		}
		best, refused := recommend(rounds, slots)
		if refused != "" && len(rounds) < maxRounds*c.Rounds {
			continue
		}
		for i := range out.Trials {
			t := &out.Trials[i]
			t.Rounds = column(rounds, i)
			t.PerSecond, t.Spread, t.Read = median(t.Rounds), spread(t.Rounds), median(reads[i])
		}
		if out.Refused = refused; refused == "" {
			out.Recommended = slots[best]
		}
		return out, nil
	}
}

func (s *session) showAdvice(out advice) {
	var rows []table.Row
	var bars []chartBar
	what, setting := "slots", "counterSlots"
	if out.Stock {
		what, setting = "reserved rows", "counterReserve"
	}
	for _, t := range out.Trials {
		n := t.Slots + t.Reserve // one of them is 0
		rows = append(rows, table.Row{n, fmt.Sprintf("%.0f", t.PerSecond), fmt.Sprintf("%.0f %%", 100*t.Spread), t.LockWaits, fmt.Sprintf("%.0f µs", 1e6*t.Read)})
		bars = append(bars, chartBar{fmt.Sprintf("%d %s", n, what), t.PerSecond})
	}
	s.screen.table(table.Row{what, "transactions per second", "spread", "lock waits", "reading it"}, rows)
	s.screen.chart(fmt.Sprintf("transactions per second, the median of %d rounds", len(out.Trials[0].Rounds)), bars)
	if out.Refused != "" {
		s.screen.line("nothing is recommended: %s; try at a quieter time, or with more --seconds", out.Refused)
		return
	}
	if out.Stock && out.Recommended == 0 {
		s.screen.line("recommended for %d clients of one stock in one process: no reserve", out.Clients)
		return
	}
	s.screen.line("recommended for %d clients of one counter in one process: %s=%d", out.Clients, setting, out.Recommended)
}
