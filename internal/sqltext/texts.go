package sqltext

import (
	"fmt"
	"strconv"
)

// Texts gives the values of a row as text; NULL is "".
func Texts[V any](row []V) []string {
	out := make([]string, len(row))
	for i, v := range row {
		switch v := any(v).(type) {
		case nil:
		case []byte:
			out[i] = string(v)
		case string:
			out[i] = v
		case int64:
			out[i] = strconv.FormatInt(v, 10)
		default:
			out[i] = fmt.Sprint(v)
		}
	}
	return out
}
