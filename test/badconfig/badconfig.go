// Package badconfig is a corpus of configurations that nginx must not serve, each with the
// diagnosis that a user must get. Code generates them: several dozen sorts, each with variants. The
// expected messages were taken from nginx 1.22, 1.26 and 1.30: see TestNginx.
package badconfig

import (
	"fmt"
	"strings"
)

// Case is one bad configuration. It is for an application that declares Port, with no certificates
// or other fields set.
type Case struct {
	// Name consists of the sort and a number.
	Name string
	// Sort says what is wrong, in a word or two.
	Sort string
	// Files are spec.config.files.
	Files map[string]string
	// Finder is what can find the fault.
	Finder Finder
	// Want is the diagnosis that the user must get.
	Want Diagnosis
}

// Finder is what can find a fault.
type Finder int

const (
	// Test means that nginx -t rejects the configuration.
	Test Finder = iota
	// Load means that nginx -t accepts it, but a running nginx that serves Good rejects it.
	Load
	// Workers means that nginx accepts it, but its workers die.
	Workers
	// Ports means that nginx accepts it, but does not listen on the port that the application
	// declares.
	Ports
	// Crash means that nginx -t itself crashes, or exceeds its limit of memory or time.
	Crash
	// Operator means that the operator rejects it before any pod gets it.
	Operator
)

// Diagnosis is the place of a fault and nginx's message.
type Diagnosis struct {
	// File is the user's file; empty: nginx names none, and Line is 0.
	File string
	Line int
	// Messages are parts of messages, one of which must be reported: the wording differs between
	// versions of nginx. Empty: any message is accepted.
	Messages []string
}

// Place returns file:line; empty: nginx names no file.
func (d Diagnosis) Place() string {
	if d.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", d.File, d.Line)
}

// In returns an error if a message lacks a part of the diagnosis.
func (d Diagnosis) In(message string) error {
	if place := d.Place(); !strings.Contains(message, place) {
		return fmt.Errorf("%s is not named", place)
	}
	for _, part := range d.Messages {
		if strings.Contains(message, part) {
			return nil
		}
	}
	if len(d.Messages) == 0 {
		return nil
	}
	return fmt.Errorf("none of %q is told", d.Messages)
}

// Port is the port that an application with these configurations declares.
const Port = 8080

// OccupiedPort is used by the instance manager in every pod.
const OccupiedPort = 9113

// Good is the configuration that is served while the bad ones are tried. It has the zones whose
// keys some of them change. It answers every request with the revision.
func Good(revision string) map[string]string {
	return map[string]string{"site.conf": fmt.Sprintf(`limit_req_zone $binary_remote_addr zone=requests:1m rate=100000r/s;
limit_conn_zone $binary_remote_addr zone=connections:1m;
proxy_cache_path /tmp/pages keys_zone=pages:1m;

server {
    listen %d;
    add_header X-Revision %s always;
    limit_req zone=requests burst=100000 nodelay;
    location / {
        return 200 "revision=%s\n";
    }
}
`, Port, revision, revision)}
}

// All returns all cases. They are the same for each call.
func All() []Case {
	var all []Case
	for _, s := range sorts() {
		for i, c := range s.cases {
			c.Name = fmt.Sprintf("%s-%02d", s.name, i+1)
			c.Sort = s.name
			all = append(all, c)
		}
	}
	return all
}

// sort is a sort of faults with its cases.
type sort struct {
	name  string
	cases []Case
}

func sorts() []sort {
	var all []sort
	for _, group := range [][]sort{syntax(), structure(), values(), servers(), names(), files(), certificates(), process(), sizes(), runtime(), refused()} {
		all = append(all, group...)
	}
	return all
}
