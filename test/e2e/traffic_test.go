//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/test/load"
	"example.com/nginx-operator/test/load/incluster"
	"example.com/nginx-operator/test/load/site"
)

// loadImage is the image of test/load/cmd/nginx-load, from E2E_LOAD_IMAGE.
var loadImage = env("E2E_LOAD_IMAGE", "localhost/nginx-load:dev")

// e2eRate is a modest load, because the tests share the machine with the cluster.
const e2eRate = 150

// shop is an application under load whose responses all contain its revision.
type shop struct {
	*v1alpha2.NginxOperator
	site      site.Site
	authority *load.Authority
	load      *incluster.Load
	edits     int
}

// newShop creates an application with a certificate and a backend, and starts load on it.
func newShop(t *testing.T, replicas int32, secure bool) *shop {
	t.Helper()
	namespace := newNamespace(t)
	authority, err := load.NewAuthority()
	must(t, err)
	s := &shop{site: site.Site{TLS: true}, authority: authority}
	if !secure {
		s.site.Backend, err = incluster.StartEcho(t.Context(), clientset, namespace, "echo", loadImage)
		must(t, err)
	}
	must(t, kube.Create(t.Context(), tlsSecret(namespace, "shop-tls", s.issue(t))))
	s.NginxOperator = createReady(t, namespace, "shop", v1alpha2.NginxOperatorSpec{
		Image: new(newestImage()), Replicas: &replicas, Config: filesConfig(s.site.Files(s.revision())),
		Ports: []v1alpha2.Port{{Name: "http", Port: site.Port}, {Name: "https", Port: site.SecurePort}},
		TLS:   []v1alpha2.Certificate{{Name: site.Certificate, SecretName: "shop-tls"}},
	})
	options := s.site.Options(e2eRate, serviceAddress(t, s.NginxOperator, site.Port))
	if secure {
		options = site.Secure(options, authority.PEM())
		options.Targets = []string{serviceAddress(t, s.NginxOperator, site.SecurePort)}
	}
	options.Revisions = []string{s.revision()}
	s.load, err = incluster.Start(t.Context(), clientset, namespace, "load", loadImage, options)
	must(t, err)
	return s
}

func (s *shop) issue(t *testing.T) load.Pair {
	t.Helper()
	pair, err := s.authority.Issue(site.Host, 90*24*time.Hour)
	must(t, err)
	return pair
}

func (s *shop) revision() string { return fmt.Sprintf("r%d", s.edits) }

// submit requests a new configuration and returns the revision by which the operator knows it.
func (s *shop) submit(t *testing.T) string {
	t.Helper()
	s.edits++
	must(t, s.load.Submit(t.Context(), s.revision()))
	files := s.site.Files(s.revision())
	edit(t, s.NginxOperator, func(spec *v1alpha2.NginxOperatorSpec) { spec.Config = filesConfig(files) })
	return nginxconf.Revision(files)
}

// stop ends the load, and fails the test if a single request has failed.
func (s *shop) stop(t *testing.T) load.Report {
	t.Helper()
	// Old workers and old pods, which end late, have to end under load, too.
	time.Sleep(6 * time.Second)
	report, err := s.load.Stop(t.Context())
	must(t, err)
	t.Logf("%s", report)
	if report.Failed > 0 {
		t.Errorf("%d of %d requests failed", report.Failed, report.Requests)
	}
	return report
}

func filesConfig(files map[string]string) *v1alpha2.Config {
	config := &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{}}
	for name, text := range files {
		config.Files[name] = v1alpha2.ConfigFile(text)
	}
	return config
}

func tlsSecret(namespace, name string, pair load.Pair) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Type:       corev1.SecretTypeTLS,
		StringData: map[string]string{corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key},
	}
}

func serviceAddress(t *testing.T, nginx *v1alpha2.NginxOperator, port int) string {
	t.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: nginx.Namespace, Name: naming.Service(nginx.Name)}}
	must(t, get(t, service))
	return net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(port))
}

// waitLive waits until, according to the status, every pod serves a configuration.
func waitLive(t *testing.T, nginx *v1alpha2.NginxOperator, revision string) {
	t.Helper()
	eventually(t, "every pod serves "+revision, func() error {
		if err := get(t, nginx); err != nil {
			return err
		}
		c := nginx.Status.Config
		if c == nil || nginx.Status.ObservedGeneration != nginx.Generation {
			return errors.New("the operator has not reconciled yet")
		}
		if c.Revision != revision || c.LoadedReplicas != *nginx.Spec.Replicas || c.StableRevision != revision {
			return fmt.Errorf("it is %+v", *c)
		}
		return nil
	})
}

// podStates returns how often the containers of each pod have been restarted.
func podStates(t *testing.T, nginx *v1alpha2.NginxOperator) map[string]int32 {
	t.Helper()
	states := map[string]int32{}
	for _, pod := range podsOf(t, nginx) {
		for _, s := range pod.Status.ContainerStatuses {
			states[string(pod.UID)+"/"+s.Name] = s.RestartCount
		}
	}
	return states
}

// TestTrafficConfiguration: repeated changes of the configuration fail no request.
func TestTrafficConfiguration(t *testing.T) {
	t.Parallel()
	s := newShop(t, 2, false)
	before := podStates(t, s.NginxOperator)
	for range 15 {
		waitLive(t, s.NginxOperator, s.submit(t))
		s.waitSeen(t, s.revision(), func(r load.Report) []load.Sighting { return r.Revisions })
	}
	report := s.stop(t)
	if seen := load.Names(report.Revisions); len(seen) != s.edits+1 {
		t.Errorf("of %d revisions these were seen: %v", s.edits+1, seen)
	}
	samePods(t, s.NginxOperator, before)
}

// TestTrafficCertificates: repeated rotations of the certificate fail no request over TLS.
func TestTrafficCertificates(t *testing.T) {
	t.Parallel()
	s := newShop(t, 2, true)
	before := podStates(t, s.NginxOperator)
	const rotations = 5
	for range rotations {
		pair := s.issue(t)
		s.rotate(t, pair)
		s.waitSeen(t, pair.Serial, serials)
	}
	report := s.stop(t)
	if seen := load.Names(report.Serials); len(seen) != rotations+1 {
		t.Errorf("of %d certificates these were seen: %v", rotations+1, seen)
	}
	samePods(t, s.NginxOperator, before)
}

// TestTrafficPods: replacing, scaling and deleting pods fails no request.
func TestTrafficPods(t *testing.T) {
	t.Parallel()
	s := newShop(t, 2, false)
	for i := range 2 {
		value := fmt.Sprint(i)
		edit(t, s.NginxOperator, func(spec *v1alpha2.NginxOperatorSpec) { spec.ForceRedeploy = &value })
		waitReady(t, s.NginxOperator)
	}
	for _, n := range []int32{4, 2} {
		edit(t, s.NginxOperator, func(spec *v1alpha2.NginxOperatorSpec) { spec.Replicas = &n })
		waitReady(t, s.NginxOperator)
	}
	pod := podsOf(t, s.NginxOperator)[0]
	must(t, kube.Delete(t.Context(), &pod))
	eventually(t, "the deleted pod is gone", func() error { return gone(get(t, &pod)) })
	waitReady(t, s.NginxOperator)
	s.stop(t)
}

// TestTrafficOperator: killing and upgrading the operator while the configuration changes fails no
// request.
func TestTrafficOperator(t *testing.T) {
	s := newShop(t, 2, false)
	t.Cleanup(func() { waitOperatorAgain(t) })
	before := podStates(t, s.NginxOperator)
	for i := range 2 {
		revision := s.submit(t)
		time.Sleep(time.Duration(i) * 200 * time.Millisecond)
		killOperator(t)
		waitLive(t, s.NginxOperator, revision)
	}
	waitOperator(t, operatorNamespace)
	output, err := kubectl(t, "-n", operatorNamespace, "rollout", "restart", "deployment/"+operatorName)
	if err != nil {
		t.Fatalf("restart the operator: %v: %s", err, output)
	}
	waitLive(t, s.NginxOperator, s.submit(t))
	waitOperator(t, operatorNamespace)
	waitReady(t, s.NginxOperator)
	s.stop(t)
	samePods(t, s.NginxOperator, before)
}

// waitSeen waits until the load has seen a revision or a certificate.
func (s *shop) waitSeen(t *testing.T, name string, seen func(load.Report) []load.Sighting) {
	t.Helper()
	eventually(t, "the load has seen "+name, func() error {
		report, err := s.load.Report(t.Context())
		if err != nil {
			return err
		}
		if names := load.Names(seen(report)); !slices.Contains(names, name) {
			return fmt.Errorf("it has seen %v", names)
		}
		return nil
	})
}

// serials returns the certificates that a load has seen.
func serials(r load.Report) []load.Sighting { return r.Serials }

// samePods fails the test if a pod was replaced or a container restarted.
func samePods(t *testing.T, nginx *v1alpha2.NginxOperator, before map[string]int32) {
	t.Helper()
	now := podStates(t, nginx)
	for container, restarts := range before {
		if n, there := now[container]; !there || n != restarts {
			t.Errorf("container %s was restarted %d times, now it exists: %t, restarts: %d", container, restarts, there, n)
		}
	}
}

// rotate replaces the certificate, makes the pods receive it at once, and waits until they serve
// it.
func (s *shop) rotate(t *testing.T, pair load.Pair) {
	t.Helper()
	must(t, kube.Update(t.Context(), tlsSecret(s.Namespace, "shop-tls", pair)))
	syncSecrets(t, s.NginxOperator)
	waitSerial(t, s.NginxOperator, pair.Serial)
}

// syncSecrets makes the pods receive their Secrets at once. The kubelet itself updates them about
// once a minute.
func syncSecrets(t *testing.T, nginx *v1alpha2.NginxOperator) {
	t.Helper()
	update(t, nginx, func() {
		metav1.SetMetaDataAnnotation(&nginx.ObjectMeta, naming.AnnotationSync, time.Now().Format(time.RFC3339Nano))
	})
}

func waitSerial(t *testing.T, nginx *v1alpha2.NginxOperator, serial string) {
	t.Helper()
	eventually(t, "certificate "+serial+" is served", func() error {
		if err := get(t, nginx); err != nil {
			return err
		}
		if c := nginx.Status.Certificates; len(c) != 1 || c[0].SerialNumber != serial {
			return fmt.Errorf("it is %+v", c)
		}
		return nil
	})
}
