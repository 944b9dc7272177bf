package catalog

import (
	"time"
)

// SchemaAge is how old the knowledge of the schema may be before it is looked in the
// background whether it still holds, for DDL by other clients. A statement that finds it
// older than SchemaTooOld, in a process that was idle, waits for that. The look sees DDL
// that has begun; what was under way when the schema was read is found by reading it once
// more, with each look for SchemaSettles after one that saw some, and then as seldom.
const (
	SchemaAge     = 10 * time.Second
	SchemaTooOld  = 30 * time.Second
	SchemaSettles = time.Minute
)

var started = time.Now()

// Clock is the time since the program's start: every statement asks, the time of day
// takes twice as long to read, and it can be set back.
func Clock() time.Duration { return time.Since(started) }
