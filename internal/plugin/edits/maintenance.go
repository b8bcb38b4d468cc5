package edits

import (
	"encoding/json"
	"fmt"

	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
)

// annotationMaintenance holds what an application declares when its maintenance is over.
const annotationMaintenance = "operator.example.com/before-maintenance"

// maintenanceFile is the only file of the configuration meanwhile.
const maintenanceFile = "maintenance.conf"

// maxBefore bounds the annotation, in bytes: all annotations of an object together may have 256 KiB.
const maxBefore = 200 << 10

// beforeMaintenance are the fields that a maintenance replaces.
type beforeMaintenance struct {
	Config       *v1alpha2.Config       `json:"config,omitempty"`
	Checks       []v1alpha2.Check       `json:"checks,omitempty"`
	Readiness    *v1alpha2.Readiness    `json:"readiness,omitempty"`
	FirstAnswers *v1alpha2.FirstAnswers `json:"firstAnswers,omitempty"`
	Canary       *v1alpha2.Canary       `json:"canary,omitempty"`
	Gates        []string               `json:"gates,omitempty"`
}

func maintenance(n Target, args []string) (string, error) {
	if err := n.heldUp(); err != nil {
		return "", err
	}
	switch args[0] {
	case "on":
		return beginMaintenance(n)
	case "off":
		return endMaintenance(n)
	}
	return "", fmt.Errorf("the last argument is %q: set it to on or off", args[0])
}

// beginMaintenance makes all ports answer 503, as a change of the configuration: no pod is replaced.
func beginMaintenance(n Target) (string, error) {
	if n.Annotations[annotationMaintenance] != "" {
		return "", fmt.Errorf("%s is in maintenance already", n.Name)
	}
	before := beforeMaintenance{Config: n.Spec.Config, Checks: n.Spec.Checks, Readiness: n.Spec.Readiness}
	if r := n.Spec.Rollout; r != nil {
		before.FirstAnswers, before.Canary, before.Gates = r.FirstAnswers, r.Canary, r.Gates
	}
	encoded, err := json.Marshal(before)
	if err != nil {
		return "", err
	}
	if len(encoded) > maxBefore {
		return "", fmt.Errorf("the configuration of %s is too large to be kept in an annotation meanwhile: move it to a ConfigMap (spec.config.configMap)", n.Name)
	}
	page, err := maintenanceConfig(&n.Spec)
	if err != nil {
		return "", fmt.Errorf("%s cannot be put into maintenance: %w", n.Name, err)
	}
	n.annotate(annotationMaintenance, string(encoded))
	// The variables stay: the pods mount their values, and would be replaced.
	during := &v1alpha2.Config{}
	if n.Spec.Config != nil {
		during = n.Spec.Config.DeepCopy()
	}
	during.Files, during.ConfigMap = map[string]v1alpha2.ConfigFile{maintenanceFile: v1alpha2.ConfigFile(page)}, nil
	n.Spec.Config = during
	// All answers are 503 on purpose, and at once.
	n.Spec.Checks, n.Spec.Readiness = nil, nil
	if n.Spec.Rollout == nil {
		n.Spec.Rollout = &v1alpha2.Rollout{}
	}
	n.Spec.Rollout.FirstAnswers, n.Spec.Rollout.Canary, n.Spec.Rollout.Gates = ptr.To(v1alpha2.FirstAnswersIgnore), nil, nil
	return "maintenance begins: every request gets 503 as soon as the pods have loaded the configuration", nil
}

func endMaintenance(n Target) (string, error) {
	text := n.Annotations[annotationMaintenance]
	if text == "" {
		return "", fmt.Errorf("%s is not in maintenance", n.Name)
	}
	if n.Spec.Config == nil || len(n.Spec.Config.Files) != 1 || n.Spec.Config.Files[maintenanceFile] == "" {
		return "", fmt.Errorf("spec.config of %s was changed during the maintenance, and would be lost: delete %s from spec.config.files, restore what you need of the annotation %s, and remove that", n.Name, maintenanceFile, annotationMaintenance)
	}
	var before beforeMaintenance
	if err := json.Unmarshal([]byte(text), &before); err != nil {
		return "", fmt.Errorf("the annotation %s cannot be read, so restore spec.config yourself: %w", annotationMaintenance, err)
	}
	delete(n.Annotations, annotationMaintenance)
	n.Spec.Config, n.Spec.Checks, n.Spec.Readiness = before.Config, before.Checks, before.Readiness
	if n.Spec.Rollout != nil {
		n.Spec.Rollout.FirstAnswers, n.Spec.Rollout.Canary, n.Spec.Rollout.Gates = before.FirstAnswers, before.Canary, before.Gates
		n.dropEmptyRollout()
	}
	return "maintenance ends: the pods load what was declared before", nil
}
