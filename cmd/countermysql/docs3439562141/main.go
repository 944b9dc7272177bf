package main

import (
	"database/sql"
	"fmt"
	"log"

	"github.com/countermysql/countermysql"
)

func main() {
	db, err := sql.Open("countermysql", "app@tcp(127.0.0.1:3306)/forum?counters=post.likes")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	stats, err := countermysql.Stats(db)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(stats.Increments, stats.Exact, stats.Rollups)
}
