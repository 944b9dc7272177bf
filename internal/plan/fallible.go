package plan

import (
	"errors"

	"github.com/go-sql-driver/mysql"
)

// OfRow reports whether an error is one of values: of the classes 21, cardinality, and
// 22, data exception.
func OfRow(err error) bool {
	var e *mysql.MySQLError
	return err != nil && errors.As(err, &e) && e.SQLState[0] == '2' && (e.SQLState[1] == '1' || e.SQLState[1] == '2')
}
