// Package catalog is what is known of the server's tables: a [Schema] of counter tables,
// their columns, keys and slots tables, and of the views, routines, triggers and foreign
// keys through which a statement reaches them.
//
// A Schema is immutable once loaded, and everybody may read it; another reading makes
// another. It knows no plan, no transaction and nothing of what is under way on a table.
// [LoadSchema] asks the server, over a connection that it is given, and what it sets of a
// table is set by a draft; all else is memory and text: what is sent about slots tables
// ([DDL]) and histories ([HistoryDDL]), keys as text in their canonical order ([Key], by [KeyColumns]), counters' values
// in units.
//
//	specs → LoadSchema → Schema → Table, Column, KeyColumns
//
// The copy may be late. What must not be wrong for that is checked by the statements that
// the packages above make.
package catalog
