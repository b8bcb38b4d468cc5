// Package incluster runs test/load in a pod, because pods and Services may not be reachable from
// where the API server is. It controls the pod through the API server's proxy, so it works on any
// cluster.
package incluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"example.com/nginx-operator/test/load"
)

const (
	controlPort = 8080
	poll        = 200 * time.Millisecond
	// attempts bounds the attempts of control requests, which are safe to repeat.
	attempts = 5
)

// Load is a run in a pod.
type Load struct {
	kube      kubernetes.Interface
	namespace string
	name      string
}

// Start starts a run in a new pod and waits until it has sent requests.
func Start(ctx context.Context, kube kubernetes.Interface, namespace, name, image string, options load.Options) (*Load, error) {
	text, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	if err := create(ctx, kube, pod(namespace, name, image, "run", string(text))); err != nil {
		return nil, err
	}
	l := &Load{kube: kube, namespace: namespace, name: name}
	for {
		report, err := l.Report(ctx)
		if err != nil {
			return nil, err
		}
		if report.Requests > 0 {
			return l, nil
		}
		if err := pause(ctx); err != nil {
			return nil, err
		}
	}
}

// RunToEnd runs a load in a new pod until it ends by itself, and returns its report. node selects the nodes that the pod
// may run on; nil: any.
func RunToEnd(ctx context.Context, kube kubernetes.Interface, namespace, name, image string, node map[string]string, options load.Options) (load.Report, error) {
	text, err := json.Marshal(options)
	if err != nil {
		return load.Report{}, err
	}
	pods, run := kube.CoreV1().Pods(namespace), pod(namespace, name, image, "run", string(text))
	run.Spec.NodeSelector = node
	if _, err := pods.Create(ctx, run, metav1.CreateOptions{}); err != nil {
		return load.Report{}, err
	}
	l := &Load{kube: kube, namespace: namespace, name: name}
	for {
		current, err := pods.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return load.Report{}, err
		}
		if current.Status.Phase == corev1.PodFailed || current.Status.Phase == corev1.PodSucceeded {
			return l.logged(ctx)
		}
		if err := pause(ctx); err != nil {
			return load.Report{}, fmt.Errorf("the load %s has not ended: %w", name, err)
		}
	}
}

// StartEcho starts a backend that describes the requests that it gets. It returns the address of a
// Service with the given name.
func StartEcho(ctx context.Context, kube kubernetes.Interface, namespace, name, image string) (string, error) {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{label: name},
			Ports:    []corev1.ServicePort{{Port: controlPort}},
		},
	}
	created, err := kube.CoreV1().Services(namespace).Create(ctx, service, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	if err := create(ctx, kube, pod(namespace, name, image, "echo")); err != nil {
		return "", err
	}
	return net.JoinHostPort(created.Spec.ClusterIP, strconv.Itoa(controlPort)), nil
}

// File is a pod that mounts a ConfigMap and serves one of its files.
type File struct{ load *Load }

// StartFile starts a pod that mounts a ConfigMap and serves one of its keys.
func StartFile(ctx context.Context, kube kubernetes.Interface, namespace, name, image, configMap, key string) (File, error) {
	const folder = "/mounted"
	reader := pod(namespace, name, image, "file", folder+"/"+key)
	reader.Spec.Volumes = []corev1.Volume{{Name: "mounted", VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}},
	}}}
	reader.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "mounted", MountPath: folder, ReadOnly: true}}
	return File{&Load{kube: kube, namespace: namespace, name: name}}, create(ctx, kube, reader)
}

// Read returns the current content of the file.
func (f File) Read(ctx context.Context) (string, error) {
	text, err := f.load.steer(ctx, "GET", "/")
	return string(text), err
}

// create creates a pod and waits until it is ready.
func create(ctx context.Context, kube kubernetes.Interface, pod *corev1.Pod) error {
	pods := kube.CoreV1().Pods(pod.Namespace)
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return err
	}
	for {
		current, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if current.Status.Phase == corev1.PodFailed || current.Status.Phase == corev1.PodSucceeded {
			text, err := pods.GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
			return fmt.Errorf("pod %s ended (%s): %w", pod.Name, current.Status.Phase, errors.Join(errors.New(string(text)), err))
		}
		for _, c := range current.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				return nil
			}
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("pod %s is not ready: %w", pod.Name, err)
		}
	}
}

const label = "example.com/load"

// pod returns a pod that conforms to the restricted Pod Security Standard.
func pod(namespace, name, image string, args ...string) *corev1.Pod {
	yes, no, user := true, false, int64(65532)
	probe := &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(controlPort)}},
		PeriodSeconds: 1,
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{label: name}},
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			AutomountServiceAccountToken:  &no,
			TerminationGracePeriodSeconds: new(int64(5)),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: &yes, RunAsUser: &user, RunAsGroup: &user,
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "load", Image: image, Args: args, ImagePullPolicy: corev1.PullIfNotPresent,
				ReadinessProbe: probe,
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}

// Submit allows responses with a revision from now on.
func (l *Load) Submit(ctx context.Context, revision string) error {
	_, err := l.steer(ctx, "POST", "v1/submit", "revision", revision)
	return err
}

// Report returns the report so far.
func (l *Load) Report(ctx context.Context) (load.Report, error) {
	return read(l.steer(ctx, "GET", "v1/report"))
}

// Stop ends the run and returns its report. The pod remains, with the report in its log.
func (l *Load) Stop(ctx context.Context) (load.Report, error) {
	report, err := read(l.steer(ctx, "POST", "v1/stop"))
	if err == nil {
		return report, nil
	}
	// The pod ends after its response. If that was lost, the log has the report.
	report, logged := l.logged(ctx)
	if logged != nil {
		return report, errors.Join(err, logged)
	}
	return report, nil
}

// logged returns the report in the log of a pod that has ended.
func (l *Load) logged(ctx context.Context) (load.Report, error) {
	log, err := l.kube.CoreV1().Pods(l.namespace).GetLogs(l.name, &corev1.PodLogOptions{}).DoRaw(ctx)
	if err != nil {
		return load.Report{}, err
	}
	for line := range strings.Lines(string(log)) {
		if strings.HasPrefix(line, `{"started"`) {
			return read([]byte(line), nil)
		}
	}
	return load.Report{}, fmt.Errorf("the log of pod %s has no report: %s", l.name, log)
}

func read(text []byte, err error) (load.Report, error) {
	var report load.Report
	if err != nil {
		return report, err
	}
	return report, json.Unmarshal(text, &report)
}

// steer sends a request to the pod, and retries it several times.
func (l *Load) steer(ctx context.Context, verb, path string, params ...string) ([]byte, error) {
	var failed error
	for range attempts {
		request := l.kube.CoreV1().RESTClient().Verb(verb).Namespace(l.namespace).Resource("pods").
			Name(l.name + ":" + strconv.Itoa(controlPort)).SubResource("proxy").Suffix(path)
		for i := 0; i+1 < len(params); i += 2 {
			request = request.Param(params[i], params[i+1])
		}
		text, err := request.DoRaw(ctx)
		if err == nil {
			return text, nil
		}
		failed = err
		if err := pause(ctx); err != nil {
			return nil, errors.Join(failed, err)
		}
	}
	return nil, fmt.Errorf("%s %s of pod %s: %w", verb, path, l.name, failed)
}

func pause(ctx context.Context) error {
	select {
	case <-time.After(poll):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
