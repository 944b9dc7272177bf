package mysqlerr

import (
	"errors"
	"regexp"

	"github.com/go-sql-driver/mysql"
)

var givenUp = regexp.MustCompile(`' ?\(?18446744073709551615 \+ \((length|octet_length|count)\(.*\) >= 0\)`)

// AsKilled is the error of a query that was ended, where it is that of what stands behind a
// subquery which the server has given up: 18446744073709551615 + (… >= 0), out of range.
func AsKilled(err error) error {
	if err == nil {
		return nil // spares the usual case an allocation
	}
	var e *mysql.MySQLError
	if !errors.As(err, &e) || e.Number != ErrOutOfRange || !givenUp.MatchString(e.Message) {
		return err
	}
	return &mysql.MySQLError{Number: ErrInterrupted, SQLState: [5]byte{'7', '0', '1', '0', '0'}, Message: "Query execution was interrupted"}
}
