// Package journey defines the language that describes what a user does. A journey is a YAML file:
//
//	about: The configuration changes.
//	real: true
//	given:
//	- create: {apiVersion: …, kind: NginxOperator, metadata: {name: web}, spec: {…}}
//	- await: NginxOperator/web is Ready
//	when:
//	- patch: NginxOperator/web
//	  with: {spec: {config: {files: {site.conf: 'server { listen 80; return 200 second; }'}}}}
//	then:
//	- NginxOperator/web is Ready
//	keeps: 2
//	answers: second
//
// Faults occur only during the steps under `when`. In the texts of objects, ${Kind/name path.of.a.field}
// stands for the current value of that field, and ${name} for a text that the caller provides under that
// name.
package journey

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

//go:embed journeys/*.yaml
var embedded embed.FS

// Journey is what a user does.
type Journey struct {
	// Name is the name of its file, without the extension.
	Name string `json:"-"`
	// About describes the journey in one sentence.
	About string `json:"about"`
	// Arguments are additional arguments for the operator, for example to enable more controllers.
	Arguments []string `json:"arguments,omitempty"`
	// Unknown is the path of an applied field that the API server does not know yet, as its error
	// message writes it.
	Unknown string `json:"unknown,omitempty"`
	// Given are the steps before the faults; When are the steps under faults.
	Given []Step `json:"given,omitempty"`
	When  []Step `json:"when"`
	// Then are the expectations for the end.
	Then []Expectation `json:"then"`
	// Real reports whether the journey can run with real nginx: nginx must accept its
	// configurations, and reject those that the journey expects to fail.
	Real bool `json:"real,omitempty"`
	// Keeps is the number of pods that must be ready at any time.
	Keeps int `json:"keeps,omitempty"`
	// Serves is a text that every ready pod must serve as soon as Then holds.
	Serves string `json:"serves,omitempty"`
	// Undeclared reports whether the change is not part of a declaration. Then the previous status
	// stays until the operator has observed the change, so the pods have some time until they must
	// serve Serves.
	Undeclared bool `json:"undeclared,omitempty"`
	// Answers is a text that real nginx must answer in every pod at the end, if it differs from
	// Serves.
	Answers string `json:"answers,omitempty"`
	// Renews reports whether every owned object at the beginning must be gone or recreated at the
	// end.
	Renews bool `json:"renews,omitempty"`
	// Empty reports whether the namespace must be empty at the end.
	Empty bool `json:"empty,omitempty"`
}

// Step is one action or wait. Exactly one of Create, Patch, Delete, Await, Lose, Operator,
// Unreachable and Serve is set.
type Step struct {
	// Create creates an object in the journey's namespace.
	Create map[string]any `json:"create,omitempty"`
	// Patch merges With into an object, or into its Subresource.
	Patch       *Object        `json:"patch,omitempty"`
	Subresource string         `json:"subresource,omitempty"`
	With        map[string]any `json:"with,omitempty"`
	// Delete deletes an object. Propagation decides what happens to the objects that it owns:
	// Background (the default), Foreground or Orphan.
	Delete      *Object                    `json:"delete,omitempty"`
	Propagation metav1.DeletionPropagation `json:"propagation,omitempty"`
	// Wait waits until the deleted object is gone (the default), like kubectl's --wait.
	Wait *bool `json:"wait,omitempty"`
	// Await waits until the expectation holds.
	Await *Expectation `json:"await,omitempty"`
	// Lose makes a node unreachable. The images of pods decide which node they are bound to, see
	// test/standin/kubelet.
	Lose string `json:"lose,omitempty"`
	// Operator replaces the operator by that of a release: this, next or impatient.
	Operator Release `json:"operator,omitempty"`
	// Unreachable decides which pods the operator cannot reach from now on.
	Unreachable Reach `json:"unreachable,omitempty"`
	// Serve waits until every ready pod serves a text.
	Serve string `json:"serve,omitempty"`
}

// Reach is a set of pods that the operator cannot reach: none, one (the first one that it sends a request to), all, or
// others (the others than the first one that is ordered to load a configuration, from that order on). With orders-to-others,
// the others answer queries, but get no orders.
type Reach string

// The sets of pods.
const (
	NoPod          Reach = "none"
	OnePod         Reach = "one"
	OtherPods      Reach = "others"
	OrdersToOthers Reach = "orders-to-others"
	EveryPod       Reach = "all"
)

// Outage reports whether the operator cannot reach pods for a time.
func (j *Journey) Outage() bool {
	return slices.ContainsFunc(j.When, func(s Step) bool { return s.Unreachable != "" })
}

// Release is a release of the operator.
type Release string

// This is the release under test, Next is a later one. Impatient is This with seconds in place of waits of minutes.
const (
	This      Release = "this"
	Next      Release = "next"
	Impatient Release = "impatient"
)

// Upgrades reports whether the journey replaces the operator by one of another release, or back.
func (j *Journey) Upgrades() bool {
	return slices.ContainsFunc(slices.Concat(j.Given, j.When), func(s Step) bool { return s.Operator != "" && s.Operator != Impatient })
}

// Object is an object's kind and name, such as NginxOperator/web. If a kind has more than one API
// version, the version can follow it: NginxOperator.v1alpha1/web.
type Object struct{ Kind, Version, Name string }

var objectPattern = regexp.MustCompile(`^([A-Z][A-Za-z]+)(?:\.(v[a-z0-9]+))?/([-a-z0-9.]+)$`)

// UnmarshalText parses the format of String.
func (o *Object) UnmarshalText(text []byte) error {
	found := objectPattern.FindSubmatch(text)
	if found == nil {
		return fmt.Errorf("%q is not an object: write Kind/name", text)
	}
	o.Kind, o.Version, o.Name = string(found[1]), string(found[2]), string(found[3])
	return nil
}

// String returns the object as a journey writes it.
func (o *Object) String() string {
	if o.Version != "" {
		return o.Kind + "." + o.Version + "/" + o.Name
	}
	return o.Kind + "/" + o.Name
}

// Expectation is a statement about an object: "NginxOperator/web is Ready", "… is UpToDate=False
// (RolledBack)", "… is gone", "… is there", "… has a text", "… lacks a text".
type Expectation struct {
	Object Object
	// Condition must have Status, and Reason if it is not empty. Without a condition, the object
	// must exist or, with Gone, be gone.
	Condition, Status, Reason string
	Gone                      bool
	// Text must occur in the object's JSON or, with Missing, must not occur there.
	Text    string
	Missing bool
}

var expectationPattern = regexp.MustCompile(`^(\S+) is (gone|there|([A-Z][A-Za-z]*)(?:=(True|False|Unknown))?(?: \(([A-Za-z]+)\))?)$|^(\S+) (has|lacks) (.+)$`)

// UnmarshalText parses an expectation.
func (e *Expectation) UnmarshalText(text []byte) error {
	found := expectationPattern.FindStringSubmatch(string(text))
	if found == nil {
		return fmt.Errorf("%q is not an expectation: write Kind/name is Condition, … is Condition=False (Reason), … is gone, … is there, … has a text, or … lacks a text", text)
	}
	e.Gone, e.Condition, e.Status, e.Reason = found[2] == "gone", found[3], found[4], found[5]
	if e.Status == "" {
		e.Status = "True"
	}
	e.Text, e.Missing = found[8], found[7] == "lacks"
	return e.Object.UnmarshalText([]byte(found[1] + found[6]))
}

// Check returns an error if the object does not meet the expectation. The object is nil if it does
// not exist.
func (e *Expectation) Check(object *unstructured.Unstructured) error {
	switch {
	case e.Gone && object != nil:
		return fmt.Errorf("%s still exists", &e.Object)
	case e.Gone:
		return nil
	case object == nil:
		return fmt.Errorf("%s does not exist", &e.Object)
	case e.Text != "":
		return e.checkText(object)
	case e.Condition != "":
		return e.evaluate(object)
	}
	return nil
}

// evaluate checks the condition, which must be of the current generation.
func (e *Expectation) evaluate(object *unstructured.Unstructured) error {
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, c := range conditions {
		condition, ok := c.(map[string]any)
		if !ok || condition["type"] != e.Condition {
			continue
		}
		if condition["status"] != e.Status || e.Reason != "" && condition["reason"] != e.Reason || condition["observedGeneration"] != object.GetGeneration() {
			return fmt.Errorf("%s: %s is %v (%v) of generation %v of %d: %v", &e.Object, e.Condition,
				condition["status"], condition["reason"], condition["observedGeneration"], object.GetGeneration(), condition["message"])
		}
		return nil
	}
	return fmt.Errorf("%s has no condition %s", &e.Object, e.Condition)
}

// checkText checks the text.
func (e *Expectation) checkText(object *unstructured.Unstructured) error {
	text, err := object.MarshalJSON()
	if err == nil && strings.Contains(string(text), e.Text) == e.Missing {
		err = fmt.Errorf("%s does not contain %q", &e.Object, e.Text)
		if e.Missing {
			err = fmt.Errorf("%s contains %q", &e.Object, e.Text)
		}
	}
	return err
}

// All returns the embedded journeys, sorted by name.
func All() ([]*Journey, error) {
	folder, err := fs.Sub(embedded, "journeys")
	if err != nil {
		return nil, err
	}
	return Read(folder)
}

// Read reads the journeys in a folder.
func Read(folder fs.FS) ([]*Journey, error) {
	names, err := fs.Glob(folder, "*.yaml")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var all []*Journey
	for _, name := range names {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, err
		}
		j, err := parse(strings.TrimSuffix(path.Base(name), ".yaml"), text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, j)
	}
	if len(all) == 0 {
		return nil, errors.New("the folder contains no journeys (*.yaml)")
	}
	return all, nil
}

func parse(name string, text []byte) (*Journey, error) {
	j := &Journey{Name: name}
	if err := yaml.UnmarshalStrict(text, j); err != nil {
		return nil, err
	}
	if len(j.When) == 0 || len(j.Then) == 0 || j.About == "" {
		return nil, errors.New("about, when and then are required")
	}
	for i, s := range slices.Concat(j.Given, j.When) {
		if err := s.check(); err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return j, nil
}

func (s *Step) check() error {
	n := 0
	for _, set := range []bool{s.Create != nil, s.Patch != nil, s.Delete != nil, s.Await != nil, s.Lose != "", s.Operator != "", s.Unreachable != "", s.Serve != ""} {
		if set {
			n++
		}
	}
	switch {
	case n != 1:
		return errors.New("one of create, patch, delete, await, lose, operator, unreachable and serve is required")
	case (s.Patch != nil) != (s.With != nil):
		return errors.New("patch and with need each other")
	case s.Subresource != "" && s.Patch == nil:
		return errors.New("subresource is allowed only with patch")
	case s.Propagation != "" && s.Delete == nil:
		return errors.New("propagation is allowed only with delete")
	case s.Wait != nil && s.Delete == nil:
		return errors.New("wait is allowed only with delete")
	}
	return s.checkEnums()
}

// checkEnums validates the fields that are enums.
func (s *Step) checkEnums() error {
	propagations := []metav1.DeletionPropagation{"", metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan}
	if !slices.Contains(propagations, s.Propagation) {
		return fmt.Errorf("propagation must be one of %v", propagations[1:])
	}
	if releases := []Release{"", This, Next, Impatient}; !slices.Contains(releases, s.Operator) {
		return fmt.Errorf("operator must be one of %v", releases[1:])
	}
	if sets := []Reach{"", NoPod, OnePod, OtherPods, OrdersToOthers, EveryPod}; !slices.Contains(sets, s.Unreachable) {
		return fmt.Errorf("unreachable must be one of %v", sets[1:])
	}
	return nil
}
