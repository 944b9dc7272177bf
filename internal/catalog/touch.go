package catalog

import "strconv"

func CurrentTimestamp(digits int64) string {
	return "CURRENT_TIMESTAMP(" + strconv.FormatInt(digits, 10) + ")"
}

// Settling is for how long increments that set a new touch column still go to the base
// row: every process has read the schema by then, and no read leaves out a time in slots.
// It is counted from before the column is made, which may wait a moment.
const Settling = 2 * SchemaTooOld

// SettlesPrefix begins the comment that says, in the slots table, until when.
const SettlesPrefix = "'countermysql from '"

const settlesSQL = "COLUMN_COMMENT LIKE CONCAT(" + SettlesPrefix + ", '%') AND COLUMN_COMMENT > CONCAT(" + SettlesPrefix + ", UTC_TIMESTAMP())"
