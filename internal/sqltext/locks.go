package sqltext

// LocksTables reports whether a statement is LOCK TABLES, or a FLUSH TABLES that
// keeps its tables locked.
func LocksTables(toks []Token) bool {
	if len(toks) < 2 {
		return false
	}
	tables := func(t Token) bool { return t.Is("TABLE") || t.Is("TABLES") }
	return toks[0].Is("LOCK") && tables(toks[1]) || toks[0].Is("FLUSH") && listEnd(toks) > 0
}

// listEnd is the token behind the list of FLUSH TABLES … WITH READ LOCK and FOR
// EXPORT; 0 if that is not what it is, or if it names no table.
func listEnd(toks []Token) int {
	at := 1
	if toks[at].Is("NO_WRITE_TO_BINLOG") || toks[at].Is("LOCAL") {
		at++
	}
	if at >= len(toks) || !toks[at].Is("TABLE") && !toks[at].Is("TABLES") {
		return 0
	}
	for i := at + 2; i+1 < len(toks); i++ {
		if toks[i].Is("WITH") && toks[i+1].Is("READ") || toks[i].Is("FOR") && toks[i+1].Is("EXPORT") {
			return i
		}
	}
	return 0
}

// Locking is how a SELECT locks the base rows of a table in its own FROM clause:
// always exclusively, because shared locks do not keep increments away. Tables of
// its subqueries, and those that OF leaves out, are not locked.
type Locking struct {
	Clause string // FOR UPDATE …; "": it does not
	Shared bool   // the statement asks for shared locks
}

// Locks reports whether a locking clause begins at token i.
func Locks(toks []Token, i int) bool {
	next := func(w string) bool { return i+1 < len(toks) && toks[i+1].Is(w) }
	return toks[i].Is("FOR") && (next("UPDATE") || next("SHARE")) || toks[i].Is("LOCK") && next("IN")
}

// ReadLock reads the locking clause at token i: the first and last tokens of the names
// behind OF, and the token behind it all.
func ReadLock(toks []Token, i int) (l Locking, of [][2]int, end int) {
	l = Locking{"FOR UPDATE", !toks[i+1].Is("UPDATE")}
	end = i + 2
	if toks[i].Is("LOCK") {
		end = i + 4 // LOCK IN SHARE MODE
	}
	is := func(w string) bool { return end < len(toks) && toks[end].Is(w) }
	for more := is("OF"); more && end+1 < len(toks); {
		first := end + 1
		last := first
		if last+2 < len(toks) && toks[last+1].Punct('.') {
			last += 2
		}
		of = append(of, [2]int{first, last})
		end = last + 1
		more = end < len(toks) && toks[end].Punct(',')
	}
	switch {
	case is("NOWAIT"):
		l.Clause, end = l.Clause+" NOWAIT", end+1
	case is("SKIP"):
		l.Clause, end = l.Clause+" SKIP LOCKED", end+2
	case is("WAIT") && end+1 < len(toks):
		l.Clause, end = l.Clause+" WAIT "+toks[end+1].Name, end+2
	}
	return l, of, min(end, len(toks))
}
