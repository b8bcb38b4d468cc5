package desired_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/test/golden"
	"example.com/nginx-operator/test/load"
)

var (
	updateReleased = flag.Bool("update-released", false,
		"record what this version leaves behind in the cluster of KUBECONFIG, which runs it")
	overwriteReleased = flag.Bool("overwrite-released", false,
		"with -update-released: also where the version has been recorded; never for one that is out")
)

const (
	recordTimeout = 5 * time.Minute
	// recordQuiet is the time without changes after which a sample counts as settled.
	recordQuiet = 15 * time.Second
)

// recording is a sample that is run and recorded.
type recording struct {
	name string
	spec v1alpha2.NginxOperatorSpec
	// others are the objects that it refers to.
	others []client.Object
	// changes are applied one after the other, each after the previous one has settled.
	changes []func(r *recorder)
	// historyOnly keeps only the history, if the rest would be large.
	historyOnly bool
	// reason is the final reason of UpToDate; empty: it must be Ready.
	reason string
}

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
}

// recordings returns the samples. A sample that is part of a release does not change.
func recordings(t *testing.T) []recording {
	const image = "localhost/nginx:1.26-debian"
	answer := func(text string) *v1alpha2.Config {
		return &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{
			"site.conf": v1alpha2.ConfigFile(`server { listen 80; return 200 "` + text + `\n"; }`),
		}}
	}
	return []recording{
		{name: "least"},
		{name: "full", spec: fullSpec(image), others: []client.Object{
			configMap("web-conf", map[string]string{
				"site.conf":       "server { listen 8080; root /srv/pages; }\n",
				"dns.stream.conf": "server { listen 5353 udp; return pong; }\n",
			}),
			configMap("pages", map[string]string{"index.html": "hello\n"}),
		}, changes: []func(*recorder){
			func(r *recorder) {
				r.change(configMap("web-conf", nil), func(o client.Object) {
					o.(*corev1.ConfigMap).Data["site.conf"] = "server { listen 8080; root /srv/pages; autoindex on; }\n"
				})
			},
			func(r *recorder) { r.edit(func(s *v1alpha2.NginxOperatorSpec) { s.ForceRedeploy = new("2026-11-21") }) },
		}},
		{name: "tls", spec: v1alpha2.NginxOperatorSpec{
			Ports: []v1alpha2.Port{{Name: "https", Port: 8443}},
			TLS:   []v1alpha2.Certificate{{Name: "shop", SecretName: "shop-tls"}},
			Config: &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{
				"site.conf": "server { listen 8443 ssl; ssl_certificate /etc/nginx/tls/shop/tls.crt; ssl_certificate_key /etc/nginx/tls/shop/tls.key; return 200; }",
			}},
		}, others: []client.Object{certificate(t, "shop-tls")}},
		{name: "canary", spec: v1alpha2.NginxOperatorSpec{
			Replicas: new(int32(2)), Config: answer("first"),
			Rollout: &v1alpha2.Rollout{Canary: &v1alpha2.Canary{
				DurationSeconds: new(int32(5)), MaxErrorPercent: new(int32(2)), MaxLatencyRatio: new(resource.MustParse("1.5")),
			}},
		}, changes: []func(*recorder){
			func(r *recorder) { r.edit(func(s *v1alpha2.NginxOperatorSpec) { s.Config = answer("second") }) },
			func(r *recorder) { r.edit(func(s *v1alpha2.NginxOperatorSpec) { s.Image = new(image) }) },
		}},
		{name: "large-configuration", historyOnly: true, spec: v1alpha2.NginxOperatorSpec{
			Config: &v1alpha2.Config{ConfigMap: &v1alpha2.ConfigMapReference{Name: "web-conf"}},
		}, others: []client.Object{configMap("web-conf", map[string]string{
			"site.conf": "server { listen 80; return 200; }\n" + strings.Repeat("# one of many lines\n", 5000),
		})}},
		{name: "rolled-back", reason: v1alpha2.ReasonRolledBack, spec: v1alpha2.NginxOperatorSpec{
			Config: answer("good"), Rollout: &v1alpha2.Rollout{MaxSurge: new(intstr.FromInt32(1))},
		}, changes: []func(*recorder){
			func(r *recorder) {
				r.edit(func(s *v1alpha2.NginxOperatorSpec) {
					s.PodTemplate = &v1alpha2.PodTemplate{InitContainers: []v1alpha2.Container{
						{Name: "fails", Image: image, Command: []string{"ls", "/missing"}},
					}}
				})
			},
		}},
	}
}

func fullSpec(image string) v1alpha2.NginxOperatorSpec {
	quantities := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	}
	return v1alpha2.NginxOperatorSpec{
		Image:    new(image),
		Replicas: new(int32(2)),
		Ports: []v1alpha2.Port{
			{Name: "http", Port: 8080}, {Name: "dns", Port: 5353, Protocol: corev1.ProtocolUDP},
		},
		ForceRedeploy: new("2026-11-20"),
		Config:        &v1alpha2.Config{ConfigMap: &v1alpha2.ConfigMapReference{Name: "web-conf"}},
		Content:       []v1alpha2.Content{{MountPath: "/srv/pages", ConfigMap: &v1alpha2.ConfigMapReference{Name: "pages"}}},
		Service:       &v1alpha2.Service{Annotations: map[string]string{"example.com/a": "b"}},
		Drain:         &v1alpha2.Drain{DelaySeconds: new(int32(2)), TimeoutSeconds: new(int32(10))},
		Metrics:       &v1alpha2.Metrics{Requests: new(true)},
		Resources: &corev1.ResourceRequirements{
			Requests: quantities("10m", "32Mi"), Limits: quantities("1", "128Mi"),
		},
		PodTemplate: &v1alpha2.PodTemplate{
			Labels:      map[string]string{"team": "shop"},
			Annotations: map[string]string{"example.com/c": "d"},
			Tolerations: []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}},
			Env:         []corev1.EnvVar{{Name: "TZ", Value: "UTC"}},
			Containers: []v1alpha2.Container{{
				Name: "beside", Image: image, Command: []string{"sleep", "86400"},
			}},
		},
		Rollout: &v1alpha2.Rollout{MaxSurge: new(intstr.FromString("50%")), ProgressDeadlineSeconds: new(int32(120))},
	}
}

func certificate(t *testing.T, name string) *corev1.Secret {
	t.Helper()
	authority, err := load.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Issue("shop.example.com", 90*24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Type: corev1.SecretTypeTLS,
		StringData: map[string]string{corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key},
	}
}

// TestRecordReleased: with -update-released, the golden files of a release are recorded.
func TestRecordReleased(t *testing.T) {
	if !*updateReleased {
		t.Skip("-update-released is not set")
	}
	version := strings.TrimSpace(golden.Read(t, "../../../VERSION"))
	root := filepath.Join(releasedRoot, version)
	if _, err := os.Stat(root); err == nil && !*overwriteReleased {
		t.Fatalf("%s exists: what a release leaves behind does not change any more (before it is out: -overwrite-released)", root)
	}
	r := newRecorder(t)
	for _, sample := range recordings(t) {
		t.Run(sample.name, func(t *testing.T) {
			own := *r
			own.t, own.dir = t, filepath.Join(root, sample.name)
			own.record(sample)
		})
	}
	t.Run("every-field", func(t *testing.T) {
		own := *r
		own.t = t
		own.recordSpec(filepath.Join(root, "every-field"), golden.Read(t, "testdata/full.yaml"))
	})
}

// recorder runs samples.
type recorder struct {
	t      *testing.T
	client client.Client
	kube   kubernetes.Interface
	dir    string
	nginx  *v1alpha2.NginxOperator
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatalf("KUBECONFIG: %v", err)
	}
	scheme := runtime.NewScheme()
	if err := v1alpha2.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	r := &recorder{t: t}
	if r.client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	if r.kube, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *recorder) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// record runs a sample and records the objects when it has settled.
func (r *recorder) record(sample recording) {
	ctx := r.t.Context()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "released-" + sample.name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	r.must(r.client.Create(ctx, namespace))
	r.t.Cleanup(func() {
		if err := r.client.Delete(context.WithoutCancel(ctx), namespace); err != nil {
			r.t.Error(err)
		}
	})
	for _, other := range sample.others {
		other.SetNamespace(namespace.Name)
		r.must(r.client.Create(ctx, other))
	}
	r.nginx = &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "web"}, Spec: sample.spec}
	r.must(r.client.Create(ctx, r.nginx))
	r.settled("")
	for i, change := range sample.changes {
		change(r)
		if i == len(sample.changes)-1 {
			r.settled(sample.reason)
		} else {
			r.settled("")
		}
	}
	objects := r.all()
	if sample.historyOnly {
		objects = slices.DeleteFunc(objects, func(o client.Object) bool {
			switch o.(type) {
			case *v1alpha2.NginxOperator, *appsv1.ControllerRevision:
				return false
			}
			return true
		})
	}
	r.write(objects)
}

// edit changes the spec.
func (r *recorder) edit(change func(*v1alpha2.NginxOperatorSpec)) {
	r.t.Helper()
	r.change(r.nginx, func(client.Object) { change(&r.nginx.Spec) })
}

func (r *recorder) change(object client.Object, change func(client.Object)) {
	r.t.Helper()
	object.SetNamespace(r.nginx.Namespace)
	r.must(r.client.Get(r.t.Context(), client.ObjectKeyFromObject(object), object))
	change(object)
	r.must(r.client.Update(r.t.Context(), object))
}

// settled waits until the sample is in its final state and nothing has changed for a while.
func (r *recorder) settled(reason string) {
	r.t.Helper()
	deadline := time.Now().Add(recordTimeout)
	last, since := "", time.Now()
	for time.Since(since) < recordQuiet {
		r.must(r.client.Get(r.t.Context(), client.ObjectKeyFromObject(r.nginx), r.nginx))
		now := ""
		for _, object := range r.all() {
			now += object.GetName() + object.GetResourceVersion() + " "
		}
		if now != last || !r.reached(reason) {
			last, since = now, time.Now()
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("it does not settle: %+v", r.nginx.Status.Conditions)
		}
		time.Sleep(time.Second)
	}
}

func (r *recorder) reached(reason string) bool {
	if r.nginx.Status.ObservedGeneration != r.nginx.Generation {
		return false
	}
	if reason == "" {
		return meta.IsStatusConditionTrue(r.nginx.Status.Conditions, v1alpha2.ConditionReady)
	}
	c := meta.FindStatusCondition(r.nginx.Status.Conditions, v1alpha2.ConditionUpToDate)
	return c != nil && c.Reason == reason
}

// all returns the objects in the sample's namespace that the operator reads.
func (r *recorder) all() []client.Object {
	var all []client.Object
	for _, list := range []client.ObjectList{
		&v1alpha2.NginxOperatorList{}, &corev1.ServiceAccountList{}, &corev1.ConfigMapList{}, &corev1.ServiceList{}, &appsv1.DeploymentList{},
		&policyv1.PodDisruptionBudgetList{}, &appsv1.ControllerRevisionList{}, &corev1.PodList{},
	} {
		r.must(r.client.List(r.t.Context(), list, client.InNamespace(r.nginx.Namespace)))
		r.must(meta.EachListItem(list, func(item runtime.Object) error {
			object := item.(client.Object)
			// The objects that Kubernetes creates in every namespace are not part of the sample.
			if name := object.GetName(); name != "kube-root-ca.crt" && name != "default" {
				all = append(all, object)
			}
			return nil
		}))
	}
	return all
}

// write writes the golden files.
func (r *recorder) write(objects []client.Object) {
	r.t.Helper()
	r.must(os.RemoveAll(r.dir))
	r.must(os.MkdirAll(r.dir, 0o755))
	for _, object := range objects {
		gvk, err := apiutil.GVKForObject(object, r.client.Scheme())
		r.must(err)
		object.GetObjectKind().SetGroupVersionKind(gvk)
		object.SetManagedFields(nil)
		text, err := yaml.Marshal(object)
		r.must(err)
		file := fmt.Sprintf("%s-%s.yaml", strings.ToLower(gvk.Kind), object.GetName())
		r.must(os.WriteFile(filepath.Join(r.dir, file), text, 0o644))
		if pod, ok := object.(*corev1.Pod); ok {
			r.writeAnswers(pod)
		}
	}
	r.writeFacts(&released{nginx: r.nginx, objects: objects})
}

// requestsMade is the number of requests to a pod before its answers are recorded.
const requestsMade = 20

// writeAnswers writes an instance's answers, unchanged.
func (r *recorder) writeAnswers(pod *corev1.Pod) {
	r.t.Helper()
	port := int(pod.Spec.Containers[0].Ports[1].ContainerPort)
	for range requestsMade {
		// Each request is counted, whatever its result.
		_, _ = r.fromPod(pod, port, "/", nil)
	}
	window := map[string]string{instanceapi.ParameterSeconds: "60"}
	for prefix, fetch := range map[string]func() ([]byte, error){
		"instance": func() ([]byte, error) { return r.fromPod(pod, instanceapi.Port, instanceapi.PathStatus, nil) },
		"requests": func() ([]byte, error) { return r.fromPod(pod, instanceapi.Port, instanceapi.PathRequests, window) },
	} {
		text, err := fetch()
		r.must(err)
		r.must(os.WriteFile(filepath.Join(r.dir, prefix+"-"+pod.Name+".json"), append(bytes.TrimSpace(text), '\n'), 0o644))
	}
}

// fromPod reads from a port of a pod, through the API server's proxy.
func (r *recorder) fromPod(pod *corev1.Pod, port int, path string, parameters map[string]string) ([]byte, error) {
	request := r.kube.CoreV1().RESTClient().Get().Namespace(pod.Namespace).Resource("pods").
		Name(fmt.Sprintf("%s:%d", pod.Name, port)).SubResource("proxy").Suffix(path)
	for key, value := range parameters {
		request = request.Param(key, value)
	}
	return request.DoRaw(r.t.Context())
}

func (r *recorder) writeFacts(of *released) {
	r.t.Helper()
	inputs, attempt := hashes(r.t, of.nginx, "", requestedRevision(of))
	text, err := json.MarshalIndent(facts{At: time.Now().UTC().Truncate(time.Second), Inputs: inputs, Attempt: attempt}, "", "  ")
	r.must(err)
	r.must(os.WriteFile(filepath.Join(r.dir, factsFile), append(text, '\n'), 0o644))
}

// recordSpec records the hashes of a spec that is not run.
func (r *recorder) recordSpec(dir, text string) {
	r.t.Helper()
	nginx := &v1alpha2.NginxOperator{}
	r.must(yaml.UnmarshalStrict([]byte(text), nginx))
	r.dir = dir
	r.must(os.RemoveAll(dir))
	r.must(os.MkdirAll(dir, 0o755))
	r.must(os.WriteFile(filepath.Join(dir, "nginxoperator-web.yaml"), []byte(text), 0o644))
	r.writeFacts(&released{nginx: nginx})
}
