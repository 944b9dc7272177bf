package accepted

// The tests whose names begin with TestAccepted pin what differs from plain
// MySQL, entry by entry of docs/semantics.md: they fail if a difference grows,
// and if it disappears.
