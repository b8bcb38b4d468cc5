//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
)

const samplesDir = "../../config/samples"

// createSample creates the objects of a sample and returns its NginxOperators by name, read as
// v1alpha2.
func createSample(t *testing.T, namespace, file string) map[string]*v1alpha2.NginxOperator {
	t.Helper()
	apps := map[string]*v1alpha2.NginxOperator{}
	for _, obj := range readObjects(t, filepath.Join(samplesDir, file)) {
		obj.SetNamespace(namespace)
		must(t, kube.Create(t.Context(), obj))
		if obj.GetKind() == v1alpha2.Kind {
			nginx := &v1alpha2.NginxOperator{}
			must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(obj), nginx))
			apps[obj.GetName()] = nginx
		}
	}
	return apps
}

// readObjects reads every document of a YAML file.
func readObjects(t *testing.T, path string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	var objects []*unstructured.Unstructured
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		must(t, err)
		obj := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal(document, obj))
		objects = append(objects, obj)
	}
}

// TestFirstManifest: the very first manifest still works unchanged.
func TestFirstManifest(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	const manifest = `
apiVersion: operator.example.com/v1alpha1
kind: NginxOperator
metadata: {name: instance}
spec: {port: 80, replicas: 1}
`
	obj := &unstructured.Unstructured{}
	must(t, yaml.Unmarshal([]byte(manifest), obj))
	obj.SetNamespace(namespace)
	must(t, kube.Create(t.Context(), obj))

	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "instance"}}
	waitReady(t, nginx)
	waitAnswer(t, nginx, "nginx")
	if p := nginx.Spec.Ports; len(p) != 1 || p[0].Port != 80 {
		t.Errorf("read as v1alpha2, the ports are %+v", p)
	}
	if r := nginx.Spec.Replicas; r == nil || *r != 1 {
		t.Errorf("read as v1alpha2, the replicas are %v", r)
	}
	if nginx.Status.ReadyReplicas != 1 || nginx.Status.Image == "" {
		t.Errorf("the status has %d ready replicas of image %q", nginx.Status.ReadyReplicas, nginx.Status.Image)
	}
}

func TestSampleInstance(t *testing.T) {
	t.Parallel()
	nginx := createSample(t, newNamespace(t), "v1alpha1_instance.yaml")["instance"]
	waitReady(t, nginx)
	waitAnswer(t, nginx, "nginx")
}

// TestSampleProxy: the static site and the reverse proxy in front of it work.
func TestSampleProxy(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	site := createSample(t, namespace, "v1alpha2_static_site.yaml")["hello"]
	waitReady(t, site)
	waitAnswer(t, site, "Hello from a ConfigMap")

	proxy := createSample(t, namespace, "v1alpha2_reverse_proxy.yaml")["proxy"]
	waitReady(t, proxy)
	waitAnswer(t, proxy, "Hello from a ConfigMap")
}

// TestSampleFull: the sample with every part of the API works.
func TestSampleFull(t *testing.T) {
	t.Parallel()
	shop := createSample(t, newNamespace(t), "v1alpha2_full.yaml")["shop"]
	waitReady(t, shop)
	waitAnswer(t, shop, "<h1>Shop</h1>")

	service := &corev1.Service{}
	must(t, kube.Get(t.Context(), client.ObjectKey{Namespace: shop.Namespace, Name: naming.Service(shop.Name)}, service))
	if service.Spec.Type != corev1.ServiceTypeNodePort || service.Annotations["example.com/team"] != "shop" {
		t.Errorf("the Service is of type %s with annotations %v", service.Spec.Type, service.Annotations)
	}
	for _, p := range service.Spec.Ports {
		if p.NodePort == 0 {
			t.Errorf("port %s has no port on the nodes", p.Name)
		}
	}
	status, err := request(shop.Namespace, shop.Name, "http", "/status").DoRaw(t.Context())
	must(t, err)
	if !strings.Contains(string(status), "Active connections") {
		t.Errorf("/status answers %q", status)
	}
	for _, pod := range podsOf(t, shop) {
		if pod.Labels["team"] != "shop" {
			t.Errorf("pod %s lacks the label of spec.podTemplate", pod.Name)
		}
	}
}
