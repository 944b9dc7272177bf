// Package config reads what is configured: in Go, in a DSN and in a YAML file, each of which
// overrides and extends the one before. All mistakes are found and reported together, with
// their places and what to do about them. It knows no connection, and what the settings mean
// is for others to know.
//
//	DSN, file, [Settings] in Go → ParseDSN → Settings → Resolve → []catalog.Spec
//
// Of the DSN "root@/forum?counters=post.likes&counterSlots=0" it says: DSN parameter
// counterSlots: "0" is not a possible number of slots; use 1 to 1024.
package config
