// Package read answers queries of counters as if they were in the base rows, and runs data
// changes that read some. It knows what to send by the plan, and how it is sent by a
// [Statement].
//
//	[Reader.Run]    as it was written, with hidden columns that tell that nothing has slots, or
//	                what to add to which row, or which row it has locked, or
//	                with sums: in its select list, or through a view (internal/fold: View)
//	                once more, over tables, if a row made the view fail
//	                the exact way (internal/exact), if the server does not take the view
//
// SELECT likes FROM post WHERE id = 7 is sent with one more column, which says whether post
// has slots at all. If it has: SELECT likes + COALESCE((SELECT SUM(likes) FROM post_slots …), 0).
// SELECT id, title, likes, views FROM post ORDER BY id DESC LIMIT 20 is sent with all slots beside
// each row then, and its counters are added up here; and so is ORDER BY likes DESC LIMIT 20, which is
// put in order again, unless a row may be among the first that the server has not answered with.
// Its rows get the names and types of the query as it was written, which the server is asked
// for when somebody asks for them.
package read
