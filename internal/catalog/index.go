package catalog

// index is what an index of a base table sorts by, as far as that is whole
// columns. The primary key comes after its own
// (https://dev.mysql.com/doc/refman/8.4/en/index-extensions.html).
type index []SortKey

type SortKey struct {
	C    *Column
	Desc bool
}
