// Package instanceapi is what nginx-instance, the process that supervises nginx in
// every pod, and the operator say to each other: the folders and annotations by which
// the operator asks, and the answers that it reads over HTTP. It is the contract
// between programs of different releases, and uses the standard library only.
package instanceapi

import "time"

// Protocol is the version of this contract that this release speaks, OldestProtocol the
// oldest one that it understands: after an update of the operator, pods speak for a while
// what the release before spoke. An instance of any other version cannot be understood.
//
// What is only added, a field or a path, does not make a new version: a program ignores
// fields that it does not know, and takes one that is missing for unknown.
const (
	Protocol       = 1
	OldestProtocol = 1
)

// Port is where every instance answers, and PortName is what the pod calls it.
const (
	Port     = 9113
	PortName = "metrics"
)

// Paths of the HTTP API. All but PathLoad are read with GET.
const (
	// PathLive answers 200 as long as the instance works.
	PathLive = "/livez"
	// PathReady answers 200 when nginx serves a verified configuration on every
	// declared port, and 503 with the reason otherwise.
	PathReady = "/readyz"
	// PathStatus answers with a Status as JSON.
	PathStatus = "/v1/status"
	// PathLoad takes the word (see Grant) with POST, and answers 202 when it is the right
	// one: what the instance was asked to test is then loaded, if it passed.
	PathLoad = "/v1/load"
	// PathRequests answers with a RequestWindow as JSON. The parameter ParameterSeconds
	// tells for how long, up to now, and the optional ParameterRevision of which configuration.
	// Where requests are not measured, and in releases that
	// do not know the path, the answer is 404.
	PathRequests = "/v1/requests"
	// PathMetrics answers in the Prometheus text format.
	PathMetrics = "/metrics"
)

// Status is everything that an instance knows. A field that a newer release adds is
// ignored by an older one.
type Status struct {
	// Protocol is the version of this contract that the instance speaks.
	Protocol int `json:"protocol"`
	// Version of nginx-instance.
	Version string `json:"version"`
	// NginxVersion is that of the nginx binary in the image, such as 1.30.4.
	NginxVersion string `json:"nginxVersion,omitempty"`
	// Serving is the revision that nginx's workers have answered with; empty while
	// nginx does not run.
	Serving string `json:"serving,omitempty"`
	// ServingSeconds is for how long they have done so, in whole seconds. Loading the same
	// revision once more, for a new certificate, does not begin it anew. Nil while nothing
	// is served, and in answers of releases that do not tell.
	ServingSeconds *int64 `json:"servingSeconds,omitempty"`
	// OnProbation tells that what is served was loaded a moment ago, and that the instance may go
	// back from it. Releases before 0.5 do not tell.
	OnProbation bool `json:"onProbation,omitempty"`
	// Comparing tells that its first answers are about to be compared with those before, and that
	// no other pod should load it meanwhile. It takes a fraction of a second.
	Comparing bool `json:"comparing,omitempty"`
	// Stable and Next are the revisions of the two mounted configurations as the
	// instance finds them now; empty where there are no files.
	Stable string `json:"stable,omitempty"`
	Next   string `json:"next,omitempty"`
	// Requested is what the pod's annotations ask for.
	Requested Requested `json:"requested"`
	// Granted is the revision that the instance was told the word for, as long as it is
	// asked to test it under the same grant.
	Granted string `json:"granted,omitempty"`
	// Revisions tell what became of the revisions that were tried, the latest first.
	// Only a few are kept.
	Revisions []Revision `json:"revisions,omitempty"`
	// Certificates has an entry for each certificate that was declared, in the order of
	// their names.
	Certificates []Certificate `json:"certificates,omitempty"`
	// Ports has an entry for each declared port, in the order of their declaration.
	Ports   []DeclaredPort `json:"ports,omitempty"`
	Workers Workers        `json:"workers"`
	Reloads Reloads        `json:"reloads"`
	// ReloadProblems are why nginx did not take the present files of the folders that it is
	// reloaded for. It goes on with what it has read before, and the reload is repeated. Bounded.
	// Releases before 0.5 do not tell.
	ReloadProblems []Problem `json:"reloadProblems,omitempty"`
	// Draining is set from the signal to stop on.
	Draining bool `json:"draining,omitempty"`
	// Ready is what PathReady answers, and NotReady why not.
	Ready    bool   `json:"ready"`
	NotReady string `json:"notReady,omitempty"`
}

// Requested is what the pod's annotations ask for; empty: nothing.
type Requested struct {
	// Test is the revision to be tested, from *next*.
	Test string `json:"test,omitempty"`
	// Load is the revision to be served.
	Load string `json:"load,omitempty"`
	// Grant is what Grant returns for the word at which Test is to be served, whatever
	// Load says. Only instances of releases before GrantFingerprint send it.
	Grant string `json:"grant,omitempty"`
	// GrantFingerprint is Fingerprint of Grant.
	GrantFingerprint string `json:"grantFingerprint,omitempty"`
}

// Public returns what everybody in the pod's network may read: a fingerprint in place of
// the grant.
func (r Requested) Public() Requested {
	if r.Grant != "" {
		r.GrantFingerprint, r.Grant = Fingerprint(r.Grant), ""
	}
	return r
}

// Matches tells whether two requests are the same, whichever of them is public.
func (r Requested) Matches(other Requested) bool { return r.Public() == other.Public() }

// Verdict is the outcome of a test or a load.
type Verdict string

// The verdicts. The zero value means that it was not tried (yet).
const (
	Passed Verdict = "Passed"
	Failed Verdict = "Failed"
)

// Revision tells what became of one revision of the configuration.
type Revision struct {
	Revision string `json:"revision"`
	// Test is nginx's verdict on the files, by nginx -t and a look at the ports.
	Test Verdict `json:"test,omitempty"`
	// Load tells whether nginx's new workers answered with this revision.
	Load Verdict `json:"load,omitempty"`
	// Fatal tells of a load that failed that it ended worker processes, nginx or the container:
	// no other pod may load the revision. Releases before 0.5 do not tell.
	Fatal bool `json:"fatal,omitempty"`
	// TakenBack tells of a load that failed that the workers had confirmed it: the instance went back.
	// Releases before 0.5 do not tell.
	TakenBack bool `json:"takenBack,omitempty"`
	// Unread are the user's files that end in .conf and that nginx did not read when it tested
	// the revision. Bounded. Releases that do not tell leave it out.
	Unread []string `json:"unread,omitempty"`
	// Problems are why the last test or load failed, the first one first. Bounded.
	Problems []Problem `json:"problems,omitempty"`
}

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	// File is the name of the user's file, or the path of a file of the image; empty
	// when nginx named none.
	File string `json:"file,omitempty"`
	// Line in File, from 1 on; 0 when nginx named none.
	Line int `json:"line,omitempty"`
	// Message in nginx's words.
	Message string `json:"message"`
}

// Certificate is one declared certificate.
type Certificate struct {
	// Name in spec.tls.
	Name string `json:"name"`
	// Error tells what is wrong with the mounted pair: missing, not PEM, key and
	// certificate do not match. nginx keeps the earlier pair meanwhile, if there is one.
	Error string `json:"error,omitempty"`
	// What follows is about the pair that nginx is given; empty when there is none.

	Subject   string     `json:"subject,omitempty"`
	DNSNames  []string   `json:"dnsNames,omitempty"`
	Serial    string     `json:"serial,omitempty"`
	NotBefore *time.Time `json:"notBefore,omitempty"`
	NotAfter  *time.Time `json:"notAfter,omitempty"`
	// Listeners are the addresses of the listen directives of the servers that use it,
	// such as "0.0.0.0:443".
	Listeners []string `json:"listeners,omitempty"`
}

// Workers counts nginx's processes.
type Workers struct {
	// Configured is the number of worker processes asked for.
	Configured int `json:"configured"`
	// Running serve; Exiting are of earlier generations and finish their connections.
	Running int `json:"running"`
	Exiting int `json:"exiting"`
}

// Reloads counts since the instance started.
type Reloads struct {
	Succeeded int64 `json:"succeeded"`
	Failed    int64 `json:"failed"`
}

// DeclaredPort is one port that the pod declares.
type DeclaredPort struct {
	Name string `json:"name"`
	Port int32  `json:"port"`
	// Protocol is TCP or UDP.
	Protocol string `json:"protocol"`
	// Listening tells whether nginx listens there.
	Listening bool `json:"listening"`
}
