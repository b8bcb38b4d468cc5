// Package check evaluates whether a cluster can have the operator, and whether the operator in it works. It reads
// everything first; the evaluation is pure.
package check

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin/installation"
	"example.com/nginx-operator/internal/plugin/manifests"
)

// State is the outcome of a check.
type State string

// The states, the best first.
const (
	OK      State = "ok"
	Warning State = "warning"
	Failed  State = "failed"
)

// Result is what a check found.
type Result struct {
	Name    string `json:"name"`
	State   State  `json:"state"`
	Message string `json:"message"`
	// Next says what to do; empty: nothing.
	Next string `json:"next,omitempty"`
}

// Cluster is what the checks evaluate. A value that could not be read has an error.
type Cluster struct {
	Now time.Time
	// Release is the version of the plugin.
	Release string
	// Kubernetes is the version of the API server.
	Kubernetes string
	// Missing are the rights that an installation needs and the user does not have, such as "create clusterroles".
	Missing []string
	// Needed are the definitions of this release, and Definitions those of the cluster, by name.
	Needed      []*apiextensionsv1.CustomResourceDefinition
	Definitions map[string]*apiextensionsv1.CustomResourceDefinition
	Operators   []installation.Operator
	// Leases are those of the leaders, by their namespace.
	Leases map[string]*coordinationv1.Lease
	// Conversion is the error of a dry run that the conversion webhook answers.
	Conversion error
	// Applications are at most as many as Limit.
	Applications []v1alpha2.NginxOperator
	// Unread are errors, by what could not be read.
	Unread map[string]error
}

// What may be unread.
const (
	Rights       = "rights"
	Operators    = "operators"
	Definitions  = "definitions"
	Leases       = "leases"
	Applications = "applications"
)

// Evaluate returns the results of all checks. A cluster without an operator is evaluated as one to install it in.
func Evaluate(c *Cluster) []Result {
	results := []Result{kubernetes(c), rights(c), operator(c)}
	if !installed(c) {
		return results
	}
	results = append(results, definitions(c))
	if len(c.namespaces()) > 0 {
		results = append(results, leader(c))
	}
	if converts(c) {
		results = append(results, authority(c), conversion(c))
	}
	return append(results, reachable(c))
}

// namespaces returns those of the operators; if they could not be read, that of the manifests.
func (c *Cluster) namespaces() []string {
	if c.Unread[Operators] != nil {
		return []string{manifests.Namespace}
	}
	var all []string
	for i := range c.Operators {
		all = append(all, c.Operators[i].Deployment.Namespace)
	}
	return all
}

// installed reports whether anything of the operator is in the cluster, or may be.
func installed(c *Cluster) bool {
	return len(c.Operators) > 0 || len(c.Definitions) > 0 || c.Unread[Operators] != nil || c.Unread[Definitions] != nil
}

// Worst returns the worst state of results.
func Worst(results []Result) State {
	worst := OK
	for _, r := range results {
		if r.State == Failed || r.State == Warning && worst == OK {
			worst = r.State
		}
	}
	return worst
}

// unread is the result of a check whose objects could not be read.
func unread(name string, err error) Result {
	return Result{name, Warning, "not checked: " + err.Error(), "let a user check who may read it"}
}
