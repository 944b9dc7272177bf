package mysqlerr

import (
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
)

// TestAsKilled proves that no other error of a number out of range is taken for that of a query
// which was ended: one that is computed from a sum names all that the sum is made of.
func TestAsKilled(t *testing.T) {
	for message, killed := range map[string]bool{
		"BIGINT UNSIGNED value is out of range in '(18446744073709551615 + (length(`a`.`post`.`likes`) >= 0))'":                      true,
		"BIGINT UNSIGNED value is out of range in '18446744073709551615 + (octet_length(`a`.`post`.`likes`) >= 0)'":                  true,
		"BIGINT UNSIGNED value is out of range in '(18446744073709551615 + (count(0) >= 0))'":                                        true,
		"BIGINT UNSIGNED value is out of range in '(cast(coalesce((select 1),(18446744073709551615 + (length(`likes`) >= 0))) * 2)'": false,
		"BIGINT UNSIGNED value is out of range in '18446744073709551615 + 1'":                                                        false,
	} {
		err := AsKilled(&mysql.MySQLError{Number: ErrOutOfRange, Message: message})
		require.Equal(t, killed, Number(err) == ErrInterrupted, message)
	}
	require.NoError(t, AsKilled(nil))
}
