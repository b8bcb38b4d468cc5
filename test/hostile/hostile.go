// Package hostile is a corpus of resources that somebody sends who wants to break something, or to
// get out of a namespace: each has to be refused in words that say what to change, or to do no harm.
// They are made by code: some sorts, each in variants. What becomes of each is found out by sending
// it to an API server with the operator behind it: see test/api/hostile.
package hostile

import (
	"encoding/json"
	"fmt"
)

// Kind is a kind of resource, in a version of its API.
type Kind struct {
	Group, Version, Resource, Name string
}

// The kinds that users write.
var (
	Nginx    = Kind{"operator.example.com", "v1alpha2", "nginxoperators", "NginxOperator"}
	NginxOld = Kind{"operator.example.com", "v1alpha1", "nginxoperators", "NginxOperator"}
	Backup   = Kind{"backup.operator.example.com", "v1alpha1", "nginxbackups", "NginxBackup"}
	Policy   = Kind{"backup.operator.example.com", "v1alpha1", "nginxbackuppolicies", "NginxBackupPolicy"}
	Restore  = Kind{"backup.operator.example.com", "v1alpha1", "nginxrestores", "NginxRestore"}
)

// APIVersion is group and version.
func (k Kind) APIVersion() string { return k.Group + "/" + k.Version }

// Namespace stands for the namespace that a resource is sent to, wherever it is in a Body.
const Namespace = "NAMESPACE"

// Case is one hostile resource.
type Case struct {
	// Name is the sort and what is tried.
	Name string
	// Sort is what is tried, in a word or two.
	Sort string
	Kind Kind
	// Object is the name of the resource.
	Object string
	// Body is what is sent, byte for byte.
	Body string
	// Lenient has the API server drop what it does not know, in place of refusing it.
	Lenient bool
	// DryRun asks the API server whether it would take it.
	DryRun bool
	// Before are objects of other people, or other resources, that are there already.
	Before []Object
	Want   Want
}

// Object is another one that is there already.
type Object struct {
	// Path of the collection below that of the namespace, such as "api/v1 configmaps".
	Path string
	Body string
}

// Want is what is expected.
type Want struct {
	// Refused is a part of what the API server says; empty: it accepts.
	Refused string
	// Reason and Words are what Accepted tells of a resource that is accepted (of a backup or a
	// restore: Completed), one of those that "|" separates. No reason: nothing stands in its way.
	Reason, Words string
	// Either: it may be refused or be harmless; the golden file has what it is.
	Either bool
}

// All are all cases. Two calls give the same.
func All() ([]Case, error) {
	all, err := injections()
	if err != nil {
		return nil, err
	}
	for _, group := range [][]Case{names(), sizes(), unicode(), weakening(), collisions(), references(), annotations(), stores()} {
		all = append(all, group...)
	}
	return all, nil
}

// body is a resource of a kind as JSON.
func body(kind Kind, name string, spec any) string {
	return resource(kind, map[string]any{"name": name}, spec)
}

func resource(kind Kind, meta map[string]any, spec any) string {
	text, err := json.Marshal(map[string]any{
		"apiVersion": kind.APIVersion(), "kind": kind.Name, "metadata": meta, "spec": spec,
	})
	if err != nil {
		panic("hostile: the values are those of JSON: " + err.Error())
	}
	return string(text)
}

// spec reads a spec that is written as JSON in this package.
func spec(text string) any {
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		panic(fmt.Sprintf("hostile: %s: %v", text, err))
	}
	return value
}

// application is a case about an NginxOperator. short is its name, of 20 characters at most.
func application(sort, short, what, text string, want Want) Case {
	return Case{Name: sort + ": " + what, Sort: sort, Kind: Nginx, Object: short, Body: body(Nginx, short, spec(text)), Want: want}
}

func refused(words string) Want { return Want{Refused: words} }
