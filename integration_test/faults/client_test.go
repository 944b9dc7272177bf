package faults

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// clientDSN makes this program a client that can be killed, see work.
const clientDSN = "COUNTERMYSQL_FAULTS_CLIENT"

// What a client says on standard output before it increments, and what it was told.
const (
	tries        = "tries"
	acknowledged = "acknowledged"
	failed       = "refused"
)

// say writes a line, which is in the pipe when it returns: a kill loses nothing.
func say(word string, ids []int) {
	_, _ = fmt.Fprintln(os.Stdout, word, strings.Trim(fmt.Sprint(ids), "[]"))
}

// work is the client: a load, until nobody holds its standard input.
func work(dsn string) error {
	db, err := openOurs(dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	l := newLoad(numbers, nil)
	l.dbs, l.say = []*sql.DB{db}, say
	l.run(ctx, 8)
	return nil
}

// killClient starts a client, kills it at work, and puts what it said on the
// books: what it tried and was not told of is unknown.
func killClient(w *world) error {
	w.load.others.Store(true)
	client := exec.Command(os.Args[0])
	client.Env = append(os.Environ(), clientDSN+"="+w.dsn)
	client.Stderr = os.Stderr
	in, err := client.StdinPipe()
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := client.StdoutPipe()
	if err != nil {
		return err
	}
	if err := client.Start(); err != nil {
		return err
	}
	var first sync.Once
	for lines := bufio.NewScanner(out); lines.Scan(); {
		first.Do(func() {
			time.AfterFunc(time.Duration(rand.IntN(300))*time.Millisecond, func() { _ = client.Process.Kill() })
		})
		word, ids, _ := strings.Cut(lines.Text(), " ")
		for _, field := range strings.Fields(ids) {
			var id int
			if _, err := fmt.Sscan(field, &id); err != nil {
				return err
			}
			a := &w.load.accounts[id]
			switch word {
			case tries:
				a.unknown.Add(1)
			case acknowledged:
				a.acknowledged.Add(1)
				a.unknown.Add(-1)
			case failed:
				a.unknown.Add(-1)
			}
		}
	}
	if err := client.Wait(); client.ProcessState.Exited() {
		return fmt.Errorf("the client ended before it was killed: %w", err)
	}
	return nil
}
