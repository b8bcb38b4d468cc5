package api

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/test/internal/part"
)

func inline(text string) *v1alpha2.Config {
	return &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"site.conf": v1alpha2.ConfigFile(text)}}
}

func revisionOf(text string) string { return nginxconf.Revision(nginxconf.Files{"site.conf": text}) }

// fleet is an application whose pods are stand-ins.
type fleet struct {
	t     *testing.T
	nginx *v1alpha2.NginxOperator
	pods  []*standIn
}

func newFleet(t *testing.T, pods int) *fleet {
	t.Helper()
	f := &fleet{t: t, nginx: create(t, newNamespace(t), "web", v1alpha2.NginxOperatorSpec{
		Replicas: new(int32(pods)), Config: inline("first"),
	})}
	for i := range pods {
		f.pods = append(f.pods, newStandIn(t, f.nginx, fmt.Sprintf("web-%d", i)))
	}
	f.waitServing("first")
	return f
}

// configure changes the configuration without waiting for anything.
func (f *fleet) configure(text string) {
	f.t.Helper()
	eventually(f.t, "configure "+text, func() error {
		if err := get(f.t, f.nginx); err != nil {
			return err
		}
		f.nginx.Spec.Config = inline(text)
		return kube.Update(f.t.Context(), f.nginx)
	})
}

// waitServing waits until every pod serves a configuration and new pods start with it.
func (f *fleet) waitServing(text string) {
	f.t.Helper()
	eventually(f.t, text+" is served by all", func() error {
		stable := &corev1.ConfigMap{}
		if err := kube.Get(f.t.Context(), client.ObjectKey{Namespace: f.nginx.Namespace, Name: naming.ConfigMap("web")}, stable); err != nil {
			return err
		}
		if err := same(stable.Data["site.conf"], text); err != nil {
			must(f.t, get(f.t, f.nginx))
			return fmt.Errorf("the stable configuration: %w; status %+v", err, f.nginx.Status)
		}
		for _, pod := range f.pods {
			if err := same(pod.serves(), revisionOf(text)); err != nil {
				return fmt.Errorf("pod %s: %w", pod.key.Name, err)
			}
		}
		return nil
	})
	waitCondition(f.t, f.nginx, v1alpha2.ConditionConfigValid, metav1.ConditionTrue, v1alpha2.ReasonConfigAccepted)
}

func TestConfigurationRollout(t *testing.T) {
	f := newFleet(t, 3)
	f.configure("second")
	f.waitServing("second")
	eventually(t, "the status reports the configuration", func() error {
		must(t, get(t, f.nginx))
		want := v1alpha2.ConfigStatus{Revision: revisionOf("second"), StableRevision: revisionOf("second"), TestedReplicas: 3, LoadedReplicas: 3}
		return same(*f.nginx.Status.Config, want)
	})
	f.configure("third")
	f.configure("fourth")
	f.waitServing("fourth")
	settled(t)
}

// TestBadConfigurationIsNotLoaded: neither a configuration that nginx refuses nor one that it
// cannot load affects the pods.
func TestBadConfigurationIsNotLoaded(t *testing.T) {
	f := newFleet(t, 3)
	for text, want := range map[string]string{"bad": "site.conf:1: it is bad", "sticky": "site.conf:1: it sticks"} {
		f.configure(text)
		c := waitCondition(t, f.nginx, v1alpha2.ConditionConfigValid, metav1.ConditionFalse, v1alpha2.ReasonConfigRejected)
		if !strings.Contains(c.Message, want) {
			t.Errorf("the message is %q, want %q in it", c.Message, want)
		}
		settled(t)
		for _, pod := range f.pods {
			if err := same(pod.serves(), revisionOf("first")); err != nil {
				t.Errorf("pod %s: %v", pod.key.Name, err)
			}
		}
	}
	f.configure("good")
	f.waitServing("good")
}

// TestKilledAtEachWrite: a change of the configuration is always completed if the operator is
// killed at its k-th write, for every k, before the write is sent or after it was carried out but
// before the response arrives.
func TestKilledAtEachWrite(t *testing.T) {
	for name, sent := range map[string]bool{"before it is sent": false, "after it was carried out": true} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, 3)
			for k := range part.Selected().Positions() {
				text := fmt.Sprintf("change %d", k)
				if !f.killedAt(k, sent, text) {
					t.Logf("a change takes fewer than %d writes", k)
					return
				}
				f.waitServing(text)
			}
		})
	}
}

// killedAt changes the configuration and kills the operator at its k-th write. It returns false if
// there was no such write.
func (f *fleet) killedAt(k int64, sent bool, text string) bool {
	f.t.Helper()
	settled(f.t)
	d := &death{at: k, sent: sent}
	running.death.Store(d)
	f.configure(text)
	if !f.reached(d, text) {
		running.death.Store(nil)
		return false
	}
	running.stop()
	running = startOperator()
	return true
}

// reached waits until the operator was killed or has done everything.
func (f *fleet) reached(d *death, text string) bool {
	f.t.Helper()
	eventually(f.t, "killed or done", func() error {
		if d.happened.Load() {
			return nil
		}
		must(f.t, get(f.t, f.nginx))
		c := f.nginx.Status.Config
		if c == nil || c.StableRevision != revisionOf(text) || f.nginx.Status.ObservedGeneration != f.nginx.Generation {
			return fmt.Errorf("under way")
		}
		return nil
	})
	if !d.happened.Load() {
		settled(f.t)
	}
	return d.happened.Load()
}
