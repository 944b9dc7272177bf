package plan

// mayWait says why an increment can't be acknowledged before it is stored; "": it can. One
// whose time counts, or for whose row more has to hold than its key, has to be seen by the
// server at once.
func (inc *Increment) mayWait(b Binder, s Setting) string {
	switch {
	case s.Transaction:
		return "it is inside a transaction"
	case inc.Rows != nil:
		return "it may insert a row"
	case !inc.One:
		return "it may be of several rows"
	case len(inc.Table.Key) == 0:
		return "the table has no key"
	case !inc.ByKey:
		return "its condition is not on the primary key"
	case inc.Narrowed:
		return "its condition has more than the primary key"
	case len(inc.touched) > 0:
		return "it sets touch column " + inc.Table.Touch[inc.touched[0]].Name
	case inc.Ignores:
		return "it ignores errors"
	case !inc.Joins:
		return "a key of this type can't be told from its text"
	}
	for _, i := range inc.used {
		if c := inc.Table.Counters[i].Name; !inc.Table.Spec.Buffered.Takes(c) {
			return "counter " + c + " is not buffered"
		}
	}
	for i, c := range inc.Keys[0].Columns {
		v := inc.Keys[0].values[i]
		x, ok := b.raw(v)
		switch x.(type) {
		case int64, uint64:
			ok = ok && c.Integer()
		case ServerClock:
			return "its key depends on the server's clock"
		default:
			_, ok = b.keyText(c, v)
		}
		if !ok {
			return "a value of its key has no exact text"
		}
	}
	return ""
}
