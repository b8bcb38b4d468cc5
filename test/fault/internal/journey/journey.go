// Package journey is the language in which it is told what a user does. A journey is a YAML file:
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
// Only what the user does under `when` is disturbed. In the texts of objects, ${Kind/name path.of.a.field}
// stands for what that field says at the moment, and ${name} for a text that whoever plays the journey
// has under that name.
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
	// Name of its file.
	Name string `json:"-"`
	// About tells what it is, in a sentence.
	About string `json:"about"`
	// Arguments are those that the operator has beside its others, such as for more controllers.
	Arguments []string `json:"arguments,omitempty"`
	// Unknown is the path of a field of an apply that the API server is too old to know, as it names it.
	Unknown string `json:"unknown,omitempty"`
	// Given is done before, and When in the time that is looked at.
	Given []Step `json:"given,omitempty"`
	When  []Step `json:"when"`
	// Then is what is so in the end.
	Then []Expectation `json:"then"`
	// Real tells that it can be played with real nginx: its configurations are what nginx takes, and
	// those that are to be refused are not.
	Real bool `json:"real,omitempty"`
	// Keeps is how many pods are ready all the while.
	Keeps int `json:"keeps,omitempty"`
	// Serves is in what every ready pod serves, from the moment on at which everything is as in Then.
	Serves string `json:"serves,omitempty"`
	// Undeclared: nobody declares what happens, so what was told before stands until the operator has
	// seen it. Only then every ready pod serves what it should.
	Undeclared bool `json:"undeclared,omitempty"`
	// Answers are words that real nginx answers with in every pod in the end, where they are others than
	// Serves.
	Answers string `json:"answers,omitempty"`
	// Renews: of what has an owner in the beginning, nothing is there in the end but others of its name.
	Renews bool `json:"renews,omitempty"`
	// Empty: nothing is left in the end.
	Empty bool `json:"empty,omitempty"`
}

// Step is one thing that happens: one of the fields Create, Patch, Delete, Await, Lose and Operator is set.
type Step struct {
	// Create makes an object, in the namespace of the journey.
	Create map[string]any `json:"create,omitempty"`
	// Patch merges With into an object, or into its Subresource.
	Patch       *Object        `json:"patch,omitempty"`
	Subresource string         `json:"subresource,omitempty"`
	With        map[string]any `json:"with,omitempty"`
	// Delete deletes an object. What becomes of what it owns is Propagation: Background (the default),
	// Foreground or Orphan.
	Delete      *Object                    `json:"delete,omitempty"`
	Propagation metav1.DeletionPropagation `json:"propagation,omitempty"`
	// Wait: until what is deleted is gone (the default), as kubectl's --wait.
	Wait *bool `json:"wait,omitempty"`
	// Await waits for something.
	Await *Expectation `json:"await,omitempty"`
	// Lose makes a node one that nothing is heard of any more. Nodes are those that the pods of some images are
	// bound to, see test/standin/kubelet.
	Lose string `json:"lose,omitempty"`
	// Operator replaces the operator by one of this Release: next, or this.
	Operator Release `json:"operator,omitempty"`
}

// Release is one of the operator's.
type Release string

// The releases: the one under test, and another one that comes after it.
const (
	This Release = "this"
	Next Release = "next"
)

// Upgrades tells whether the journey needs another release of the operator.
func (j *Journey) Upgrades() bool {
	return slices.ContainsFunc(slices.Concat(j.Given, j.When), func(s Step) bool { return s.Operator != "" })
}

// Object is one by its kind and name, such as NginxOperator/web. A kind that more than one API
// version has, can be followed by it: NginxOperator.v1alpha1/web.
type Object struct{ Kind, Version, Name string }

var objectPattern = regexp.MustCompile(`^([A-Z][A-Za-z]+)(?:\.(v[a-z0-9]+))?/([-a-z0-9.]+)$`)

// UnmarshalText reads what String writes.
func (o *Object) UnmarshalText(text []byte) error {
	found := objectPattern.FindSubmatch(text)
	if found == nil {
		return fmt.Errorf("%q is no object: write Kind/name", text)
	}
	o.Kind, o.Version, o.Name = string(found[1]), string(found[2]), string(found[3])
	return nil
}

// String is the object as it is written in a journey.
func (o *Object) String() string {
	if o.Version != "" {
		return o.Kind + "." + o.Version + "/" + o.Name
	}
	return o.Kind + "/" + o.Name
}

// Expectation is something that can be seen of an object: "NginxOperator/web is Ready",
// "… is UpToDate=False (RolledBack)", "… is gone", "… is there", "… has some words", "… lacks some
// words".
type Expectation struct {
	Object Object
	// Condition has Status, and Reason if that is not empty. Without a condition, the object is there,
	// or Gone.
	Condition, Status, Reason string
	Gone                      bool
	// Words are somewhere in the object, or with Lacks nowhere.
	Words string
	Lacks bool
}

var expectationPattern = regexp.MustCompile(`^(\S+) is (gone|there|([A-Z][A-Za-z]*)(?:=(True|False|Unknown))?(?: \(([A-Za-z]+)\))?)$|^(\S+) (has|lacks) (.+)$`)

// UnmarshalText reads an expectation.
func (e *Expectation) UnmarshalText(text []byte) error {
	found := expectationPattern.FindStringSubmatch(string(text))
	if found == nil {
		return fmt.Errorf("%q is no expectation: write Kind/name is Condition, … is Condition=False (Reason), … is gone, … is there, … has some words, or … lacks some words", text)
	}
	e.Gone, e.Condition, e.Status, e.Reason = found[2] == "gone", found[3], found[4], found[5]
	if e.Status == "" {
		e.Status = "True"
	}
	e.Words, e.Lacks = found[8], found[7] == "lacks"
	return e.Object.UnmarshalText([]byte(found[1] + found[6]))
}

// Check tells why an object is not as expected. It is nil where there is none.
func (e *Expectation) Check(object *unstructured.Unstructured) error {
	switch {
	case e.Gone && object != nil:
		return fmt.Errorf("%s is still there", &e.Object)
	case e.Gone:
		return nil
	case object == nil:
		return fmt.Errorf("there is no %s", &e.Object)
	case e.Words != "":
		return e.find(object)
	case e.Condition != "":
		return e.judge(object)
	}
	return nil
}

// judge looks at the condition.
func (e *Expectation) judge(object *unstructured.Unstructured) error {
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

// find looks for the words.
func (e *Expectation) find(object *unstructured.Unstructured) error {
	text, err := object.MarshalJSON()
	if err == nil && strings.Contains(string(text), e.Words) == e.Lacks {
		err = fmt.Errorf("%s has no %q", &e.Object, e.Words)
		if e.Lacks {
			err = fmt.Errorf("%s has %q", &e.Object, e.Words)
		}
	}
	return err
}

// All reads the journeys that come with the program, in the order of their names.
func All() ([]*Journey, error) {
	folder, err := fs.Sub(embedded, "journeys")
	if err != nil {
		return nil, err
	}
	return Read(folder)
}

// Read reads the journeys of a folder.
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
		return nil, errors.New("the folder has no journeys: *.yaml")
	}
	return all, nil
}

func parse(name string, text []byte) (*Journey, error) {
	j := &Journey{Name: name}
	if err := yaml.UnmarshalStrict(text, j); err != nil {
		return nil, err
	}
	if len(j.When) == 0 || len(j.Then) == 0 || j.About == "" {
		return nil, errors.New("about, when and then are needed")
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
	for _, set := range []bool{s.Create != nil, s.Patch != nil, s.Delete != nil, s.Await != nil, s.Lose != "", s.Operator != ""} {
		if set {
			n++
		}
	}
	switch {
	case n != 1:
		return errors.New("one of create, patch, delete, await, lose and operator is needed")
	case (s.Patch != nil) != (s.With != nil):
		return errors.New("patch and with belong together")
	case s.Subresource != "" && s.Patch == nil:
		return errors.New("subresource belongs to patch")
	case s.Propagation != "" && s.Delete == nil:
		return errors.New("propagation belongs to delete")
	case s.Wait != nil && s.Delete == nil:
		return errors.New("wait belongs to delete")
	}
	return s.checkWords()
}

// checkWords looks at the fields that say one of a few words.
func (s *Step) checkWords() error {
	propagations := []metav1.DeletionPropagation{"", metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan}
	if !slices.Contains(propagations, s.Propagation) {
		return fmt.Errorf("propagation is one of %v", propagations[1:])
	}
	if releases := []Release{"", This, Next}; !slices.Contains(releases, s.Operator) {
		return fmt.Errorf("operator is one of %v", releases[1:])
	}
	return nil
}
