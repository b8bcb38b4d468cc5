package check

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin/installation"
	"example.com/nginx-operator/internal/plugin/manifests"
)

var now = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// neededByRelease returns the definitions of the release.
var neededByRelease = sync.OnceValues(func() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	objects, err := manifests.Render(manifests.Options{Version: "1.2.3"})
	if err != nil {
		return nil, err
	}
	return manifests.Definitions(objects)
})

// working is a cluster in which everything is in order.
func working(t *testing.T) *Cluster {
	t.Helper()
	needed, err := neededByRelease()
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{
		Now: now, Release: "1.2.3", Kubernetes: "v1.37.2+build", Needed: needed, Definitions: map[string]*apiextensionsv1.CustomResourceDefinition{},
		Operators:    []installation.Operator{running("nginx-operator-system", "1.2.3")},
		Applications: []v1alpha2.NginxOperator{application("web", metav1.ConditionTrue, v1alpha2.ConditionReady)},
		Unread:       map[string]error{},
		Leases:       map[string]*coordinationv1.Lease{},
	}
	for _, namespace := range []string{"nginx-operator-system", "a", "b", "shop"} {
		c.Leases[namespace] = &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("pod-1"), RenewTime: new(metav1.NewMicroTime(now.Add(-5 * time.Second))),
		}}
	}
	for _, definition := range needed {
		copied := definition.DeepCopy()
		copied.Status.StoredVersions = []string{"v1alpha2"}
		c.Definitions[copied.Name] = copied
	}
	definition(c).Spec.Conversion.Webhook.ClientConfig.CABundle = certificate(t, now.AddDate(9, 0, 0))
	return c
}

func running(namespace, version string, namespaces ...string) installation.Operator {
	d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "nginx-operator"}, Spec: appsv1.DeploymentSpec{Replicas: new(int32(2))}}
	d.Status = appsv1.DeploymentStatus{Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2}
	return installation.Operator{Deployment: d, Method: installation.Helm, Version: version, Namespaces: namespaces}
}

func application(name string, status metav1.ConditionStatus, reason string) v1alpha2.NginxOperator {
	n := v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	n.Status.Conditions = []metav1.Condition{{Type: v1alpha2.ConditionReady, Status: status, Reason: reason}}
	return n
}

func certificate(t *testing.T, expires time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: expires}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// TestEvaluate: one thing is wrong at a time, and one check says so.
func TestEvaluate(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "nginx-operator", errors.New("no"))
	for name, tt := range map[string]struct {
		change func(c *Cluster)
		check  string
		state  State
		says   string
	}{
		"in order":      {func(*Cluster) {}, "", OK, ""},
		"old cluster":   {func(c *Cluster) { c.Kubernetes = "v1.29.9" }, "Kubernetes", Failed, "1.29 is older than 1.30"},
		"oldest":        {func(c *Cluster) { c.Kubernetes = "v1.30.0" }, "", OK, ""},
		"new cluster":   {func(c *Cluster) { c.Kubernetes = "v1.38.0" }, "Kubernetes", Warning, "1.38 is newer than 1.37"},
		"odd version":   {func(c *Cluster) { c.Kubernetes = "main" }, "Kubernetes", Warning, "not known"},
		"rights":        {func(c *Cluster) { c.Missing = []string{"create a", "patch a", "create b", "patch b"} }, "rights to install", Warning, "you may not create a, patch a, create b and 1 more"},
		"no operator":   {func(c *Cluster) { c.Operators = nil }, "operator", Failed, "not installed, but its CustomResourceDefinitions are"},
		"no pod":        {func(c *Cluster) { c.Operators[0].Deployment.Status.AvailableReplicas = 0 }, "operator", Failed, "no pod of nginx-operator-system/nginx-operator is available"},
		"one pod":       {func(c *Cluster) { c.Operators[0].Deployment.Status.AvailableReplicas = 1 }, "operator", Warning, "2 pods are up to date, 1 of 2 are available"},
		"older":         {func(c *Cluster) { c.Operators[0].Version = "1.2.2" }, "operator", Warning, "runs release 1.2.2, and the plugin is of 1.2.3"},
		"newer":         {func(c *Cluster) { c.Operators[0].Version = "1.3.0" }, "operator", Warning, "runs release 1.3.0"},
		"two operators": {func(c *Cluster) { c.Operators = append(c.Operators, running("shop", "1.2.3", "shop")) }, "operator", Failed, "there are other operators"},
		"one namespace twice": {func(c *Cluster) {
			c.Operators = []installation.Operator{running("a", "1.2.3", "a"), running("b", "1.2.3", "b", "a")}
		}, "operator", Failed, "a/nginx-operator and b/nginx-operator manage the namespace a"},
		"two namespaces": {func(c *Cluster) {
			c.Operators = []installation.Operator{running("a", "1.2.3", "a"), running("b", "1.2.3", "b")}
		}, "", OK, ""},
		"no definition":  {func(c *Cluster) { delete(c.Definitions, "nginxbackups.backup.operator.example.com") }, "API", Failed, "missing: nginxbackups"},
		"terminating":    {func(c *Cluster) { definition(c).DeletionTimestamp = new(metav1.NewTime(now)) }, "API", Failed, "being deleted"},
		"old definition": {func(c *Cluster) { delete(definition(c).Spec.Versions[1].Schema.OpenAPIV3Schema.Properties, "status") }, "API", Warning, "v1alpha2 status"},
		"stored":         {func(c *Cluster) { definition(c).Status.StoredVersions = []string{"v1alpha1", "v1alpha2"} }, "API", Warning, "nginxoperators.operator.example.com (v1alpha1, v1alpha2)"},
		"no lease":       {func(c *Cluster) { c.Leases = nil }, "leader", Failed, "no pod leads"},
		"released lease": {func(c *Cluster) { c.Leases["nginx-operator-system"].Spec.HolderIdentity = new("") }, "leader", Failed, "no pod leads"},
		"old lease":      {func(c *Cluster) { c.Leases["nginx-operator-system"].Spec.RenewTime.Time = now.Add(-2 * time.Minute) }, "leader", Failed, "pod-1 has not renewed its lease for 2m0s"},
		"unreadable":     {func(c *Cluster) { c.Leases, c.Unread[Leases] = nil, forbidden }, "leader", Warning, "not checked: leases \"nginx-operator\" is forbidden"},
		"no CA":          {func(c *Cluster) { definition(c).Spec.Conversion.Webhook.ClientConfig.CABundle = nil }, "webhook's CA", Failed, "has not published it"},
		"damaged CA": {func(c *Cluster) {
			definition(c).Spec.Conversion.Webhook.ClientConfig.CABundle = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE"})
		}, "webhook's CA", Failed, "damaged"},
		"expired CA": {func(c *Cluster) { definition(c).Spec.Conversion.Webhook.ClientConfig.CABundle = certificate(t, now) }, "webhook's CA", Failed, "expired on 2026-11-26"},
		"expiring CA": {func(c *Cluster) {
			definition(c).Spec.Conversion.Webhook.ClientConfig.CABundle = certificate(t, now.AddDate(0, 0, 9))
		}, "webhook's CA", Warning, "expires on 2026-12-05"},
		"no answer":       {func(c *Cluster) { c.Conversion = errors.New("connection refused") }, "conversion webhook", Failed, "v1alpha1 cannot be written: connection refused"},
		"may not convert": {func(c *Cluster) { c.Conversion = forbidden }, "conversion webhook", Warning, "not checked"},
		"unreachable": {func(c *Cluster) {
			c.Applications[0] = application("web", metav1.ConditionFalse, v1alpha2.ReasonInstanceUnreachable)
		}, "applications", Warning, "does not reach pods of shop/web"},
		"not ready": {func(c *Cluster) { c.Applications[0] = application("web", metav1.ConditionFalse, "Progressing") }, "applications", Warning, "1 of 1 are not ready: shop/web"},
	} {
		t.Run(name, func(t *testing.T) {
			c := working(t)
			tt.change(c)
			results := Evaluate(c)
			if got := Worst(results); got != tt.state {
				t.Errorf("the worst is %q, want %q", got, tt.state)
			}
			for _, r := range results {
				switch {
				case r.Name == tt.check && (r.State != tt.state || !strings.Contains(r.Message, tt.says) || r.Next == ""):
					t.Errorf("got %+v", r)
				case r.Name != tt.check && r.State != OK:
					t.Errorf("also %+v", r)
				}
			}
		})
	}
}

// TestNothingInstalled: a cluster without the operator is in order, and only that is checked which an installation needs.
func TestNothingInstalled(t *testing.T) {
	results := Evaluate(&Cluster{Kubernetes: "v1.37.0"})
	if Worst(results) != OK || len(results) != 3 || results[2].Message != "not installed" {
		t.Errorf("got %+v", results)
	}
}

// TestVersions: the versions are those of the documents.
func TestVersions(t *testing.T) {
	text, err := os.ReadFile("../../../docs/installation.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "The operator requires Kubernetes "+oldest+" ") || !regexp.MustCompile(`All tests run on `+regexp.QuoteMeta(newest)+`\.`).Match(text) {
		t.Errorf("docs/installation.md names other versions than %s and %s", oldest, newest)
	}
}

// TestPodsAvailable: one pod is no plural.
func TestPodsAvailable(t *testing.T) {
	for number, want := range map[int32]string{0: "0 pods", 1: "1 pod", 2: "2 pods"} {
		if got := podsAvailable(number); got != want {
			t.Errorf("%d: %q, want %q", number, got, want)
		}
	}
}
