// Package uninstall removes the operator from a cluster, in the order in which nothing is lost or left behind.
package uninstall

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/nginx-operator/internal/plugin/installation"
	"example.com/nginx-operator/internal/plugin/manifests"
)

// Choice is what the user has decided. Each field is a flag.
type Choice struct {
	KeepApplications, DeleteApplications, DeleteBackups, DeleteDefinitions bool
}

// Present is what the cluster has.
type Present struct {
	Operators   []installation.Operator
	Definitions []apiextensionsv1.CustomResourceDefinition
	// Objects are the applications, backups and the like, by kind.
	Objects map[schema.GroupKind][]metav1.PartialObjectMetadata
}

const (
	applicationGroup = "operator.example.com"
	cacheGroup       = "cache.operator.example.com"
	backupGroup      = "backup.operator.example.com"
)

// The kinds in the order of their deletion: what creates objects of a kind comes before that kind.
var (
	applicationKinds = []schema.GroupKind{
		{Group: cacheGroup, Kind: "NginxCachePurge"}, {Group: cacheGroup, Kind: "NginxCache"}, {Group: applicationGroup, Kind: "NginxOperator"},
	}
	backupKinds = []schema.GroupKind{
		{Group: backupGroup, Kind: "NginxBackupPolicy"}, {Group: backupGroup, Kind: "NginxRestore"}, {Group: backupGroup, Kind: "NginxBackup"},
	}
)

// Plan is what is deleted, in this order.
type Plan struct {
	// Kinds are those whose objects are all deleted first, while the operator runs.
	Kinds []schema.GroupKind
	// Definitions are the CustomResourceDefinitions, which are deleted while it still runs.
	Definitions []string
	// Objects are those of the operator itself.
	Objects []*unstructured.Unstructured
	// Notes say what happens to what stays.
	Notes []string
}

// Decide returns what is deleted, or why nothing is. installed are the objects of the manifests.
func Decide(p Present, choice Choice, installed []*unstructured.Unstructured) (*Plan, error) {
	for _, check := range []func(Present, Choice) error{checkMethod, checkApplications, checkBackups, checkDefinitions, checkStored} {
		if err := check(p, choice); err != nil {
			return nil, err
		}
	}
	plan := &Plan{}
	if choice.DeleteApplications {
		plan.Kinds = append(plan.Kinds, applicationKinds...)
	}
	if choice.DeleteBackups {
		plan.Kinds = append(plan.Kinds, backupKinds...)
	}
	if choice.DeleteDefinitions {
		for _, definition := range p.Definitions {
			plan.Definitions = append(plan.Definitions, definition.Name)
		}
	}
	for _, object := range slices.Backward(installed) {
		if object.GetKind() != "CustomResourceDefinition" {
			plan.Objects = append(plan.Objects, object)
		}
	}
	plan.Notes = notes(p, choice)
	return plan, nil
}

// checkMethod refuses what another tool has installed.
func checkMethod(p Present, _ Choice) error {
	if _, others := installation.Ours(p.Operators); len(others) > 0 {
		return foreign(others[0])
	}
	if len(p.Operators) == 0 && len(p.Definitions) == 0 {
		return fmt.Errorf("the operator is not installed: kubectl nginx check shows what the cluster has")
	}
	return nil
}

// foreign says how to uninstall an operator that was installed in another way.
func foreign(o installation.Operator) error {
	where := o.Deployment.Namespace + "/" + o.Deployment.Name
	switch o.Method {
	case installation.Helm:
		return fmt.Errorf("the operator %s was installed with Helm: uninstall it with helm uninstall %s -n %s", where, o.HelmRelease, o.Deployment.Namespace)
	case installation.OLM:
		return fmt.Errorf("the operator %s was installed with the Operator Lifecycle Manager: see docs/installation.md, Uninstalling by OLM", where)
	default:
		return fmt.Errorf("the operator %s is not the one of install.yaml: see docs/installation.md, For one namespace", where)
	}
}

// checkApplications refuses to decide what happens to applications.
func checkApplications(p Present, choice Choice) error {
	found := p.count(applicationKinds)
	switch {
	case choice.KeepApplications && choice.DeleteApplications:
		return fmt.Errorf("set one of --keep-applications and --delete-applications, not both")
	case found != "" && !choice.KeepApplications && !choice.DeleteApplications:
		return fmt.Errorf("the cluster has %s: --keep-applications leaves them, and nginx continues to serve, unmanaged; --delete-applications deletes them with their pods and Services", found)
	}
	return nil
}

// checkBackups refuses to delete backups while no operator deletes their data.
func checkBackups(p Present, choice Choice) error {
	backups := p.Objects[backupKinds[2]]
	running := slices.ContainsFunc(p.Operators, func(o installation.Operator) bool { return o.Deployment.Status.AvailableReplicas > 0 })
	held := slices.ContainsFunc(backups, func(b metav1.PartialObjectMetadata) bool { return len(b.Finalizers) > 0 })
	if choice.DeleteBackups && held && !running {
		return fmt.Errorf("no operator runs that deletes the data of backups: install it first, or release the backups as docs/installation.md says, Uninstalling")
	}
	return nil
}

// checkDefinitions refuses to delete objects together with their definitions, which nothing would count.
func checkDefinitions(p Present, choice Choice) error {
	if !choice.DeleteDefinitions {
		return nil
	}
	if found := p.count(applicationKinds); found != "" && !choice.DeleteApplications {
		return fmt.Errorf("--delete-crds would delete %s: set --delete-applications as well, or leave it out", found)
	}
	if found := p.count(backupKinds); found != "" && !choice.DeleteBackups {
		return fmt.Errorf("--delete-crds would delete %s: set --delete-backups as well, or leave it out", found)
	}
	return nil
}

// checkStored refuses to remove the webhook while objects need it to be read.
func checkStored(p Present, choice Choice) error {
	if choice.DeleteApplications || p.count(applicationKinds) == "" {
		return nil
	}
	for _, definition := range p.Definitions {
		if len(definition.Status.StoredVersions) > 1 {
			return fmt.Errorf("objects of %s may be stored as %s, and could not be read without the operator: run `nginx-operator migrate-storage` first",
				definition.Name, strings.Join(definition.Status.StoredVersions, " and "))
		}
	}
	return nil
}

// count returns the number of objects of each kind; empty: there is none.
func (p Present) count(kinds []schema.GroupKind) string {
	var counts []string
	for _, kind := range kinds {
		if n := len(p.Objects[kind]); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s objects", n, kind.Kind))
		}
	}
	return strings.Join(counts, ", ")
}

func notes(p Present, choice Choice) []string {
	var all []string
	if found := p.count(applicationKinds); found != "" && choice.KeepApplications {
		all = append(all, found+" stay, and nginx continues to serve, unmanaged")
	}
	if found := p.count(backupKinds); found != "" && !choice.DeleteBackups {
		all = append(all, found+" stay. Without an operator, a backup with a finalizer cannot be deleted")
	}
	if len(p.Definitions) > 0 && !choice.DeleteDefinitions {
		all = append(all, "the CustomResourceDefinitions stay. Until an operator runs again, v1alpha2 can be read and written, and v1alpha1 cannot")
	}
	return append(all, "the namespace "+manifests.Namespace+" is deleted with everything in it, unless it has PersistentVolumeClaims")
}
