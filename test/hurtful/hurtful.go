// Package hurtful is a corpus of configurations that nginx -t accepts and that hurt the
// nginx that serves them: they take its memory, its descriptors or its processor time, its
// workers do not start, or it answers with nothing that a client wants. Package badconfig
// has those that nginx refuses.
//
// Each configuration is the good one (Good) with a directive or two changed. TestAccepted
// asks nginx 1.22, 1.26 and 1.30 whether they accept them; TestHurts runs each of them in a
// container with a memory limit of MemoryLimit and compares what happens with Case.Effect.
package hurtful

import (
	"fmt"
	"slices"

	"example.com/nginx-operator/test/badconfig"
)

// Port is what an application that is given these configurations declares.
const Port = badconfig.Port

// Paths that clients ask for: one that is answered with Body, by requests that are as long as those
// with a cookie or two, and one that is answered with a file.
const (
	Path     = "/?session=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	PagePath = "/page"
)

// MemoryLimit of the container in bytes, at which the configurations hurt.
const MemoryLimit = 64 << 20

// Case is one configuration.
type Case struct {
	// Name is unique. It names the directive and what is wrong with it.
	Name   string
	Family Family
	// Files are spec.config.files.
	Files map[string]string
	// Since is the first version of nginx that accepts it; empty: any.
	Since string
	// Hurts tells what it does, in a few words.
	Hurts     string
	Detection Detection
	// Effect is what happens to an nginx that loads it without the operator.
	Effect Effect
	// Want is what the condition has to say.
	Want badconfig.Diagnosis
}

// Family is what a configuration takes from nginx.
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
)

// Families are all families, in the order of the corpus.
func Families() []Family {
	return []Family{Memory, Processes, Descriptors, DeadWorkers, Time, Logs, NothingServed, Requests}
}

// Detection is when a configuration can be found to hurt.
type Detection string

const (
	// Foreseeable means: before a worker serves with it, by what it asks for or by a start
	// of its workers that nobody is sent to.
	Foreseeable Detection = "foreseeable"
	// InAnswers means: only when clients are answered by it.
	InAnswers Detection = "in answers"
)

// Effect is what happens to nginx.
type Effect string

// The effects.
const (
	// OutOfMemory means: the kernel kills a process of the container.
	OutOfMemory Effect = "out of memory"
	// WorkersDie means: no worker serves, because they end or are stuck.
	WorkersDie Effect = "workers die"
	// Fails means: requests are answered wrongly or not at all.
	Fails Effect = "requests fail"
	// Slow means: answers take long, or most of a processor.
	Slow Effect = "slow"
	// SlowLoad means: the master process takes long to load it, in which it does nothing else.
	SlowLoad Effect = "slow to load"
	// Floods means: a request writes many lines to the container's log.
	Floods Effect = "floods the log"
)

// All are all cases. Two calls give the same.
func All() []Case {
	return slices.Concat(memory(), processes(), descriptors(), deadWorkers(), slow(), logs(), nothingServed(), requests())
}

// ServingNothing are 16 configurations of which every part of the instance says that all is
// well, and that serve nothing.
func ServingNothing() []Case {
	var found []Case
	for _, c := range All() {
		if slices.Contains(servingNothing, c.Name) {
			found = append(found, c)
		}
	}
	return found
}

// servingNothing are the names of ServingNothing.
var servingNothing = []string{
	"return-444", "deny-all", "redirect-to-itself", "proxy-to-itself", "listen-ssl", "variable-upstream-without-resolver",
	"auth-file-missing", "listen-proxy-protocol", "stream-on-the-http-port", "rewrite-loop", "try-files-loop",
	"redirect-to-https-without-listener", "auth-request-to-nowhere", "internal", "wrong-root", "default-server-421",
}

// Good is what is served before and after.
func Good() map[string]string { return site{}.files(false) }

// Body is what Good answers to a method at Path with.
func Body(method string) string { return fmt.Sprintf("served %s\n", method) }

// entry is a case in the table of its family.
type entry struct {
	name, hurts string
	site        site
	// since, detection, effect and words are those of the family, unless they are set here.
	since     string
	detection Detection
	effect    Effect
	words     []string
}

// family is what the cases of a table have in common.
type family struct {
	name      Family
	detection Detection
	effect    Effect
	// words are parts of messages, one of which the condition has to have.
	words []string
}

// cases makes a case of each entry. Every other one is a whole nginx.conf.
func (f family) cases(entries ...entry) []Case {
	var all []Case
	for i, e := range entries {
		c := Case{
			Name: e.name, Family: f.name, Files: e.site.files(i%2 == 1), Since: e.since, Hurts: e.hurts,
			Detection: f.detection, Effect: f.effect, Want: badconfig.Diagnosis{Messages: f.words},
		}
		if e.detection != "" {
			c.Detection = e.detection
		}
		if e.effect != "" {
			c.Effect = e.effect
		}
		if e.words != nil {
			c.Want.Messages = e.words
		}
		all = append(all, c)
	}
	return all
}
