package check

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// The versions of Kubernetes that docs/installation.md names: the first one that the operator needs, and the newest one
// that the tests use.
const (
	oldest = "1.30"
	newest = "1.37"
)

// kubernetes checks the version of the API server.
func kubernetes(c *Cluster) Result {
	const name = "Kubernetes"
	found, err := version.ParseGeneric(c.Kubernetes)
	if err != nil {
		return Result{name, Warning, fmt.Sprintf("the version %q is not known", c.Kubernetes), "compare it with docs/installation.md, Versions of Kubernetes"}
	}
	text := fmt.Sprintf("%d.%d", found.Major(), found.Minor())
	switch {
	case found.LessThan(version.MustParseGeneric(oldest)):
		return Result{name, Failed, text + " is older than " + oldest + ", which the operator needs", "upgrade the cluster"}
	case version.MustParseGeneric(newest).LessThan(version.MustParseGeneric(text)):
		return Result{name, Warning, text + " is newer than " + newest + ", the newest version in the operator's tests", "try the operator in a test cluster first"}
	}
	return Result{name, OK, text, ""}
}

// rights checks whether the user may install.
func rights(c *Cluster) Result {
	const name = "rights to install"
	if err := c.Unread[Rights]; err != nil {
		return unread(name, err)
	}
	if len(c.Missing) == 0 {
		return Result{name, OK, "you may install and upgrade the operator", ""}
	}
	return Result{name, Warning, "you may not " + list(c.Missing), "let a user install who may, such as one with the role cluster-admin"}
}

// list joins the first texts, and counts the others.
func list(texts []string) string {
	const limit = 3
	if len(texts) <= limit {
		return strings.Join(texts, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(texts[:limit], ", "), len(texts)-limit)
}
