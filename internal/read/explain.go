package read

// ExplainLooks tells the texts as which a query may be sent before its sums, and when each is the answer.
func (x *Execution) ExplainLooks(tell func(when, text string)) {
	l := x.Plan.Sum().Look
	if l == nil {
		return
	}
	few := "while there are few, this is the answer: the hidden columns tell what to add to which row"
	if l.Rows.First != nil {
		few += ", unless another row comes among the first by that"
	}
	for _, look := range []struct{ text, when string }{
		{l.Text, "while its tables have no slots, as the last hidden columns tell, this is the answer"},
		{l.Rows.Any, "while its rows have none, as the last hidden column tells, this is the answer"},
		{l.Rows.Few, few},
		{l.Rows.Each, "while there are many, this is the answer: the last hidden columns tell what to add to each row"},
	} {
		if look.text != "" {
			tell(look.when, look.text)
		}
	}
}
