// Package mysqlerr knows the numbers of the servers' errors, and what they mean to a driver
// that sends statements of its own: was anything done, is it known what was done, may it be
// sent again? It makes no errors, and sends nothing.
package mysqlerr
