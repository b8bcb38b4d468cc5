package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// Duration is a time in one of nginx's units, such as 90s, 10m, 12h or 1d.
//
// +kubebuilder:validation:MaxLength=12
// +kubebuilder:validation:Pattern=`^(0|[1-9][0-9]{0,7}(s|m|h|d))$`
type Duration string

// Rule says how requests are cached.
//
// +kubebuilder:validation:XValidation:rule="!has(self.bypass) || !self.bypass || (!has(self.ttl) && !has(self.key) && !has(self.slice) && !has(self.requestHeaders))",message="a rule with bypass stores nothing, so it cannot have ttl, key, slice or requestHeaders"
type Rule struct {
	// match are the requests that the rule applies to.
	// +required
	Match Match `json:"match,omitzero"`
	// bypass sends the requests to the origin, and stores nothing.
	// +optional
	Bypass *bool `json:"bypass,omitempty"`
	// ttl is how long an answer is fresh if its origin does not say. An origin says so with
	// Cache-Control or Expires. 0: what has no such header is not stored. Unset: that of defaults.
	// +optional
	TTL *Duration `json:"ttl,omitempty"`
	// ignoreCookies says that cookies make no difference to the answers: requests with cookies are
	// answered from the caches, and their cookies are not sent to the origin. Without it, a request
	// with a cookie goes around the caches.
	// +optional
	IgnoreCookies *bool `json:"ignoreCookies,omitempty"`
	// key says what distinguishes objects besides host and path. Unset: all query parameters, in
	// their order.
	// +optional
	Key *Key `json:"key,omitempty"`
	// requestHeaders are the names of headers of requests that reach the origin, in addition to Accept, Accept-Encoding,
	// Accept-Language, Origin, User-Agent and the headers that the cache sets. They are not part of the key: the origin has to
	// answer with Vary if its answer depends on one. A header with a credential, such as X-Api-Key, makes a request go
	// around the caches; named here, it does not. Headers such as X-Forwarded-Host, which tell servers the URL or the
	// method of a request, are refused.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z][A-Za-z0-9-]*$`
	RequestHeaders []string `json:"requestHeaders,omitempty"`
	// slice is the size of the parts in which objects are requested and stored, such as 1Mi: at least
	// 64Ki, or 0 for whole objects. A request for a range then costs the slices that it is in. Use it
	// for objects that do not change under their URL: an answer that begins with an old slice breaks
	// off where a new one follows. Unset: that of defaults.
	// +optional
	Slice *resource.Quantity `json:"slice,omitempty"`
}

// Match are the conditions that a request meets. All that are set have to be met.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.pathPrefix) && has(self.pathRegularExpression))",message="set at most one of pathPrefix and pathRegularExpression"
// +kubebuilder:validation:MinProperties=1
type Match struct {
	// hosts are the host names of the requests. Unset: all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Hosts []string `json:"hosts,omitempty"`
	// pathPrefix is how the path begins, after nginx has decoded and normalized it.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/')",message="pathPrefix must start with '/'"
	PathPrefix *string `json:"pathPrefix,omitempty"`
	// pathRegularExpression is a regular expression in PCRE syntax that the path contains a match of.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	PathRegularExpression *string `json:"pathRegularExpression,omitempty"`
}

// Key says what distinguishes objects.
type Key struct {
	// queryParameters are the query parameters that distinguish objects.
	// +required
	QueryParameters QueryParameters `json:"queryParameters"`
}

// QueryParameters selects query parameters.
type QueryParameters struct {
	// include are the names of the parameters that distinguish objects. All others are ignored and not
	// sent to the origin, and so is the order in a request. Empty: none distinguishes them.
	// +required
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9_]+$`
	Include []string `json:"include"`
}

// Defaults apply where a rule sets nothing else.
type Defaults struct {
	// ttl is how long an answer is fresh if its origin does not say. An origin says so with
	// Cache-Control or Expires. 0: what has no such header is not stored.
	// +optional
	// +default="10m"
	TTL Duration `json:"ttl,omitempty"`
	// staleWhileRevalidate is how long after its end of freshness an object may still be the answer,
	// while it is requested from its origin again.
	// +optional
	// +default="1h"
	StaleWhileRevalidate Duration `json:"staleWhileRevalidate,omitempty"`
	// staleIfError is how long after its end of freshness an object may still be the answer, if its
	// origin does not answer, or answers with 500, 502, 503 or 504.
	// +optional
	// +default="1d"
	StaleIfError Duration `json:"staleIfError,omitempty"`
	// maxObjectSize is the size of the largest objects that are stored. Larger ones are passed on. If
	// an origin does not say how large an object is, it is stored. Default: 1Gi.
	// +optional
	MaxObjectSize *resource.Quantity `json:"maxObjectSize,omitempty"`
	// slice is the size of the parts of objects, as in rules. Default: 0, which is whole objects.
	// +optional
	Slice *resource.Quantity `json:"slice,omitempty"`
}
