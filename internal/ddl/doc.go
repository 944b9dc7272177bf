// Package ddl runs what changes tables, in one session: DDL of counter tables, and what takes
// a table's name or locks it. The slots of a table follow it: they are folded before, dropped
// with it, or moved, and where others could count for the wrong rows meanwhile, they are kept
// out, or the statement is refused. It knows how no statement is sent, and gives no answer
// but an error.
//
//	[Definer.Run]             what ends a transaction: ALTER, RENAME, DROP, TRUNCATE, LOCK TABLES
//	[Definer.RunTemporary]    CREATE and DROP TEMPORARY TABLE
//	[Definer.UnderLocks]      is a statement possible while LOCK TABLES holds?
//
// DROP TABLE post is: LOCK TABLES of post and its slots table, a fold of all slots, lest a DROP
// that is refused lose or one that is cut off leave some, the statement, DROP TABLE of the slots
// table, and UNLOCK TABLES.
//
// ALTER TABLE post DROP PRIMARY KEY, ADD PRIMARY KEY (slug) is: LOCK TABLES of post and its
// slots table, a fold of all slots, the statement, DROP TABLE of the slots table, whose key is
// the old one, and UNLOCK TABLES.
package ddl
