// Package httpserver bounds what clients of our HTTP servers can use: connections, headers, bodies, memory and time, for
// each client and for all together. Every server of this module is one of this package.
package httpserver
