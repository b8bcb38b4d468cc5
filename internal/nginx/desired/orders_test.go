package desired

import (
	"crypto/ed25519"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/revision"
)

// publicKey is a key of the operator.
var publicKey = instanceapi.NewPublicKey(make([]byte, ed25519.PublicKeySize))

// ordered is an application whose pod serves an old configuration and takes orders.
type ordered struct {
	nginx *v1alpha2.NginxOperator
	state observe.State
	keys  []instanceapi.PublicKey
}

func newOrdered(t *testing.T, status instanceapi.Status) *ordered {
	t.Helper()
	nginx := sample(t, "least")
	first, _ := build(t, nginx, observe.State{})
	o := &ordered{nginx: nginx, keys: []instanceapi.PublicKey{publicKey}, state: observe.State{
		Owned: rendered(t, nginx, nginxconf.Files{"site.conf": "old"}),
		Pods:  []corev1.Pod{runningPod("a", first)}, Instances: map[string]*instanceapi.Status{"a": &status},
	}}
	return o
}

func (o *ordered) plan(t *testing.T) *plan {
	t.Helper()
	p, _, err := planFor(revision.Input{Nginx: o.nginx, State: o.state, Options: options, Keys: o.keys, Now: time.Unix(1000, 0)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (o *ordered) application() instanceapi.Application {
	return instanceapi.Application{Namespace: o.nginx.Namespace, Name: o.nginx.Name, UID: string(o.nginx.UID)}
}

// TestOrders: an order brings the files, even those that the pod had lately, and needs no annotation.
func TestOrders(t *testing.T) {
	for name, hadIt := range map[string]bool{"the pod lacks them": false, "the pod had them": true} {
		o := newOrdered(t, instanceapi.Status{Serving: "old", Orders: &instanceapi.Orders{Process: "p", Number: 7}})
		want := o.plan(t).Run.Config
		contents := instanceapi.Contents{want.Revision: want.Files}
		if hadIt {
			o.state.Instances["a"].Available = []string{want.Revision}
		}
		failed := time.Unix(1000, 0)
		o.state.Unreachable = map[string]observe.Failures{"a": {First: failed, Last: failed}}
		p := o.plan(t)
		wanted := []revision.Order{{
			Pod: "a", PodIP: "10.0.0.1", Requested: instanceapi.Requested{Test: want.Revision}, Contents: contents, LastFailure: failed,
			Receiver: instanceapi.Orders{Application: o.application(), PodUID: "uid-a", Process: "p", Number: 7},
		}}
		if diff := cmp.Diff(wanted, p.Orders); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if len(p.PodAnnotations) > 0 {
			t.Errorf("%s: the pod is annotated: %+v", name, p.PodAnnotations)
		}
	}
}

// TestOrderOfALiar: a pod that reports the identity of another one gets no order that this one would accept.
func TestOrderOfALiar(t *testing.T) {
	victim := instanceapi.Application{Namespace: "bank", Name: "vault", UID: "victim"}
	o := newOrdered(t, instanceapi.Status{Serving: "old", Orders: &instanceapi.Orders{Application: victim, PodUID: "victim-pod", Process: "p"}})
	orders := o.plan(t).Orders
	if len(orders) != 1 || orders[0].Receiver.Application != o.application() || orders[0].Receiver.PodUID != "uid-a" {
		t.Errorf("orders %+v", orders)
	}
}

// TestPodOfAnEarlierRelease: a pod that takes no orders gets its requests by annotations.
func TestPodOfAnEarlierRelease(t *testing.T) {
	o := newOrdered(t, instanceapi.Status{Serving: "old"})
	p := o.plan(t)
	if len(p.Orders) > 0 || len(p.PodAnnotations) != 1 || p.PodAnnotations[0].Annotations[naming.AnnotationConfigTest] != p.Run.Config.Revision {
		t.Fatalf("orders %+v, annotations %+v", p.Orders, p.PodAnnotations)
	}
	o.state.Pods[0].Annotations = p.PodAnnotations[0].Annotations
	if again := o.plan(t); len(again.PodAnnotations) > 0 {
		t.Errorf("annotated twice: %+v", again.PodAnnotations)
	}
}

func trustOf(t *testing.T, p *plan) (found *instanceapi.Trust) {
	t.Helper()
	for _, intent := range p.Intents {
		cm, ok := intent.Config.(*corev1ac.ConfigMapApplyConfiguration)
		text := ""
		if ok {
			text = string(cm.BinaryData[instanceapi.FileTrust])
		}
		if text == "" {
			continue
		}
		if found != nil || intent.Name != naming.ConfigMapNext("web") {
			t.Errorf("%s %s has a trust file", intent.Kind.Name, intent.Name)
		}
		trust, err := instanceapi.ParseTrust(text)
		if err != nil {
			t.Fatal(err)
		}
		found = &trust
	}
	return found
}

// TestTrustFile: the candidate's ConfigMap, and no other one, has the operator's public keys, and is no other
// configuration for it.
func TestTrustFile(t *testing.T) {
	o := newOrdered(t, instanceapi.Status{Serving: "old", Orders: &instanceapi.Orders{}})
	p := o.plan(t)
	want := &instanceapi.Trust{Application: o.application(), Keys: o.keys}
	if diff := cmp.Diff(want, trustOf(t, p)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	o.keys = nil
	if got := trustOf(t, o.plan(t)); got != nil {
		t.Errorf("without keys: %+v", got)
	}
	o.write(p)
	if diff := cmp.Diff(want, trustOf(t, o.plan(t))); diff != "" {
		t.Errorf("an operator that does not know its keys yet changes the file (-want +got):\n%s", diff)
	}
	if next := o.state.Config(naming.ConfigMapNext("web")); !observe.Rendered(next) {
		t.Error("the trust file is taken for a change of the configuration")
	} else if next.BinaryData["other"] = []byte("x"); observe.Rendered(next) {
		t.Error("another file is not taken for a change")
	}
}

// write puts the planned candidate into the state.
func (o *ordered) write(p *plan) {
	for _, intent := range p.Intents {
		if cm, ok := intent.Config.(*corev1ac.ConfigMapApplyConfiguration); ok && intent.Name == naming.ConfigMapNext("web") {
			o.state.Owned[owned.Key{Kind: "ConfigMap", Name: intent.Name}].(*corev1.ConfigMap).BinaryData = cm.BinaryData
			o.state.Owned[owned.Key{Kind: "ConfigMap", Name: intent.Name}].(*corev1.ConfigMap).Data = cm.Data
			o.state.Owned[owned.Key{Kind: "ConfigMap", Name: intent.Name}].(*corev1.ConfigMap).Annotations = cm.Annotations
		}
	}
}

// TestUnreachablePod: a pod that answers nothing, or takes no orders, is waited for, and then left to the kubelet.
func TestUnreachablePod(t *testing.T) {
	now := time.Unix(1000, 0)
	for name, status := range map[string]*instanceapi.Status{
		"does not answer": nil,
		"takes no orders": {Serving: "old", Orders: &instanceapi.Orders{}},
	} {
		o := newOrdered(t, instanceapi.Status{})
		o.state.Instances = map[string]*instanceapi.Status{"a": status}
		o.state.Unreachable = map[string]observe.Failures{"a": {First: now.Add(-time.Hour), Last: now.Add(-time.Hour)}}
		if follow := trustOf(t, o.plan(t)).Follow; follow != nil {
			t.Errorf("%s: after one failure it follows %+v", name, follow)
		}
		o.state.Unreachable["a"] = observe.Failures{First: now.Add(-time.Minute), Last: now}
		p := o.plan(t)
		want := &instanceapi.Follow{Revision: p.Run.Config.Revision, Number: now.UnixMilli(), Pods: []string{"uid-a"}}
		if diff := cmp.Diff(want, trustOf(t, p).Follow); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if p.Rollout.Stable {
			t.Errorf("%s: nobody has served it, and pods start with it", name)
		}
	}
}
