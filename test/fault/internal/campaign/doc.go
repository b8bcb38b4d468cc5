// Package campaign puts an operator through its cases.
//
// A [Stage] is a real API server with what stands in for the rest of a cluster. On it, a journey is
// played: a play has a namespace, an operator for it behind the proxy (a guest), and pods. Played
// twice without a fault, a journey has a [Golden] end, with a mask of what is not compared: what was
// another each time (Learned), what tells how an end was reached (Means), and what tells of the past
// (Past).
//
// A [Case] plays the journey once more, with one disturbance:
//
//	perform  the steps of the user, and the wait for what the journey expects
//	told     at that moment, every ready pod serves what the journey says
//	matches  the end is the golden one
//	promise  as many pods were ready all the while as the journey keeps, and none was told to load what
//	         others had not accepted
//	honest   what was told to be Ready did not change afterwards
//	renewed  nothing was taken over from what was deleted
//	lasted   nothing was deleted and made again that stays
//	stable   nothing is written any more, not after a new list of everything, not after a restart
//
// In the end, a [Vigil] has one operator look after the ends of many cases.
//
// Cases of the kinds property and random do without journeys. A study changes the fields of a
// [Specimen], in a crowd: namespaces (its members) side by side, which one operator looks after, and
// which are used again and again. A twin is an object that is created as another one was changed to be.
//
// [Campaign.Hunt] plays cases until one fails, to find the bugs that were put into an operator.
package campaign
