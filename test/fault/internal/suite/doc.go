// Package suite puts an operator through its cases.
//
// A [Stage] is a real API server with stand-ins for the rest of a cluster. A journey runs on a stage, in
// its own namespace, with its own operator behind the proxy, and with pods. Two runs without a fault
// determine the [Golden] end of a journey, with a mask of what is not compared: what differs between
// undisturbed runs (Learned), what shows how the end was reached (Means), and what depends on earlier
// states (Past).
//
// A [Case] runs the journey again with one disturbance, and checks the following:
//
//	perform  the user's steps succeed, and the journey's expectations are met
//	served   from that moment on, every ready pod serves what the journey says
//	matches  the end is the golden one
//	promise  as many pods as the journey says were ready at any time, and no pod was requested to load
//	         what others had not accepted
//	honest   what was reported as Ready did not change afterwards
//	renewed  nothing was taken over from a deleted owner
//	lasted   no object was recreated that stays in the golden run
//	stable   nothing more is written, even after everything is listed again and after a restart
//
// At the end, a [Quiescence] check lets operators manage the ends of many cases.
//
// Cases of the kinds property and random have no journeys. A study changes the fields of a [Fixture]. It
// works in a pool of namespaces that one operator manages, and that are reused. A twin is an object that
// is created with a spec that another object reached by changes.
//
// [Suite.FindFailure] runs cases until one fails, to find the bugs that were seeded into an operator.
package suite
