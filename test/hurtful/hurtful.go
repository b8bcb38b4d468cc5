// Package hurtful is a corpus of configurations that nginx -t accepts and that hurt the nginx that serves
// them: they use up its memory, descriptors or processor time, its workers do not start, or no client
// gets what it requests. Package badconfig has the configurations that nginx refuses.
//
// Each configuration is the good one (Good) with one or two directives changed. TestAccepted checks that
// nginx 1.22, 1.26 and 1.30 accept them. TestHurts runs each one in a container with a memory limit of
// MemoryLimit and compares the effect with Case.Effect.
package hurtful

import (
	"fmt"
	"slices"

	"example.com/nginx-operator/test/badconfig"
)

// Port is the port that an application with these configurations declares.
const Port = badconfig.Port

// Path and PagePath are the paths that clients request. Path is answered with Body; its requests
// are as long as those with a cookie or two. PagePath is answered with a file.
const (
	Path     = "/?session=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	PagePath = "/page"
)

// MemoryLimit is the container's memory limit in bytes, at which the configurations hurt.
const MemoryLimit = 64 << 20

// Case is one configuration.
type Case struct {
	// Name is unique. It contains the directive and what is wrong with it.
	Name   string
	Family Family
	// Files are spec.config.files.
	Files map[string]string
	// Since is the first version of nginx that accepts it; empty: any.
	Since string
	// Hurts describes the harm in short.
	Hurts     string
	Detection Detection
	// Effect is what happens to an nginx that loads it without the operator.
	Effect Effect
	// Want is what the condition must say.
	Want badconfig.Diagnosis
}

// Family groups configurations by what they take from nginx.
type Family string

// The families.
const (
	Memory        Family = "memory"
	Processes     Family = "processes"
	Descriptors   Family = "descriptors"
	DeadWorkers   Family = "dead-workers"
	Time          Family = "time"
	Logs          Family = "logs"
	NothingServed Family = "nothing-served"
	Requests      Family = "requests"
	// Hangs is the family of Hanging, which All lacks.
	Hangs Family = "hanging"
)

// Families returns the families of All, in the order of the corpus.
func Families() []Family {
	return []Family{Memory, Processes, Descriptors, DeadWorkers, Time, Logs, NothingServed, Requests}
}

// Detection is the time at which the harm can be detected.
type Detection string

const (
	// Foreseeable means before a worker serves with it: from the resources that it requests, or
	// from a start of its workers without requests.
	Foreseeable Detection = "foreseeable"
	// InAnswers means only when clients get its responses.
	InAnswers Detection = "in answers"
)

// Effect is what happens to nginx.
type Effect string

// The effects.
const (
	// OutOfMemory means that the kernel kills a process of the container.
	OutOfMemory Effect = "out of memory"
	// WorkersDie means that no worker serves, because the workers end or are stuck.
	WorkersDie Effect = "workers die"
	// Fails means that requests get a wrong response or none.
	Fails Effect = "requests fail"
	// Slow means that responses take long, or most of a processor.
	Slow Effect = "slow"
	// SlowLoad means that the master process takes long to load it, and does nothing else in that
	// time.
	SlowLoad Effect = "slow to load"
	// Floods means that a request writes many lines to the container's log.
	Floods Effect = "floods the log"
)

// All returns all cases. They are the same for each call.
func All() []Case {
	return slices.Concat(memory(), processes(), descriptors(), deadWorkers(), slow(), logs(), nothingServed(), requests())
}

// ServingNothing returns 16 configurations that serve nothing although no part of the instance
// reports a problem.
func ServingNothing() []Case {
	var found []Case
	for _, c := range All() {
		if slices.Contains(servingNothing, c.Name) {
			found = append(found, c)
		}
	}
	return found
}

// servingNothing are the names of the cases in ServingNothing.
var servingNothing = []string{
	"return-444", "deny-all", "redirect-to-itself", "proxy-to-itself", "listen-ssl", "variable-upstream-without-resolver",
	"auth-file-missing", "listen-proxy-protocol", "stream-on-the-http-port", "rewrite-loop", "try-files-loop",
	"redirect-to-https-without-listener", "auth-request-to-nowhere", "internal", "wrong-root", "default-server-421",
}

// Good is the configuration that is served before and after.
func Good() map[string]string { return site{}.files(false) }

// Body returns the body of Good's response to a method at Path.
func Body(method string) string { return fmt.Sprintf("served %s\n", method) }

// entry is a case in the table of its family.
type entry struct {
	name, hurts string
	site        site
	// since, detection, effect and messages override those of the family.
	since     string
	detection Detection
	effect    Effect
	messages  []string
}

// family is what the cases of a table have in common.
type family struct {
	name      Family
	detection Detection
	effect    Effect
	// messages are parts of messages, one of which the condition must contain.
	messages []string
}

// cases returns a case for each entry. Every other one is a complete nginx.conf.
func (f family) cases(entries ...entry) []Case {
	var all []Case
	for i, e := range entries {
		c := Case{
			Name: e.name, Family: f.name, Files: e.site.files(i%2 == 1), Since: e.since, Hurts: e.hurts,
			Detection: f.detection, Effect: f.effect, Want: badconfig.Diagnosis{Messages: f.messages},
		}
		if e.detection != "" {
			c.Detection = e.detection
		}
		if e.effect != "" {
			c.Effect = e.effect
		}
		if e.messages != nil {
			c.Want.Messages = e.messages
		}
		all = append(all, c)
	}
	return all
}
