package answer

import "database/sql/driver"

// Outcome is what a statement gives back: a result or rows.
type Outcome struct {
	Result driver.Result
	Rows   driver.Rows
}

// Close closes rows of a statement that has none: nothing else can be sent while they
// are open.
func (o *Outcome) Close() (err error) {
	if o.Rows != nil {
		err = o.Rows.Close()
		o.Rows = NoRows{}
	}
	return err
}

// Affected is how many rows it says it has changed; -1: rows are its answer.
func (o Outcome) Affected() int64 {
	if o.Result == nil {
		return -1
	}
	n, err := o.Result.RowsAffected()
	if err != nil {
		return -1
	}
	return n
}
