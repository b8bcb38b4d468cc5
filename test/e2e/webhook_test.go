//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/testenv"
)

// readsPerSecond is the rate at which these tests read, in both versions.
const readsPerSecond = 50

// startReads reads an application in both versions until stopReads.
func startReads(t *testing.T, nginx *v1alpha2.NginxOperator) *testenv.Reads {
	t.Helper()
	config, err := ctrl.GetConfig()
	must(t, err)
	reads, err := testenv.StartReads(t.Context(), config, client.ObjectKeyFromObject(nginx), readsPerSecond)
	must(t, err)
	return reads
}

// stopReads fails the test if any read has failed.
func stopReads(t *testing.T, reads *testenv.Reads) {
	t.Helper()
	report := reads.Stop()
	t.Log(report)
	for _, failure := range report.Failures {
		t.Error(failure)
	}
}

// prepareReads returns an application without replicas, and makes sure that every replica of the
// operator is available before and after the test.
func prepareReads(t *testing.T) *v1alpha2.NginxOperator {
	t.Helper()
	waitOperator(t, operatorNamespace)
	t.Cleanup(func() { waitOperatorAgain(t) })
	return create(t, newNamespace(t), "web", saying("hello", 0))
}

// TestReadsWhileAReplicaTerminates: no read fails when the replicas of the operator are deleted one after
// the other.
func TestReadsWhileAReplicaTerminates(t *testing.T) {
	nginx := prepareReads(t)
	reads := startReads(t, nginx)
	for _, pod := range operatorPods(t, operatorNamespace) {
		must(t, kube.Delete(t.Context(), &pod))
		eventually(t, "replica "+pod.Name+" has ended", func() error { return gone(get(t, &pod)) })
		waitOperator(t, operatorNamespace)
	}
	stopReads(t, reads)
}

// TestReadsWhileTheOperatorIsRestarted: no read fails when the operator is restarted as by `kubectl
// rollout restart`.
func TestReadsWhileTheOperatorIsRestarted(t *testing.T) {
	nginx := prepareReads(t)
	reads := startReads(t, nginx)
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: operatorName}}
	for i := range 2 {
		patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{"e2e/restarted":"%d-%d"}}}}}`, time.Now().Unix(), i)
		must(t, kube.Patch(t.Context(), d, client.RawPatch(types.MergePatchType, patch)))
		waitOperator(t, operatorNamespace)
	}
	stopReads(t, reads)
}

// webhookSecret reads the operator's certificate.
func webhookSecret(t *testing.T) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "nginx-operator-webhook-cert"}}
	must(t, get(t, secret))
	return secret
}

func parse(t *testing.T, text []byte) *x509.Certificate {
	t.Helper()
	cert, err := testenv.ParseCertificate(text)
	must(t, err)
	return cert
}

// TestReadsWhileCertificatesExpire: the operator replaces the webhook's certificate and its CA before
// they expire, and no read fails.
func TestReadsWhileCertificatesExpire(t *testing.T) {
	nginx := prepareReads(t)
	reads := startReads(t, nginx)
	secret := webhookSecret(t)
	update(t, secret, func() { must(t, testenv.AgeCertificate(secret.Data, time.Hour)) })
	eventually(t, "the certificate is renewed", func() error {
		if left := time.Until(parse(t, webhookSecret(t).Data["tls.crt"]).NotAfter); left < 24*time.Hour {
			return fmt.Errorf("it ends in %s", left)
		}
		return nil
	})

	update(t, secret, func() { must(t, testenv.AgeCA(secret.Data, 24*time.Hour)) })
	old := secret.Data["ca.crt"]
	eventually(t, "the CA is replaced", func() error {
		if ca := parse(t, webhookSecret(t).Data["ca.crt"]); time.Until(ca.NotAfter) < 48*time.Hour {
			return errors.New("it is still the old one")
		}
		if !bytes.Contains(liveCRD(t).Spec.Conversion.Webhook.ClientConfig.CABundle, bytes.TrimSpace(old)) {
			t.Fatal("the old CA left the bundle while replicas may serve its certificate")
		}
		return nil
	})
	// The API server opens new connections, which use the new certificate, to replicas that it has
	// not connected to before.
	pod := operatorPods(t, operatorNamespace)[0]
	must(t, kube.Delete(t.Context(), &pod))
	eventually(t, "a replica has ended", func() error { return gone(get(t, &pod)) })
	waitOperator(t, operatorNamespace)
	stopReads(t, reads)
}

func liveCRD(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "nginxoperators.operator.example.com"}}
	must(t, get(t, crd))
	return crd
}

// TestWebhookDown: without any replica of the operator, running applications keep serving and
// v1alpha2 keeps working. The steps are those of docs/runbooks/conversion-webhook.md.
func TestWebhookDown(t *testing.T) {
	waitOperator(t, operatorNamespace)
	namespace := newNamespace(t)
	nginx := createReady(t, namespace, "web", saying("hello", 2))
	other := create(t, namespace, "other", saying("other", 0))
	traffic := startTraffic(t, nginx, "hello")
	stopOperator(t)

	err := kube.Get(t.Context(), client.ObjectKeyFromObject(nginx), &v1alpha1.NginxOperator{})
	if err == nil || !apierrors.IsInternalError(err) && !strings.Contains(err.Error(), "conversion webhook") {
		t.Errorf("reading v1alpha1 without a webhook gives %v", err)
	}
	must(t, get(t, nginx))
	must(t, kube.List(t.Context(), &v1alpha2.NginxOperatorList{}, client.InNamespace(namespace)))
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = says("hello again") })
	must(t, kube.Delete(t.Context(), other))
	eventually(t, "an object is deleted", func() error { return gone(get(t, other)) })
	waitAnswer(t, nginx, "hello")
	if pods := podsOf(t, nginx); len(pods) != 2 {
		t.Errorf("%d pods run", len(pods))
	}

	serveV1Alpha1(t, false)
	cleanup(t, func(context.Context) error { serveV1Alpha1(t, true); return nil })
	eventually(t, "v1alpha1 is not there", func() error {
		err := kube.Get(t.Context(), client.ObjectKeyFromObject(nginx), &v1alpha1.NginxOperator{})
		if !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
			return fmt.Errorf("reading it gives %w", err)
		}
		return nil
	})
	must(t, get(t, nginx))
	serveV1Alpha1(t, true)

	output, err := kubectl(t, "-n", operatorNamespace, "scale", "deployment", operatorName, "--replicas=2")
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	waitOperator(t, operatorNamespace)
	eventually(t, "v1alpha1 can be read", func() error {
		return kube.Get(t.Context(), client.ObjectKeyFromObject(nginx), &v1alpha1.NginxOperator{})
	})
	waitAnswer(t, nginx, "hello again")
	traffic.stop(t)
}

// serveV1Alpha1 follows the runbook for a webhook that will be unavailable for a long time.
func serveV1Alpha1(t *testing.T, served bool) {
	t.Helper()
	patch := fmt.Sprintf(`[{"op":"test","path":"/spec/versions/0/name","value":"v1alpha1"},{"op":"replace","path":"/spec/versions/0/served","value":%t}]`, served)
	output, err := exec.Command(kubectlPath, "patch", "crd", "nginxoperators.operator.example.com", "--type=json", "-p", patch).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
}

// TestBrokenCertificate: the operator recreates the webhook's certificate after its data is
// deleted, as in the runbook, and publishes the CA again.
func TestBrokenCertificate(t *testing.T) {
	nginx := prepareReads(t)
	works := func() error {
		return kube.Get(context.WithoutCancel(t.Context()), client.ObjectKeyFromObject(nginx), &v1alpha1.NginxOperator{})
	}
	must(t, works())
	before := webhookSecret(t)
	output, err := kubectl(t, "-n", operatorNamespace, "patch", "secret", before.Name, "--type=json", `--patch=[{"op":"remove","path":"/data"}]`)
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	eventually(t, "there is another CA", func() error {
		now := webhookSecret(t).Data["ca.crt"]
		if len(now) == 0 || bytes.Equal(now, before.Data["ca.crt"]) {
			return errors.New("it is not there")
		}
		return nil
	})
	// A read may still succeed over an old connection.
	published := func() error {
		if ca := webhookSecret(t).Data["ca.crt"]; !bytes.Contains(liveCRD(t).Spec.Conversion.Webhook.ClientConfig.CABundle, bytes.TrimSpace(ca)) {
			return errors.New("it is not")
		}
		return nil
	}
	eventually(t, "its certificate is published", published)
	eventually(t, "v1alpha1 can be read", works)

	output, err = kubectl(t, "patch", "crd", "nginxoperators.operator.example.com", "--type=json",
		`--patch=[{"op":"remove","path":"/spec/conversion/webhook/clientConfig/caBundle"}]`)
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	eventually(t, "the CA is published again", published)
	eventually(t, "v1alpha1 can be read again", works)
}
