// Package sqltext reads and writes SQL as text. It knows no table, no connection and no
// schema: only the lexical rules of the two servers, and which words mean what.
//
// [Tokenize] splits a statement as the server's lexer does, under the [Mode] that sql_mode
// and nothing else makes. What stands on tokens is told from them: [EffectOf] says what a
// statement does to its session and transaction, [Statements] where one ends and the next
// begins, and [Normalize] puts parameters in place of literals, so that texts which differ
// in nothing else share a plan:
//
//	UPDATE post SET likes = likes + 1 WHERE id = 7
//	UPDATE post SET likes = likes + ? WHERE id = ?     and the literals 1, 7
//
// Nothing here fails: what can't be read is left as it is, and who asks is told so.
package sqltext
