package proxy

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault is a fault that a request meets.
type Fault string

// The faults that a request can meet.
const (
	// None forwards the request.
	None Fault = ""
	// Cut closes the connection without forwarding the write.
	Cut Fault = "cut"
	// Drop carries the write out, and loses the response.
	Drop Fault = "drop"
	// Conflict responds with 409, TooMany with 429, Internal with 500, and Quota with 403. None of
	// them forwards the write.
	Conflict Fault = "409"
	TooMany  Fault = "429"
	Internal Fault = "500"
	Quota    Fault = "403"
	// Timeout carries the write out and responds with 504, so the operator cannot know the outcome.
	Timeout Fault = "504"
	// KillBefore kills the operator before the write is forwarded. KillAfter kills it after the
	// write was carried out and before the response arrives.
	KillBefore Fault = "kill-before"
	KillAfter  Fault = "kill-after"
)

// FaultsOfWrites returns all faults of writes.
func FaultsOfWrites() []Fault {
	return []Fault{Cut, Drop, Conflict, TooMany, Internal, Quota, Timeout, KillBefore, KillAfter}
}

// FaultsOfReads returns the faults of reads: the connection closes, or the API server returns an
// error.
func FaultsOfReads() []Fault { return []Fault{Cut, TooMany, Internal, Quota} }

// Kills reports whether the fault kills the operator.
func (f Fault) Kills() bool { return f == KillBefore || f == KillAfter }

// forwardsWrite reports whether the write is carried out.
func (f Fault) forwardsWrite() bool { return f == Drop || f == Timeout || f == KillAfter }

// answer returns the status that the proxy responds with; nil: it closes the connection without a
// response.
func (f Fault) answer(r Request) *metav1.Status {
	of := func(code int32, reason metav1.StatusReason, message string) *metav1.Status {
		return &metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
			Code: code, Reason: reason, Message: message, Details: &metav1.StatusDetails{Name: r.Name, Kind: r.Resource},
		}
	}
	switch f {
	case Conflict:
		return of(http.StatusConflict, metav1.StatusReasonConflict, "Operation cannot be fulfilled: the object has been modified (injected)")
	case TooMany:
		status := of(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "too many requests (injected)")
		status.Details.RetryAfterSeconds = 1
		return status
	case Internal:
		return of(http.StatusInternalServerError, metav1.StatusReasonInternalError, "etcdserver: leader changed (injected)")
	case Quota:
		return of(http.StatusForbidden, metav1.StatusReasonForbidden, "exceeded quota: injected, requested: pods=1, used: pods=1, limited: pods=1")
	case Timeout:
		return of(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "Timeout: request did not complete within requested timeout (injected)")
	case None, Cut, Drop, KillBefore, KillAfter:
	}
	return nil
}
