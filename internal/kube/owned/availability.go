package owned

import "errors"

// ErrNotServed means that the API server does not serve an optional kind, or that the kind has not been read yet.
var ErrNotServed = errors.New("the kind is not served")

// Availability says whether the objects of an optional kind can be read and written.
type Availability int

const (
	// KindUnread means that it is not known yet whether the kind is served, or its cache is being filled.
	KindUnread Availability = iota
	// KindAbsent means that the API server does not serve the kind.
	KindAbsent
	// KindServed means that the cache of the kind is filled.
	KindServed
)

// AvailableKinds tell which optional kinds can be read and written.
type AvailableKinds interface {
	Availability(kind Kind) Availability
	// Want makes an absent kind be looked for where its definition is not watched.
	Want(kind Kind)
}
