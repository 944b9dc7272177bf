// Package catalogtest has tables without a server, for the tests of what plans by them.
package catalogtest
