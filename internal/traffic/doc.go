// Package traffic is what a process knows of what goes on on a table: which keys are hot and
// which have slots of its own making ([Keys]), which slots its connections write ([Leases],
// within the [SlotRange] of the process), whether it pays to look whether there are slots at
// all, or which ([Look], [Slots]), which rows its transactions change ([Claims]), what reserved rows
// hold ([Reserve]), and what mostly comes behind an increment in its transaction ([Behind]). It is
// memory only: it sends nothing, and knows no plan, no transaction and no connection. What it
// forgets, the rollup finds.
//
//	increments meet → Keys.Meet → Hot → together, to slots if not Free (Refuse); Write → Cold → Folded
//	transactions meet → Claims.Take, or Wait outside them → Held.Release, or Meet
//	guarded updates meet → Reserve.Enter → Taking.Fill → Filled → Choose → Took → Leave
//
// All of it is safe for concurrent use, but for what one connection holds ([Held], [Taking]).
package traffic
