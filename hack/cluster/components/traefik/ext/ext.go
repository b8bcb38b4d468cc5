// Package ext stands for the package in which extensions of Traefik add settings. There are none.
package ext

// HTTP extends the dynamic configuration of HTTP.
type HTTP struct{}

// Router extends a router.
type Router struct{}
