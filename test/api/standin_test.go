package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/nginxconf"
	"example.com/nginx-operator/internal/observe"
)

// standIn stands in for a pod where there is no kubelet: its instance answers on a
// loopback address of its own and does what the annotations ask for, at the moment it
// is asked about it. What a configuration's files say is what becomes of it: "bad" is
// refused, "sticky" passes the test and cannot be loaded.
//
// The real thing is tested on a cluster; this one can be killed, with the operator, at
// every single step.
type standIn struct {
	t   *testing.T
	key client.ObjectKey
	app string

	mu        sync.Mutex
	serving   string
	granted   instanceapi.Requested
	revisions map[string]instanceapi.Revision
}

// addresses hands out loopback addresses.
var addresses atomic.Int32

// newStandIn creates a ready pod of an application's template.
func newStandIn(t *testing.T, nginx *v1alpha2.NginxOperator, name string) *standIn {
	t.Helper()
	s, err := startStandIn(t.Context(), t, nginx, name, owned(t, nginx, "Deployment").(*appsv1.Deployment).Spec.Template)
	must(t, err)
	return s
}

// crashes is in the name of an image whose containers end at once.
const crashes = "crash"

// startStandIn creates a pod of a template. It is ready, and has been for a while; if the
// template's image crashes, it is in a crash loop, and does not answer.
func startStandIn(ctx context.Context, t *testing.T, nginx *v1alpha2.NginxOperator, name string, template corev1.PodTemplateSpec) (*standIn, error) {
	s := &standIn{
		t: t, app: nginx.Name, key: client.ObjectKey{Namespace: nginx.Namespace, Name: name},
		revisions: map[string]instanceapi.Revision{},
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: nginx.Namespace, Name: name, Labels: template.Labels, Annotations: template.Annotations,
	}}
	pod.Spec.Containers = []corev1.Container{{Name: naming.NginxContainer, Image: nginxImage(&template)}}
	if err := kube.Create(ctx, pod); err != nil {
		return nil, err
	}
	listener, ip, err := listen()
	if err != nil {
		return nil, err
	}
	pod.Status = standInStatus(ip, nginxImage(&template))
	if strings.Contains(nginxImage(&template), crashes) {
		if err := listener.Close(); err != nil {
			return nil, err
		}
	} else {
		s.serving = s.volume(ctx, naming.ConfigMap(nginx.Name)).revision
		server := &http.Server{Handler: http.HandlerFunc(s.answer)}
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(func() { _ = server.Close() })
	}
	return s, kube.Status().Update(ctx, pod)
}

// listen takes an address of its own for a pod. Another run of these tests on the same
// machine may have some.
func listen() (net.Listener, string, error) {
	for {
		n := addresses.Add(1)
		ip := fmt.Sprintf("127.1.%d.%d", n/250, n%250+1)
		listener, err := net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(instanceapi.Port)))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		return listener, ip, err
	}
}

func nginxImage(template *corev1.PodTemplateSpec) string {
	for _, c := range template.Spec.Containers {
		if c.Name == naming.NginxContainer {
			return c.Image
		}
	}
	return ""
}

// standInStatus is what the kubelet would say.
func standInStatus(ip, image string) corev1.PodStatus {
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Minute))}
	container := corev1.ContainerStatus{
		Name: naming.NginxContainer, Image: image, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}
	if strings.Contains(image, crashes) {
		ready.Status, ready.Message = corev1.ConditionFalse, "containers with unready status: [nginx]"
		container.Ready, container.RestartCount = false, 1
		container.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
		container.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "it crashes"}
	}
	return corev1.PodStatus{
		PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
		Conditions:        []corev1.PodCondition{ready},
		ContainerStatuses: []corev1.ContainerStatus{container},
	}
}

// content is what a mounted ConfigMap holds.
type content struct{ revision, text string }

func (s *standIn) volume(ctx context.Context, name string) content {
	cm := &corev1.ConfigMap{}
	if err := kube.Get(ctx, client.ObjectKey{Namespace: s.key.Namespace, Name: name}, cm); err != nil {
		return content{}
	}
	var text strings.Builder
	for _, file := range cm.Data {
		text.WriteString(file)
	}
	return content{nginxconf.Revision(cm.Data), text.String()}
}

// answer obeys, and tells.
func (s *standIn) answer(w http.ResponseWriter, r *http.Request) {
	pod := &corev1.Pod{}
	if err := kube.Get(r.Context(), s.key, pod); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stable := s.volume(r.Context(), naming.ConfigMap(s.app))
	next := s.volume(r.Context(), naming.ConfigMapNext(s.app))
	asked := observe.Asked(pod)
	if r.URL.Path == instanceapi.PathLoad {
		s.grant(w, r, asked)
		return
	}
	toLoad := asked.Load
	if asked == s.granted {
		toLoad = asked.Test
	} else {
		s.granted = instanceapi.Requested{}
	}
	s.test(asked.Test, next)
	s.load(toLoad, stable, next)
	status := instanceapi.Status{
		Protocol: instanceapi.Protocol, Serving: s.serving, Stable: stable.revision, Next: next.revision, Requested: asked, Granted: s.granted.Test, Ready: true,
	}
	for _, revision := range s.revisions {
		status.Revisions = append(status.Revisions, revision)
	}
	_ = json.NewEncoder(w).Encode(status)
}

// grant takes the word at which it loads what it was asked to test.
func (s *standIn) grant(w http.ResponseWriter, r *http.Request, asked instanceapi.Requested) {
	word, err := io.ReadAll(r.Body)
	if err != nil || !instanceapi.Opens(string(word), asked.Grant) {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	s.granted = asked
	w.WriteHeader(http.StatusAccepted)
}

func (s *standIn) test(revision string, next content) {
	if revision == "" || revision != next.revision || s.revisions[revision].Test != "" {
		return
	}
	result := instanceapi.Revision{Revision: revision, Test: instanceapi.Passed}
	if strings.Contains(next.text, "bad") {
		result.Test = instanceapi.Failed
		result.Problems = []instanceapi.Problem{{File: "site.conf", Line: 1, Message: "it is bad"}}
	}
	s.revisions[revision] = result
}

func (s *standIn) load(revision string, volumes ...content) {
	for _, v := range volumes {
		if revision == "" || v.revision != revision || s.revisions[revision].Load == instanceapi.Failed {
			continue
		}
		if strings.Contains(v.text, "sticky") {
			s.revisions[revision] = instanceapi.Revision{Revision: revision, Test: instanceapi.Passed, Load: instanceapi.Failed,
				Problems: []instanceapi.Problem{{File: "site.conf", Line: 1, Message: "it sticks"}}}
			return
		}
		s.serving = revision
	}
}

func (s *standIn) serves() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.serving
}
