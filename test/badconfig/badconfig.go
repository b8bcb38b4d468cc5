// Package badconfig is a corpus of configurations that nginx must not serve, each with
// the diagnosis that a user has to be given. They are made by code: some dozens of
// sorts, each in variants. What each of them makes nginx say was found out by asking
// nginx 1.22, 1.26 and 1.30: see TestNginx.
package badconfig

import (
	"fmt"
	"strings"
)

// Case is one bad configuration. An application that declares Port serves it with
// certificates or other fields unset.
type Case struct {
	// Name is the sort and a number.
	Name string
	// Sort is what is wrong, in a word or two.
	Sort string
	// Files are spec.config.files.
	Files map[string]string
	// Finder tells who can find that it is bad.
	Finder Finder
	// Want is what the user has to be told.
	Want Diagnosis
}

// Finder is who finds a fault.
type Finder int

const (
	// Test means: nginx -t refuses it.
	Test Finder = iota
	// Load means: nginx -t accepts it, and the running nginx that is served Good refuses it.
	Load
	// Workers means: nginx accepts it, and then its workers die.
	Workers
	// Ports means: nginx accepts it, but does not listen where the application declares it.
	Ports
	// Crash means: nginx -t itself crashes, or takes more memory or time than it may have.
	Crash
	// Operator means: the operator refuses it, before any pod sees it.
	Operator
)

// Diagnosis is where a fault is and what nginx says.
type Diagnosis struct {
	// File is the user's file, empty where nginx names none. Line is 0 then.
	File string
	Line int
	// Messages are parts of messages. One of them has to be told: versions of nginx
	// word some differently. Empty: any message will do.
	Messages []string
}

// Place is file:line, empty where nginx names none.
func (d Diagnosis) Place() string {
	if d.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", d.File, d.Line)
}

// In tells what of the diagnosis is missing in a message; nil when it is all there.
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

// Port is what an application that is given these configurations declares.
const Port = 8080

// OccupiedPort is taken in every pod, by the instance manager.
const OccupiedPort = 9113

// Good is what is served while the bad ones are tried. It has the zones whose keys some of
// them change. Every request is answered with the revision.
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

// All are all cases. Two calls give the same.
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
