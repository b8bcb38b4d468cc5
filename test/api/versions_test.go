package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/test/internal/part"
	"example.com/nginx-operator/test/nextrelease"
	"example.com/nginx-operator/test/standin/kubelet"
	"example.com/nginx-operator/test/testenv"
)

const (
	nextImage         = "nginx:next"
	nextInstanceImage = "nginx-operator:next"
)

// next holds the programs of the next release, built once.
var next struct {
	once     sync.Once
	programs nextrelease.Programs
	err      error
}

// startNext starts an operator of the next release as a separate process. writes counts its writes.
func startNext(t *testing.T, writes *atomic.Int64, flags ...string) *testOperator {
	t.Helper()
	next.once.Do(func() {
		// The directory of the control plane is removed at the end.
		dir := filepath.Join(filepath.Dir(plane.Kubeconfig), "next")
		if next.err = os.Mkdir(dir, 0o755); next.err == nil {
			next.programs, next.err = nextrelease.Build(context.Background(), dir, 0)
		}
	})
	must(t, next.err)
	ctx, cancel := context.WithCancel(context.Background())
	o := &testOperator{cancel: cancel, ended: make(chan struct{}), writes: writes}
	flags = append([]string{
		"--own-namespace=" + testenv.SystemNamespace, "--leader-elect=false", "--conversion-webhook=false", "--metrics-bind-address=0", "--health-probe-bind-address=0",
		"--default-image=" + nextImage, "--instance-image=" + nextInstanceImage,
	}, flags...)
	command := exec.CommandContext(ctx, next.programs.Operator, flags...)
	command.Env = append(os.Environ(), "KUBECONFIG="+behindProxy(t, o))
	// The process dies with the tests, however they end.
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	log, err := os.Create(filepath.Join(t.TempDir(), "next.log"))
	must(t, err)
	command.Stdout, command.Stderr = log, log
	must(t, command.Start())
	// This cleanup runs before that of the proxy, which waits for its last connection, because it
	// is registered later.
	t.Cleanup(func() {
		if running == o {
			replaceOperator(startOperator)
		}
	})
	go func() {
		defer close(o.ended)
		err := command.Wait()
		if ctx.Err() == nil {
			text, _ := os.ReadFile(log.Name())
			o.err = fmt.Errorf("%w: %s", err, text)
		}
		_ = log.Close()
	}()
	return o
}

// behindProxy writes a kubeconfig that sends all requests through this process, which counts them.
func behindProxy(t *testing.T, o *testOperator) string {
	t.Helper()
	transport, err := rest.TransportFor(countWrites(plane.Config, o))
	must(t, err)
	target, err := url.Parse(plane.Config.Host)
	must(t, err)
	if target.Scheme == "" {
		target = &url.URL{Scheme: "https", Host: plane.Config.Host}
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	config := clientcmdapi.NewConfig()
	config.Clusters["proxy"] = &clientcmdapi.Cluster{Server: server.URL}
	config.Contexts["proxy"] = &clientcmdapi.Context{Cluster: "proxy"}
	config.CurrentContext = "proxy"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, clientcmd.WriteToFile(*config, path))
	return path
}

// replaceOperator stops the running operator and starts another one.
func replaceOperator(start func() *testOperator) {
	running.stop()
	running = start()
}

// restoreAtEnd restores this tree's operator for the tests that follow.
func restoreAtEnd(t *testing.T) {
	t.Cleanup(func() { replaceOperator(startOperator) })
}

// waitTakenOver waits until the running operator reconciles and has nothing to write.
func waitTakenOver(t *testing.T) {
	t.Helper()
	create(t, newNamespace(t), "witness", v1alpha2.NginxOperatorSpec{Replicas: new(int32(0))})
	settled(t)
}

// upgradable returns settled applications in several states.
func upgradable(t *testing.T) []*rolled {
	t.Helper()
	failed := newRolled(t, v1alpha2.NginxOperatorSpec{Replicas: new(int32(1)), Config: inline("first")})
	failed.reset()
	failed.changeSpec(func(s *v1alpha2.NginxOperatorSpec) { s.Image = new(kubelet.Crashes + ":1") })
	failed.waitRolledBack()
	changed := newRolled(t, v1alpha2.NginxOperatorSpec{Replicas: new(int32(3)), Config: inline("first")})
	changed.changeSpec(func(s *v1alpha2.NginxOperatorSpec) { s.Config = inline("second") })
	changed.waitReady()
	all := []*rolled{
		newRolled(t, v1alpha2.NginxOperatorSpec{}),
		newRolled(t, v1alpha2.NginxOperatorSpec{
			Image: new("nginx:mine"), Replicas: new(int32(2)), Drain: &v1alpha2.Drain{DelaySeconds: new(int32(1))},
			Rollout: &v1alpha2.Rollout{Canary: &v1alpha2.Canary{DurationSeconds: new(int32(5))}},
		}),
		changed, failed,
	}
	settled(t)
	return all
}

// everything returns the objects of applications, including their pods and status.
func everything(t *testing.T, apps []*rolled) map[string]client.Object {
	t.Helper()
	all := map[string]client.Object{}
	for _, app := range apps {
		for _, list := range []client.ObjectList{
			&v1alpha2.NginxOperatorList{}, &appsv1.DeploymentList{}, &appsv1.ControllerRevisionList{}, &corev1.ConfigMapList{},
			&corev1.ServiceList{}, &corev1.ServiceAccountList{}, &corev1.PodList{},
		} {
			must(t, kube.List(t.Context(), list, client.InNamespace(app.nginx.Namespace)))
			must(t, meta.EachListItem(list, func(item runtime.Object) error {
				o := item.(client.Object)
				all[fmt.Sprintf("%T %s/%s %s", o, o.GetNamespace(), o.GetName(), o.GetUID())] = o
				return nil
			}))
		}
	}
	return all
}

// instanceImage returns the image and the variables of the container that installs the instance
// manager.
func instanceImage(template *corev1.PodTemplateSpec) (image string, env []corev1.EnvVar) {
	for _, c := range template.Spec.InitContainers {
		if c.Name == naming.InstallContainer {
			return c.Image, c.Env
		}
	}
	return "", nil
}

// isNext reports whether a template is one of the next release.
func isNext(template *corev1.PodTemplateSpec) bool {
	image, env := instanceImage(template)
	return image == nextInstanceImage && slices.Contains(env, corev1.EnvVar{Name: nextrelease.EnvName, Value: nextrelease.Version})
}

// TestUpgradeAndDowngrade: an upgrade to the next release, which builds other pods for the same
// specs, and a downgrade write nothing but a message in the status until the user changes something.
func TestUpgradeAndDowngrade(t *testing.T) {
	apps := upgradable(t)
	restoreAtEnd(t)
	before := everything(t, apps)
	replaceOperator(func() *testOperator { return startNext(t, &atomic.Int64{}) })
	waitTakenOver(t)
	checkUntouched(t, "an upgrade", before, everything(t, apps))

	// The next rollouts that users cause use the next release.
	for i, app := range apps {
		app.changeSpec(func(s *v1alpha2.NginxOperatorSpec) {
			s.ForceRedeploy = new("now")
			if i == len(apps)-1 {
				s.Image = nil
			}
		})
	}
	for _, app := range apps {
		app.waitReady()
		template, err := app.pods()
		must(t, err)
		if !isNext(&template) {
			t.Errorf("%s has not got the template of the next release", app.nginx.Namespace)
		}
		if app.nginx.Spec.Image == nil && kubelet.Image(&template.Spec) != nextImage {
			t.Errorf("%s runs %s, the default is %s", app.nginx.Namespace, kubelet.Image(&template.Spec), nextImage)
		}
	}
	settled(t)
	before = everything(t, apps)
	replaceOperator(startOperator)
	waitTakenOver(t)
	checkUntouched(t, "a downgrade", before, everything(t, apps))
	for _, app := range apps {
		app.changeSpec(func(s *v1alpha2.NginxOperatorSpec) { s.ForceRedeploy = new("again") })
	}
	for _, app := range apps {
		app.waitReady()
		if template, err := app.pods(); err != nil || isNext(&template) {
			t.Errorf("%s has still got the template of the next release (%v)", app.nginx.Namespace, err)
		}
	}
	settled(t)
}

// TestUpgradeAtEachWriteOfARollout: if another release replaces the operator after its k-th write
// of a rollout, for every k, the rollout continues with the template that it began with, and no pod
// is replaced twice. The upgrade to the next release and the downgrade alternate.
func TestUpgradeAtEachWriteOfARollout(t *testing.T) {
	r := newRolled(t, rolledSpec("nginx:0"))
	restoreAtEnd(t)
	startTheNext := func() *testOperator { return startNext(t, &atomic.Int64{}) }
	for k := range part.Selected().Positions() {
		old := r.prepare()
		image := fmt.Sprintf("nginx:%d", k)
		start := startOperator
		if k%2 == 1 {
			start = startTheNext
		}
		replaced := r.replacedAt(k, true, image, r.isReady, start)
		r.waitReady()
		r.checkRolledOut(image, old)
		if !replaced {
			t.Logf("a rollout takes fewer than %d writes", k)
			return
		}
	}
}

func checkUntouched(t *testing.T, what string, before, after map[string]client.Object) {
	t.Helper()
	for name, now := range after {
		was, there := before[name]
		if there && declaresTheSame(was, now) {
			continue
		}
		if !there || was.GetResourceVersion() != now.GetResourceVersion() {
			t.Errorf("%s has changed %s: %s", what, name, cmp.Diff(was, now))
		}
	}
	for name := range before {
		if _, there := after[name]; !there {
			t.Errorf("after %s there is no %s", what, name)
		}
	}
}

// declaresTheSame reports whether two objects are an NginxOperator that differs in the message of UpToDate alone, which names
// the image of another release that new pods need.
func declaresTheSame(was, now client.Object) bool {
	a, isA := was.(*v1alpha2.NginxOperator)
	b, isB := now.(*v1alpha2.NginxOperator)
	if !isA || !isB {
		return false
	}
	a, b = a.DeepCopy(), b.DeepCopy()
	for _, nginx := range []*v1alpha2.NginxOperator{a, b} {
		nginx.ResourceVersion, nginx.ManagedFields = "", nil
		if c := meta.FindStatusCondition(nginx.Status.Conditions, v1alpha2.ConditionUpToDate); c != nil {
			c.Message = ""
		}
	}
	return apiequality.Semantic.DeepEqual(a, b)
}

// TestNewerHistoryIsRead: a history of a later release can be read, although it has fields that
// this release does not know.
func TestNewerHistoryIsRead(t *testing.T) {
	apps := upgradable(t)
	running.stop()
	for _, app := range apps {
		app.addToHistory()
	}
	before := everything(t, apps)
	running = startOperator()
	waitTakenOver(t)
	checkUntouched(t, "a downgrade", before, everything(t, apps))
	// The history is kept when this release writes to it.
	app := apps[0]
	app.changeSpec(func(s *v1alpha2.NginxOperatorSpec) { s.ForceRedeploy = new("now") })
	app.waitReady()
	settled(t)
	for _, revision := range app.revisions() {
		if revision.Revision == 1 && (!strings.Contains(string(revision.Data.Raw), "addedLater") || revision.Annotations["operator.example.com/added-later"] == "") {
			t.Errorf("what a later release added is lost: %+v", revision)
		}
	}
}

func (r *rolled) revisions() []appsv1.ControllerRevision {
	r.t.Helper()
	list := &appsv1.ControllerRevisionList{}
	must(r.t, kube.List(context.WithoutCancel(r.t.Context()), list, client.InNamespace(r.nginx.Namespace)))
	return list.Items
}

// addToHistory recreates the revisions with more fields, because those of an existing revision are
// immutable.
func (r *rolled) addToHistory() {
	r.t.Helper()
	for _, revision := range r.revisions() {
		must(r.t, kube.Delete(r.t.Context(), &revision))
		var data map[string]any
		must(r.t, json.Unmarshal(revision.Data.Raw, &data))
		data["addedLater"] = map[string]any{"deep": "value"}
		raw, err := json.Marshal(data)
		must(r.t, err)
		revision.Data.Raw = raw
		revision.ObjectMeta = metav1.ObjectMeta{
			Namespace: revision.Namespace, Name: revision.Name, Labels: revision.Labels,
			Annotations: revision.Annotations, OwnerReferences: revision.OwnerReferences,
		}
		revision.Annotations["operator.example.com/added-later"] = "value"
		must(r.t, kube.Create(r.t.Context(), &revision))
	}
}

// TestTwoVersionsAtOnce: operators of two releases can reconcile the same applications. After a
// change of leaders that can last for a moment; here it lasts for the whole test.
func TestTwoVersionsAtOnce(t *testing.T) {
	apps := upgradable(t)
	before := everything(t, apps)
	beside := startNext(t, running.writes)
	t.Cleanup(beside.stop)
	waitTakenOver(t)
	checkUntouched(t, "a second operator", before, everything(t, apps))

	// Changes by users are served under both, and both settle.
	app := apps[2]
	app.reset()
	for i := range 5 {
		text := fmt.Sprintf("of both %d", i)
		bounded(t, "a change of the configuration", 60, func() {
			app.changeSpec(func(s *v1alpha2.NginxOperatorSpec) { s.Config = inline(text) })
			app.waitServed(text)
		})
	}
	if n := len(app.seen()); n != 1 {
		t.Errorf("changes of the configuration have given the Deployment %d templates", n)
	}
	for i := range 3 {
		bounded(t, "a rollout of each", 400, func() {
			for _, app := range apps {
				app.reset()
				app.changeSpec(func(s *v1alpha2.NginxOperatorSpec) { s.Image, s.ForceRedeploy = nil, new(fmt.Sprint(i)) })
			}
			for _, app := range apps {
				app.waitReady()
			}
		})
		for _, app := range apps {
			app.waitReady()
			app.checkSettled()
		}
	}
}

// waitServed waits until all pods serve a configuration and new pods will.
func (r *rolled) waitServed(text string) {
	r.t.Helper()
	eventually(r.t, text+" is served by all", func() error {
		must(r.t, get(r.t, r.nginx))
		c := r.nginx.Status.Config
		if c == nil || c.StableRevision != revisionOf(text) || c.LoadedReplicas != *r.nginx.Spec.Replicas {
			return fmt.Errorf("the status has %+v", c)
		}
		return nil
	})
}

// bounded checks that the operators make at most that many writes, and settle.
func bounded(t *testing.T, what string, most int64, do func()) {
	t.Helper()
	before := running.writes.Load()
	do()
	if n := settled(t) - before; n > most {
		t.Errorf("%s took %d writes of both operators, want %d at most", what, n, most)
	} else {
		t.Logf("%s: %d writes of both operators", what, n)
	}
}

// checkSettled checks that a rollout under two operators has ended with one template. Each of them
// may have built its own at first.
func (r *rolled) checkSettled() {
	r.t.Helper()
	template, err := r.pods()
	must(r.t, err)
	if n := len(r.seen()); n > 3 {
		r.t.Errorf("a rollout under two operators has given the Deployment %d templates, the old one included", n)
	}
	last := r.history().LastGood("")
	if last == nil || last.Template != template.Annotations[naming.AnnotationTemplate] {
		r.t.Errorf("the last good revision is %+v", last)
	}
	must(r.t, r.nothingUnderWay())
}
