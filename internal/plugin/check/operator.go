package check

import (
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"example.com/nginx-operator/internal/plugin/installation"
	"example.com/nginx-operator/internal/plugin/manifests"
)

// operator checks the Deployments of the operator.
func operator(c *Cluster) Result {
	const name = "operator"
	if err := c.Unread[Operators]; err != nil {
		return unread(name, err)
	}
	switch {
	case !installed(c):
		return Result{name, OK, "not installed", "kubectl nginx install --image=IMAGE"}
	case len(c.Operators) == 0:
		return Result{name, Failed, "not installed, but its CustomResourceDefinitions are: applications are not managed", "kubectl nginx install --image=IMAGE"}
	}
	for i := range c.Operators {
		if r := one(&c.Operators[i], c.Release); r.State != OK {
			return r
		}
	}
	return overlapping(c.Operators)
}

// one checks an operator.
func one(o *installation.Operator, release string) Result {
	const name = "operator"
	where := o.Deployment.Namespace + "/" + o.Deployment.Name
	switch s := o.Deployment.Status; {
	case s.AvailableReplicas == 0:
		return Result{name, Failed, "no pod of " + where + " is available", "kubectl -n " + o.Deployment.Namespace + " describe pods"}
	case !o.Ready():
		return Result{name, Warning, fmt.Sprintf("%s is not rolled out: %d pods are up to date, %d of %d are available", where, s.UpdatedReplicas, s.AvailableReplicas, s.Replicas),
			"kubectl -n " + o.Deployment.Namespace + " rollout status deployment " + o.Deployment.Name}
	case installation.Newer(release, o.Version):
		return Result{name, Warning, fmt.Sprintf("%s runs release %s, and the plugin is of %s", where, o.Version, release), "upgrade the operator, or use the plugin of its release"}
	case installation.Newer(o.Version, release):
		return Result{name, Warning, fmt.Sprintf("%s runs release %s, and the plugin is of %s", where, o.Version, release), "install the plugin of release " + o.Version}
	}
	return Result{name, OK, "", ""}
}

// overlapping finds operators that manage the same namespaces.
func overlapping(operators []installation.Operator) Result {
	const name = "operator"
	managed := map[string]string{}
	all := ""
	for _, o := range operators {
		where := o.Deployment.Namespace + "/" + o.Deployment.Name
		if len(o.Namespaces) == 0 {
			if all != "" || len(operators) > 1 {
				return Result{name, Failed, where + " manages all namespaces, and there are other operators", "uninstall all but one"}
			}
			all = where
		}
		for _, namespace := range o.Namespaces {
			if managed[namespace] != "" {
				return Result{name, Failed, managed[namespace] + " and " + where + " manage the namespace " + namespace, "uninstall one of them"}
			}
			managed[namespace] = where
		}
	}
	first := operators[0]
	release := "an unknown release"
	if first.Version != "" {
		release = "release " + first.Version
	}
	return Result{name, OK, fmt.Sprintf("%s, %s, installed with %s", release, podsAvailable(first.Deployment.Status.AvailableReplicas), first.Method), ""}
}

// definitions checks the CustomResourceDefinitions against those of the release.
func definitions(c *Cluster) Result {
	const name = "API"
	if err := c.Unread[Definitions]; err != nil {
		return unread(name, err)
	}
	var missing, terminating, old, lost []string
	for _, needed := range c.Needed {
		found := c.Definitions[needed.Name]
		switch {
		case found == nil:
			missing = append(missing, needed.Name)
			continue
		case found.DeletionTimestamp != nil:
			terminating = append(terminating, needed.Name)
		}
		if len(found.Status.StoredVersions) > 1 {
			old = append(old, fmt.Sprintf("%s (%s)", needed.Name, list(found.Status.StoredVersions)))
		}
		if fields := manifests.LostFields(needed, found); len(fields) > 0 {
			lost = append(lost, needed.Name+": "+list(fields))
		}
	}
	switch {
	case len(terminating) > 0:
		return Result{name, Failed, "being deleted, with all objects: " + list(terminating), "see docs/installation.md, Uninstalling"}
	case len(missing) > 0:
		return Result{name, Failed, "missing: " + list(missing), "kubectl nginx install --image=IMAGE"}
	case len(lost) > 0:
		return Result{name, Warning, "the cluster's definitions lack what this release has: " + list(lost), "upgrade the operator together with its definitions"}
	case len(old) > 0:
		return Result{name, Warning, "objects may be stored in an old version: " + list(old), "nginx-operator migrate-storage"}
	}
	return Result{name, OK, served(c), ""}
}

// served says which versions of NginxOperators the cluster has.
func served(c *Cluster) string {
	var versions []string
	stored := ""
	for _, v := range definition(c).Spec.Versions {
		if v.Served {
			versions = append(versions, v.Name)
		}
		if v.Storage {
			stored = v.Name
		}
	}
	return fmt.Sprintf("serves %s, stores %s", list(versions), stored)
}

// definition returns that of NginxOperators; empty: the cluster has none.
func definition(c *Cluster) *apiextensionsv1.CustomResourceDefinition {
	if found := c.Definitions["nginxoperators.operator.example.com"]; found != nil {
		return found
	}
	return &apiextensionsv1.CustomResourceDefinition{}
}

// staleLease is the age from which a lease says that nobody leads. It is several times the lifetime of a lease, because the
// clocks of the cluster and of this machine differ.
const staleLease = time.Minute

// leader checks that a pod of each operator leads.
func leader(c *Cluster) Result {
	const name = "leader"
	if err := c.Unread[Leases]; err != nil {
		return unread(name, err)
	}
	var holders []string
	for _, namespace := range c.namespaces() {
		holder, problem := holderOf(c.Leases[namespace], c.Now)
		if problem != "" {
			return Result{name, Failed, namespace + ": " + problem + ": applications are not managed", "kubectl -n " + namespace + " logs -l app.kubernetes.io/name=nginx-operator"}
		}
		holders = append(holders, holder)
	}
	return Result{name, OK, list(holders), ""}
}

// holderOf returns who holds a lease, or why nobody does.
func holderOf(lease *coordinationv1.Lease, now time.Time) (holder, problem string) {
	if lease == nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" || lease.Spec.RenewTime == nil {
		return "", "no pod leads"
	}
	holder = *lease.Spec.HolderIdentity
	if age := now.Sub(lease.Spec.RenewTime.Time).Round(time.Second); age > staleLease {
		return "", fmt.Sprintf("%s has not renewed its lease for %s", holder, age)
	}
	return holder, ""
}

// podsAvailable returns a number of pods, as words.
func podsAvailable(number int32) string {
	if number == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", number)
}
