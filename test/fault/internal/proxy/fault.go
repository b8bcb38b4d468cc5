package proxy

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault is what happens to a request.
type Fault string

// The faults.
const (
	// None sends it on.
	None Fault = ""
	// Cut ends the connection before the write is sent on.
	Cut Fault = "cut"
	// Drop has it carried out, and loses the answer.
	Drop Fault = "drop"
	// Conflict answers 409, TooMany 429, Internal 500, and Quota 403, all without sending it on.
	Conflict Fault = "409"
	TooMany  Fault = "429"
	Internal Fault = "500"
	Quota    Fault = "403"
	// Timeout has it carried out and answers 504: the outcome is said to be unknown.
	Timeout Fault = "504"
	// KillBefore kills the operator before the write is sent on, KillAfter when it was carried out
	// and before the answer arrives.
	KillBefore Fault = "kill-before"
	KillAfter  Fault = "kill-after"
)

// Faults are all of them.
func Faults() []Fault {
	return []Fault{Cut, Drop, Conflict, TooMany, Internal, Quota, Timeout, KillBefore, KillAfter}
}

// ReadFaults are those of reads: the connection ends, or the API server has other worries.
func ReadFaults() []Fault { return []Fault{Cut, TooMany, Internal, Quota} }

// Kills tells whether the operator does not survive it.
func (f Fault) Kills() bool { return f == KillBefore || f == KillAfter }

// carriedOut tells whether the write happens.
func (f Fault) carriedOut() bool { return f == Drop || f == Timeout || f == KillAfter }

// answer is what the API server is said to answer; nil: the connection ends without one.
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
