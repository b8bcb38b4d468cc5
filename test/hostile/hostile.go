// Package hostile is a corpus of resources from a user who wants to break something or to get out
// of a namespace. Each of them must be rejected with a message that says what to change, or do no
// harm. Code generates them: each sort has several variants. test/api/hostile sends each resource
// to an API server with the operator behind it, and records the result.
package hostile

import (
	"encoding/json"
	"fmt"
)

// Kind is a kind of resource in a version of its API.
type Kind struct {
	Group, Version, Resource, Name string
}

// The kinds that users create.
var (
	Nginx    = Kind{"operator.example.com", "v1alpha2", "nginxoperators", "NginxOperator"}
	NginxOld = Kind{"operator.example.com", "v1alpha1", "nginxoperators", "NginxOperator"}
	Backup   = Kind{"backup.operator.example.com", "v1alpha1", "nginxbackups", "NginxBackup"}
	Policy   = Kind{"backup.operator.example.com", "v1alpha1", "nginxbackuppolicies", "NginxBackupPolicy"}
	Restore  = Kind{"backup.operator.example.com", "v1alpha1", "nginxrestores", "NginxRestore"}
	Cache    = Kind{"cache.operator.example.com", "v1alpha1", "nginxcaches", "NginxCache"}
	Purge    = Kind{"cache.operator.example.com", "v1alpha1", "nginxcachepurges", "NginxCachePurge"}
)

// APIVersion returns the group and the version.
func (k Kind) APIVersion() string { return k.Group + "/" + k.Version }

// Namespace stands for the namespace that a resource is sent to, wherever it occurs in a Body.
const Namespace = "NAMESPACE"

// Case is one hostile resource.
type Case struct {
	// Name is the sort and what the case tries.
	Name string
	// Sort names the kind of attempt in a word or two.
	Sort string
	Kind Kind
	// Object is the name of the resource.
	Object string
	// Body is sent byte for byte.
	Body string
	// Lenient makes the API server drop unknown fields instead of rejecting them.
	Lenient bool
	// DryRun only asks the API server whether it would accept the resource.
	DryRun bool
	// Before are objects that exist already: those of other users, or other resources.
	Before []Object
	Want   Want
}

// Object is another object that exists already.
type Object struct {
	// Path is the path of the collection below that of the namespace, such as "api/v1 configmaps".
	Path string
	Body string
}

// Want is the expected result.
type Want struct {
	// Refused is a part of the API server's error message. If empty, the API server accepts the
	// resource.
	Refused string
	// Reason and Message are expected in the condition Accepted of an accepted resource, or in
	// Completed of a backup or a restore. "|" separates alternatives. Without a reason, the
	// resource must be accepted without a problem.
	Reason, Message string
	// Either allows a rejection as well as harmless acceptance. The golden file holds the actual
	// result.
	Either bool
}

// All returns all cases. Every call returns the same cases.
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

// body returns a resource of a kind as JSON.
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

// spec parses a spec that is written as JSON in this package.
func spec(text string) any {
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		panic(fmt.Sprintf("hostile: %s: %v", text, err))
	}
	return value
}

// application returns a case about an NginxOperator. short is its name, of at most 20 characters.
func application(sort, short, what, text string, want Want) Case {
	return Case{Name: sort + ": " + what, Sort: sort, Kind: Nginx, Object: short, Body: body(Nginx, short, spec(text)), Want: want}
}

func refused(message string) Want { return Want{Refused: message} }
