package revision

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/podtemplate"
	"example.com/nginx-operator/test/golden"
)

// TestMessages: the messages about specs that are blocked match the golden file.
func TestMessages(t *testing.T) {
	var messages golden.Messages
	named := &v1alpha2.Config{ConfigMap: &v1alpha2.ConfigMapReference{Name: "site"}}
	good := history.History{{Name: "web-1", Number: 1, State: history.StateGood}, {Name: "web-2", Number: 2, State: history.StateGood}}
	pinned := &v1alpha2.Rollout{ToRevision: new(int64(7))}
	for _, in := range []Input{
		input(v1alpha2.NginxOperatorSpec{Config: named}, observe.State{Source: &observe.Source{Name: "site"}}),
		input(v1alpha2.NginxOperatorSpec{Config: named}, observe.State{Source: &observe.Source{Name: "site", Found: true, RenderedFor: "shop"}}),
		input(v1alpha2.NginxOperatorSpec{Config: named}, observe.State{Source: &observe.Source{Name: "site", Found: true, HasBinary: true}}),
		input(v1alpha2.NginxOperatorSpec{Config: named}, observe.State{Source: &observe.Source{Name: "site", Found: true}}),
		input(v1alpha2.NginxOperatorSpec{}, observe.State{MissingContent: []string{"pages", "films"}}),
	} {
		_, blocked := in.requestedConfig()
		if blocked.Reason == "" {
			t.Errorf("%+v is not blocked", in.State.Source)
		}
		messages.Add("condition Accepted=False ("+blocked.Reason+")", blocked.Message)
	}
	invalid := input(v1alpha2.NginxOperatorSpec{}, observe.State{})
	invalid.Invalid = podtemplate.InvalidVolumes(&v1alpha2.PodTemplate{VolumeMounts: []v1alpha2.VolumeMount{{Name: "certificate-site", MountPath: "/srv/keys"}}})
	_, blocked, err := Select(invalid)
	if err != nil {
		t.Fatal(err)
	}
	messages.Add("condition Accepted=False ("+blocked.Reason+")", blocked.Message)
	for _, h := range []history.History{nil, good} {
		in := input(v1alpha2.NginxOperatorSpec{Rollout: pinned}, observe.State{History: h})
		blocked := in.revisionNotFound(*pinned.ToRevision)
		messages.Add("condition Accepted=False ("+blocked.Reason+")", blocked.Message)
	}
	messages.Compare(t, "blocked.txt")
}

func input(spec v1alpha2.NginxOperatorSpec, state observe.State) Input {
	return Input{Nginx: &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: spec}, State: state}
}
