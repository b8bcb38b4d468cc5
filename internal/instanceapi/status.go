// Package instanceapi is the contract between the operator and nginx-instance, the process that
// supervises nginx in every pod: the folders and annotations by which the operator sends requests,
// and the HTTP API. The two programs can be of different releases. The package only uses the
// standard library.
package instanceapi

import (
	"encoding/json"
	"slices"
	"time"
)

// Protocol is the version of this contract that this release implements, and OldestProtocol is the
// oldest one that it understands: after an update of the operator, pods of the release before run
// for a while. Instances with any other version cannot be understood.
//
// An addition, such as a field or a path, does not need a new version: a program ignores fields that
// it does not know, and treats a missing one as unknown.
const (
	Protocol       = 1
	OldestProtocol = 1
)

// Port is the port of every instance's HTTP API, and PortName is its name in the pod.
const (
	Port     = 9113
	PortName = "metrics"
)

// These are the paths of the HTTP API. All are requested with GET, except PathOrders.
const (
	// PathLive answers 200 while the instance works.
	PathLive = "/livez"
	// PathReady answers 200 if nginx serves a verified configuration on every declared port, and
	// 503 with the reason otherwise.
	PathReady = "/readyz"
	// PathStatus answers with a Status as JSON.
	PathStatus = "/v1/status"
	// PathRequests answers with a RequestWindow as JSON. The parameter ParameterSeconds is the
	// length of the time up to now, and the optional ParameterRevision selects a configuration. The
	// answer is 404 if requests are not measured, and in releases that do not know the path.
	PathRequests = "/v1/requests"
	// PathMetrics answers in the Prometheus text format.
	PathMetrics = "/metrics"
)

// Status is everything that an instance reports. Older releases ignore fields that a newer one
// adds.
type Status struct {
	// Protocol is the version of this contract that the instance speaks.
	Protocol int `json:"protocol"`
	// Version is the version of nginx-instance.
	Version string `json:"version" max:"64"`
	// NginxVersion is the version of the nginx binary in the image, such as 1.30.4.
	NginxVersion string `json:"nginxVersion,omitempty" max:"64"`
	// Serving is the revision that nginx's workers have answered with. It is empty while nginx does
	// not run.
	Serving string `json:"serving,omitempty" max:"128"`
	// ServingSeconds is for how long they have done so, in whole seconds. A reload of the same
	// revision, for a new certificate, does not reset it. It is nil while no revision is served,
	// and in answers of releases without it.
	ServingSeconds *int64 `json:"servingSeconds,omitempty"`
	// OnProbation reports whether the served configuration was loaded recently, so that the
	// instance may still roll it back. Releases before 0.5 do not report it.
	OnProbation bool `json:"onProbation,omitempty"`
	// Comparing reports whether its first answers are being compared with those before, and no
	// other pod should load it yet (see Hints.First). It takes a fraction of a second.
	Comparing bool `json:"comparing,omitempty"`
	// Stable and Next are the current revisions of the two mounted configurations. They are empty
	// if there are no files.
	Stable string `json:"stable,omitempty" max:"128"`
	Next   string `json:"next,omitempty" max:"128"`
	// Requested is what the operator requested last: with an order, or, of instances of releases
	// before 0.5, with the pod's annotations.
	Requested Requested `json:"requested"`
	// RequestedSeconds is for how long Requested has been what the operator requests, in whole seconds. It is nil if nothing
	// is requested, and in releases before 0.6.
	RequestedSeconds *int64 `json:"requestedSeconds,omitempty"`
	// Orders is how to send the instance an order; nil in releases before 0.5.
	Orders *Orders `json:"orders,omitempty"`
	// Purged is what was purged from the cache of the pod; nil if it has none, and in releases before 0.6.
	Purged *Purged `json:"purged,omitempty"`
	// Cache is the state of the volume with the cache of the pod; nil if it has none or has not measured it yet, and in
	// releases before 0.6.
	Cache *Cache `json:"cache,omitempty"`
	// Available are the revisions whose files the instance has. It can drop them at any time, except for those that it serves
	// and those that are requested.
	Available []string `json:"available,omitempty" max:"32,128"`
	// Revisions are the outcomes of the revisions that were tried, the latest first. Only a few are
	// kept.
	Revisions []Revision `json:"revisions,omitempty" max:"32"`
	// Certificates has an entry for each declared certificate, in the order of the names.
	Certificates []Certificate `json:"certificates,omitempty" max:"64"`
	// Ports has an entry for each declared port, in the order of declaration.
	Ports   []DeclaredPort `json:"ports,omitempty" max:"64"`
	Workers Workers        `json:"workers"`
	Reloads Reloads        `json:"reloads"`
	// ReloadProblems are why nginx refused the current files of the folders that reload it. nginx
	// keeps using those that it has read before, and the reload is repeated. The number of problems
	// is bounded. Releases before 0.5 do not report them.
	ReloadProblems []Problem `json:"reloadProblems,omitempty" max:"16"`
	// Draining is set once the instance is signaled to stop.
	Draining bool `json:"draining,omitempty"`
	// Ready is the answer of PathReady, and NotReady is why the instance is not ready.
	Ready    bool   `json:"ready"`
	NotReady string `json:"notReady,omitempty" max:"4096"`
}

// HasFiles reports whether the instance has the files of a revision.
func (s *Status) HasFiles(revision string) bool {
	return s.Serving == revision || slices.Contains(s.Available, revision)
}

// Requested is what the operator requests of an instance; an empty field: nothing.
type Requested struct {
	// Test is the revision to test.
	Test string `json:"test,omitempty" max:"128"`
	// Load is the revision to serve.
	Load string `json:"load,omitempty" max:"128"`
}

// Verdict is the outcome of a test or a load.
type Verdict string

// The zero Verdict means that it was not tried yet.
const (
	Passed Verdict = "Passed"
	Failed Verdict = "Failed"
)

// Revision is the outcome of the tests and loads of a configuration revision.
type Revision struct {
	Revision string `json:"revision" max:"128"`
	// Test is the verdict on the files, by nginx -t, the check of the ports and the dry run.
	Test Verdict `json:"test,omitempty" max:"128"`
	// Load reports whether nginx's new workers answered with this revision.
	Load Verdict `json:"load,omitempty" max:"128"`
	// Fatal reports whether a failed load ended worker processes, nginx or the container, so that
	// no other pod may load the revision. Releases before 0.5 do not report it.
	Fatal bool `json:"fatal,omitempty"`
	// TakenBack reports whether the instance rolled back a load that the workers had confirmed.
	// Releases before 0.5 do not report it.
	TakenBack bool `json:"takenBack,omitempty"`
	// Usage is what the dry run in this pod used; nil: it made none. It is zero if there can be none, or if nothing could be
	// measured. Releases before 0.5 do not report it.
	Usage *Usage `json:"usage,omitempty"`
	// Unread are the user's .conf files that nginx did not read when it tested the revision. Their
	// number is bounded. Older releases do not report them.
	Unread []string `json:"unread,omitempty" max:"32,1024"`
	// Problems are why the last test or load failed, the first one first. Their number is bounded.
	Problems []Problem `json:"problems,omitempty" max:"16"`
}

// Usage is what the master process and one worker process used in a dry run.
type Usage struct {
	// Master and Worker are the private memory of each, in bytes.
	Master int64 `json:"masterBytes"`
	Worker int64 `json:"workerBytes"`
	// Threads is the number of threads of a worker, including its main thread.
	Threads int `json:"threads"`
	// Sockets and Open are how many sockets, and files including sockets, a worker has open before its first client.
	// MaxOpen is how many files it may open. 0 means unknown or unlimited.
	Sockets int `json:"sockets"`
	Open    int `json:"open"`
	MaxOpen int `json:"maxOpen"`
}

// Problem is a single problem of a configuration.
type Problem struct {
	// File is the name of the user's file, or the path of a file of the image. It is empty if nginx
	// named none.
	File string `json:"file,omitempty" max:"1024"`
	// Line is the line in File, counted from 1; 0 if nginx named none.
	Line int `json:"line,omitempty"`
	// Message is the message, usually nginx's own.
	Message string `json:"message" max:"2048"`
}

// Certificate describes a declared certificate.
type Certificate struct {
	// Name is the name in spec.tls.
	Name string `json:"name" max:"128"`
	// Error is what is wrong with the mounted pair: it is missing, is not PEM, or the key does not
	// match the certificate. Meanwhile, nginx keeps the earlier pair, if there is one.
	Error string `json:"error,omitempty" max:"1024"`
	// The fields below describe the pair that nginx is given. They are empty if there is none.

	Subject string `json:"subject,omitempty" max:"1024"`
	// Issuer is missing in releases before 0.6. A long status lacks the Subject and the Issuer, and has the first names only.
	Issuer    string     `json:"issuer,omitempty" max:"1024"`
	DNSNames  []string   `json:"dnsNames,omitempty" max:"256,253"`
	Serial    string     `json:"serial,omitempty" max:"128"`
	NotBefore *time.Time `json:"notBefore,omitempty"`
	NotAfter  *time.Time `json:"notAfter,omitempty"`
	// Listeners are the addresses of the listen directives of the servers that use it,
	// such as "0.0.0.0:443".
	Listeners []string `json:"listeners,omitempty" max:"64,256"`
}

// Workers counts nginx's worker processes.
type Workers struct {
	// Configured is the configured number of worker processes.
	Configured int `json:"configured"`
	// Running workers serve; Exiting ones are of earlier generations and finish their connections.
	Running int `json:"running"`
	Exiting int `json:"exiting"`
}

// Reloads counts the reloads since the instance started.
type Reloads struct {
	Succeeded int64 `json:"succeeded"`
	Failed    int64 `json:"failed"`
}

// DeclaredPort is a port that the pod declares.
type DeclaredPort struct {
	Name string `json:"name" max:"128"`
	Port int32  `json:"port"`
	// Protocol is TCP or UDP.
	Protocol string `json:"protocol" max:"16"`
	// Listening reports whether nginx listens on the port.
	Listening bool `json:"listening"`
}

// maxShortenings is the number of steps in which a status can be shortened.
const maxShortenings = 6

// Encode returns the JSON of a status. If it is longer than MaxAnswer, the JSON leaves out names of certificates first, then
// their subjects and issuers, then the older outcomes. The status itself does not change.
func (s *Status) Encode() ([]byte, error) {
	short := *s
	text, err := json.Marshal(short)
	for step := 0; err == nil && len(text) > MaxAnswer && step < maxShortenings; step++ {
		short.shorten(step)
		text, err = json.Marshal(short)
	}
	return text, err
}

// shorten leaves out more with each step. It changes no list, because a status shares them with others.
func (s *Status) shorten(step int) {
	names := 32 >> (2 * step)
	s.Certificates = slices.Clone(s.Certificates)
	for i := range s.Certificates {
		c := &s.Certificates[i]
		c.DNSNames, c.Listeners = c.DNSNames[:min(len(c.DNSNames), names)], c.Listeners[:min(len(c.Listeners), names)]
		if step >= maxShortenings-2 {
			c.Subject, c.Issuer = "", ""
		}
	}
	if step == maxShortenings-1 {
		s.Revisions = slices.Clone(s.Revisions[:min(len(s.Revisions), 2)])
		for i := range s.Revisions {
			r := &s.Revisions[i]
			r.Unread, r.Problems = nil, r.Problems[:min(len(r.Problems), 1)]
		}
	}
}
