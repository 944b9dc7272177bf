// Package answer gives results, rows and column types the look of those of plain
// go-sql-driver. It sends nothing: what the server has to be asked is a [Question], which
// its caller sends where it can, and what has to happen behind the last row is the
// caller's too. It knows no table, no transaction and no session.
//
//	affected rows → Affected → Result → [Outcome]
//	rows of the text that was sent → Over, Plain, Then → Rows
//	query → NewQuestion → Answered → Types, kept with the plan
//
// For SELECT likes FROM post, whose INT column is read as a BIGINT sum, the question is
// SELECT likes FROM post LIMIT 0, and [Rows] have an INT named likes. Where a number comes
// as the digits of a DECIMAL, as of COALESCE(views, likes) with an UNSIGNED one, it is given
// as the int64 of plain MySQL. It is never another number: a type that can't be of what was
// sent is not used.
package answer
