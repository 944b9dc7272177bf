// Flash-sale is a small shop with one item that everybody wants at the same moment: a page that
// shows how many are left and counts who looks, and orders in transactions.
//
//	mysql -e 'CREATE DATABASE sale'
//	go run ./examples/flash-sale                      # serves http://localhost:8080
//	go run ./examples/flash-sale -buyers 500          # is visited by 500 buyers, and tells what came of it
//
// It makes its tables anew each time. Its statements are those of any shop, and its answers
// those of plain MySQL: what is there is sold, once, and nothing else. The visits are
// increments, which never wait for each other. An order takes its piece inside a transaction, from
// one of the item's reserved rows (counterReserve: see docs/stock.md), so that many orders take
// theirs at once; and in its last statement: when few are left, whoever waits for the item's row
// waits for a COMMIT, and not for the rest of an order.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"log"
	"net"
	"net/http"
	"net/url"
	"sync"

	"github.com/go-sql-driver/mysql"

	_ "github.com/countermysql/countermysql"
)

const defaultDSN = "root@tcp(127.0.0.1:3306)/sale?counters=item.stock,item.visits&counterCreateSlots=true&counterReserve=32"

var schema = []string{
	"DROP TABLE IF EXISTS purchase",
	"DROP TABLE IF EXISTS item",
	`CREATE TABLE item (
		id     INT PRIMARY KEY,
		name   VARCHAR(40) NOT NULL,
		stock  INT UNSIGNED NOT NULL,
		visits BIGINT UNSIGNED NOT NULL DEFAULT 0
	)`,
	`CREATE TABLE purchase (
		item_id  INT NOT NULL,
		customer VARCHAR(40) NOT NULL,
		PRIMARY KEY (item_id, customer)
	)`, // with a foreign key every order would hold a shared lock of the item, and two that then take a piece deadlock
	"INSERT INTO item (id, name, stock) VALUES (1, 'teapot', 100)",
}

func main() {
	dsn := flag.String("dsn", defaultDSN, "the database")
	buyers := flag.Int("buyers", 0, "send so many buyers, and end; 0: serve")
	flag.Parse()
	s, err := open("countermysql", *dsn)
	if err != nil {
		log.Fatal(err)
	}
	defer s.db.Close()
	if *buyers == 0 {
		log.Fatal(http.ListenAndServe("localhost:8080", s))
	}
	text, err := s.rush(context.Background(), *buyers)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(text)
}

// shop serves the page and takes orders.
type shop struct {
	http.ServeMux
	db *sql.DB
}

// open makes the tables anew.
func open(driver, dsn string) (*shop, error) {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(50)
	db.SetMaxIdleConns(50)
	for _, statement := range schema {
		if _, err := db.Exec(statement); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	s := &shop{db: db}
	s.HandleFunc("GET /{$}", s.show)
	s.HandleFunc("POST /orders", s.order)
	return s, nil
}

var page = template.Must(template.New("").Parse(`<!doctype html>
<title>{{.Name}}</title>
<h1>{{.Name}}</h1>
<p>{{.Stock}} left, looked at {{.Visits}} times</p>
<form method="post" action="/orders"><input name="customer" required> <button>Buy</button></form>
`))

// item is what the page shows.
type item struct {
	Name          string
	Stock, Visits int64
}

func (s *shop) show(w http.ResponseWriter, r *http.Request) {
	if _, err := s.db.ExecContext(r.Context(), "UPDATE item SET visits = visits + 1 WHERE id = 1"); err != nil {
		fail(w, err)
		return
	}
	var i item
	if err := s.db.QueryRowContext(r.Context(), "SELECT name, stock, visits FROM item WHERE id = 1").Scan(&i.Name, &i.Stock, &i.Visits); err != nil {
		fail(w, err)
		return
	}
	_ = page.Execute(w, i) // or the visitor has left
}

func fail(w http.ResponseWriter, err error) {
	log.Print(err)
	http.Error(w, "try again later", http.StatusInternalServerError)
}

// What a customer may be told.
var (
	errSoldOut = errors.New("sold out")
	errHasOne  = errors.New("one for each")
)

func (s *shop) order(w http.ResponseWriter, r *http.Request) {
	switch err := s.buy(r.Context(), r.PostFormValue("customer")); {
	case errors.Is(err, errSoldOut), errors.Is(err, errHasOne):
		http.Error(w, err.Error(), http.StatusConflict)
	case err != nil:
		fail(w, err)
	default:
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}
}

// buy takes one piece for a customer. The piece comes last: until then nobody waits for the
// item, and who has one already has not kept others from it.
func (s *shop) buy(ctx context.Context, customer string) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "INSERT INTO purchase (item_id, customer) VALUES (1, ?)", customer); err != nil {
		const duplicate = 1062
		if e := (*mysql.MySQLError)(nil); errors.As(err, &e) && e.Number == duplicate {
			return errHasOne
		}
		return err
	}
	res, err := tx.ExecContext(ctx, "UPDATE item SET stock = stock - 1 WHERE id = 1 AND stock >= 1")
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, errSoldOut)
	}
	return tx.Commit()
}

// rush sends buyers, who look at the page and buy, every tenth of them twice.
func (s *shop) rush(ctx context.Context, buyers int) (string, error) {
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return "", err
	}
	server, address := http.Server{Handler: s}, "http://"+listener.Addr().String()
	go server.Serve(listener)
	defer server.Close()
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer browser.CloseIdleConnections()
	var mu sync.Mutex
	answers := map[int]int{} // by HTTP status
	var failed error
	visit := func(do func() (*http.Response, error)) {
		res, err := do()
		if err == nil {
			err = res.Body.Close()
		}
		mu.Lock()
		defer mu.Unlock()
		if failed = errors.Join(failed, err); err == nil {
			answers[res.StatusCode]++
		}
	}
	var wg sync.WaitGroup
	for n := range buyers {
		wg.Go(func() {
			visit(func() (*http.Response, error) { return browser.Get(address) })
			tries := 1
			if n%10 == 0 {
				tries = 2
			}
			for range tries {
				visit(func() (*http.Response, error) {
					return browser.PostForm(address+"/orders", url.Values{"customer": {fmt.Sprint("customer ", n)}})
				})
			}
		})
	}
	wg.Wait()
	if failed != nil {
		return "", failed
	}
	var left, visits, sold int
	if err := s.db.QueryRowContext(ctx, "SELECT stock, visits, (SELECT COUNT(*) FROM purchase) FROM item WHERE id = 1").Scan(&left, &visits, &sold); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d pages shown, %d orders taken, %d refused, %d failed\n%d visits counted, %d pieces sold, %d left\n",
		answers[http.StatusOK], answers[http.StatusSeeOther], answers[http.StatusConflict], answers[http.StatusInternalServerError], visits, sold, left), nil
}
