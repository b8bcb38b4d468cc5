package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/internal/process"
	"example.com/nginx-operator/test/load/site"
)

const (
	// boundaryEdits is the number of edits of the neighbor in each phase.
	boundaryEdits = 5
	// boundaryPods is the number of pods that lie, and boundaryFiles that of large ConfigMaps.
	boundaryPods, boundaryFiles = 8, 60
	// boundaryMemory is the goal for the memory of a replica, in MiB: half of its limit.
	boundaryMemory = 256
	// boundarySlower is the goal for an edit of the neighbor, as a multiple of one at rest.
	boundarySlower = 2
	// boundarySettle is how long an attack runs before the neighbor is edited.
	boundarySettle = 5 * time.Second
)

// boundaryAttack is an attempt to stop the operator from a pod or from a namespace.
type boundaryAttack struct {
	name string
	// begin starts the attack and returns what ends it.
	begin func(context.Context, *boundaries) (end func(context.Context) error, err error)
}

func boundaryAttacks() []boundaryAttack {
	const review = `printf '{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"a","desiredAPIVersion":"operator.example.com/v1alpha2","objects":[%s' '`
	text := func(mebibytes int) string {
		return review + `{"x":"'; head -c ` + strconv.Itoa(mebibytes) + `M /dev/zero | tr '\0' A; printf '"}]}}'`
	}
	// Within the limits, 300 KB of containers take 60 MB once they are decoded.
	containers := `printf '{"request":{"uid":"a","desiredAPIVersion":"operator.example.com/v1alpha1","objects":[` +
		`{"apiVersion":"operator.example.com/v1alpha2","kind":"NginxOperator","spec":{"podTemplate":{"containers":[{}'; ` +
		`yes ',{}' | head -n 99000 | tr -d '\n'; printf ']}}}]}}'`
	items := review + `{}'; yes ',{}' | head -n 2000000 | tr -d '\n'; printf ']}}'`
	return []boundaryAttack{
		{"reviews of 120 MiB to the conversion webhook", onNode(1, text(120), "convert")},
		{"50 reviews of 60 MiB at a time", onNode(50, text(60), "convert")},
		{"reviews of 2,000,000 empty objects", onNode(4, items, "convert")},
		{"30 reviews of 99,000 empty containers at a time", onNode(30, containers, "convert")},
		{"reviews that never end", onNode(100, `printf '{"kind":'; sleep 60`, "convert")},
		{"pods that answer with 345,000 empty certificates", liars("certificates", 345_000)},
		{"pods that answer with 345,000 empty revisions", liars("revisions", 345_000)},
		{"a StatefulSet with the name of an application", impostors},
		{"60 ConfigMaps of 1 MB with the operator's label", largeConfigMaps},
	}
}

// boundaries is a run of the attacks.
type boundaries struct {
	*bench
	// attacker is the namespace of the attacks.
	attacker *bench
	cluster  *localCluster
	neighbor *v1alpha2.NginxOperator
	edits    int
}

// measureBoundaries attacks the operator from pods and from a namespace, and edits a neighbor meanwhile.
func measureBoundaries(ctx context.Context, s *session) ([]figure.Figure, error) {
	own, err := s.bench(ctx)
	if err != nil {
		return nil, err
	}
	b := &boundaries{bench: own, cluster: &localCluster{program: setting("CLUSTER", "bin/cluster")}}
	if b.neighbor, err = b.create(ctx, "web", spec(rollbackReplicas, b.newest(), site.Site{}.Files("0"))); err != nil {
		return nil, err
	}
	address, err := b.address(ctx, b.neighbor, site.Port)
	if err != nil {
		return nil, err
	}
	running, err := b.load(ctx, "load", site.Site{}.Options(rollbackRate, address))
	if err != nil {
		return nil, err
	}
	var figures []figure.Figure
	for _, a := range boundaryAttacks() {
		if b.attacker, err = s.bench(ctx); err != nil {
			return figures, err
		}
		found, err := b.measure(ctx, a)
		figures = append(figures, found...)
		if err != nil {
			return figures, fmt.Errorf("%s: %w", a.name, err)
		}
	}
	report, err := running.Stop(ctx)
	return append(figures, figure.HasGoal("requests to the neighbor that failed meanwhile", float64(report.Failed), "requests", figure.AtMost(0),
		append([]string{fmt.Sprintf("of %d", report.Requests)}, report.Explain()...)...)), err
}

// measure makes an attack, and edits the neighbor before, meanwhile and afterwards.
func (b *boundaries) measure(ctx context.Context, a boundaryAttack) ([]figure.Figure, error) {
	before, err := b.editNeighbor(ctx)
	if err != nil {
		return nil, err
	}
	restarts, err := b.operatorRestarts(ctx)
	if err != nil {
		return nil, err
	}
	at, err := operatorPeak(true)
	if err != nil {
		return nil, err
	}
	end, err := a.begin(ctx, b)
	if err != nil {
		return nil, err
	}
	if err := pause(ctx, boundarySettle); err != nil {
		return nil, errors.Join(err, end(context.WithoutCancel(ctx)))
	}
	during, err := b.editNeighbor(ctx)
	if err = errors.Join(err, end(context.WithoutCancel(ctx))); err != nil {
		return nil, err
	}
	peak, err := operatorPeak(false)
	if err != nil {
		return nil, err
	}
	after, err := b.editNeighbor(ctx)
	if err != nil {
		return nil, err
	}
	restarted, err := b.operatorRestarts(ctx)
	b.progress("boundaries: %s: %.0f → %.0f MiB, an edit %.2f, %.2f, %.2f s", a.name, figure.MiB(at), figure.MiB(peak), before, during, after)
	return []figure.Figure{
		figure.Info(a.name+": memory of the larger replica before", figure.MiB(at), "MiB"),
		figure.HasGoal(a.name+": most memory of a replica", figure.MiB(peak), "MiB", figure.AtMost(boundaryMemory)),
		figure.HasGoal(a.name+": restarts of the operator", float64(restarted-restarts), "restarts", figure.AtMost(0)),
		figure.Info(a.name+": an edit of the neighbor before, median", before, "s"),
		figure.HasGoal(a.name+": an edit of the neighbor meanwhile, median, of that before", during/before, "×", figure.AtMost(boundarySlower), fmt.Sprintf("%.2f s", during)),
		figure.Info(a.name+": an edit of the neighbor afterwards, median", after, "s"),
	}, err
}

// editNeighbor returns the median time in which an edit of the neighbor goes live, in seconds.
func (b *boundaries) editNeighbor(ctx context.Context) (float64, error) {
	var took []float64
	for range boundaryEdits {
		b.edits++
		seconds, err := b.goLive(ctx, b.neighbor, site.Site{}.Files(strconv.Itoa(b.edits)))
		if err != nil {
			return 0, err
		}
		took = append(took, seconds)
	}
	return median(took), nil
}

// operatorRestarts returns how often the containers of the operator were restarted.
func (b *boundaries) operatorRestarts(ctx context.Context) (restarts int, err error) {
	pods := &corev1.PodList{}
	err = b.client.List(ctx, pods, client.InNamespace(process.Account.Namespace))
	for i := range pods.Items {
		for _, status := range pods.Items[i].Status.ContainerStatuses {
			restarts += int(status.RestartCount)
		}
	}
	return restarts, err
}

// operatorPeak returns the most memory that one of the operator's processes on this machine has had since the last reset, in
// bytes.
func operatorPeak(reset bool) (peak int64, err error) {
	names, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		return 0, err
	}
	for _, exe := range names {
		program, err := os.Readlink(exe)
		if err != nil || filepath.Base(program) != operatorName {
			continue // It has ended, or is a thread of the kernel.
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(exe)))
		if err != nil {
			return 0, err
		}
		memory, err := process.MemoryOf(pid)
		if err != nil {
			return 0, err
		}
		if reset {
			// https://man7.org/linux/man-pages/man5/proc_pid_clear_refs.5.html
			if err := os.WriteFile(filepath.Join(filepath.Dir(exe), "clear_refs"), []byte("5"), 0o200); err != nil {
				return 0, err
			}
			memory.Peak = memory.Resident
		}
		peak = max(peak, memory.Peak)
	}
	if peak == 0 {
		return 0, errors.New("no process of the operator runs on this machine: the measurement needs the local cluster")
	}
	return peak, nil
}

// onNode sends what a shell command prints to a path of the conversion webhook, with a number of clients on a node at a time,
// again and again.
func onNode(clients int, body, path string) func(context.Context, *boundaries) (func(context.Context) error, error) {
	return func(ctx context.Context, b *boundaries) (func(context.Context) error, error) {
		service := &corev1.Service{}
		if err := b.client.Get(ctx, client.ObjectKey{Namespace: process.Account.Namespace, Name: operatorName + "-webhook"}, service); err != nil {
			return nil, err
		}
		send := fmt.Sprintf("(%s) 2>/dev/null | curl --silent --insecure --output /dev/null --max-time 30 --header 'Content-Type: application/json' --upload-file - --request POST https://%s/%s",
			body, service.Spec.ClusterIP, path)
		// curl reports a refused request by its exit status, which is what the attack expects. Killing the shell would leave its
		// children running, so they look whether a file is left.
		file := "/tmp/" + b.attacker.namespace
		command := fmt.Sprintf("touch %[1]s; for i in $(seq %[2]d); do (while [ -e %[1]s ]; do %[3]s || sleep 0.1; done) & done; wait", file, clients, send)
		ended := make(chan error, 1)
		go func() {
			_, err := b.cluster.on(context.WithoutCancel(ctx), "1", command)
			ended <- err
		}()
		return func(ctx context.Context) error {
			_, err := b.cluster.on(ctx, "1", "rm "+file)
			return errors.Join(err, <-ended)
		}, nil
	}
}

// lie is the configuration of an nginx that answers like an instance manager, with a file.
const lie = `pid /tmp/pid; daemon off; events {}
http {
    client_body_temp_path /tmp/a; proxy_temp_path /tmp/b; fastcgi_temp_path /tmp/c; uwsgi_temp_path /tmp/d; scgi_temp_path /tmp/e;
    access_log off;
    server {
        listen 9113;
        location = ` + instanceapi.PathStatus + ` { default_type application/json; root /data; try_files /status.json =404; }
        location / { return 200 ok; }
    }
}`

// liars creates an application, and pods with its labels that answer with a list of empty objects.
func liars(field string, n int) func(context.Context, *boundaries) (func(context.Context) error, error) {
	return func(ctx context.Context, b *boundaries) (func(context.Context) error, error) {
		return b.attackers(ctx, field, n, "liar")
	}
}

// impostors creates a StatefulSet with the name of an application that runs, and pods with its labels.
func impostors(ctx context.Context, b *boundaries) (func(context.Context) error, error) {
	if _, err := b.attacker.create(ctx, "victim", spec(1, b.newest(), site.Site{}.Files("0"))); err != nil {
		return nil, err
	}
	return b.attackers(ctx, "certificates", 345_000, "victim")
}

// attackers creates a StatefulSet of pods with the labels of an application, which lie.
func (b *boundaries) attackers(ctx context.Context, field string, n int, name string) (func(context.Context) error, error) {
	none := func(context.Context) error { return nil }
	answer := fmt.Sprintf(`{"protocol":1,"version":"0.4.0","serving":"r1","ready":true,%q:[%s{}]}`, field, strings.Repeat("{},", n-1))
	data := map[string]string{"nginx.conf": lie, "status.json": answer}
	meta := metav1.ObjectMeta{Namespace: b.attacker.namespace, Name: name}
	if err := b.client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: meta.Namespace, Name: "lie"}, Data: data}); err != nil {
		return none, err
	}
	if name == "liar" {
		suspended := spec(0, b.newest(), site.Site{}.Files("0"))
		if err := b.client.Create(ctx, &v1alpha2.NginxOperator{ObjectMeta: meta, Spec: suspended}); err != nil {
			return none, err
		}
	}
	labels := naming.SelectorLabels(name)
	labels["liar"] = "yes"
	set := &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{
		Replicas: new(int32(boundaryPods)), PodManagementPolicy: appsv1.ParallelPodManagement, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"liar": "yes"}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(1)),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsUser: new(int64(101)), RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "nginx", Image: b.newest(), Command: []string{"nginx", "-c", "/data/nginx.conf", "-e", "stderr"},
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
				VolumeMounts:    []corev1.VolumeMount{{Name: "lie", MountPath: "/data"}},
				ReadinessProbe:  &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(instanceapi.Port)}}},
			}},
			Volumes: []corev1.Volume{{Name: "lie", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "lie"}}}}},
		}},
	}}
	if err := b.client.Create(ctx, set); err != nil {
		return none, err
	}
	err := await(ctx, b.attacker, set, &appsv1.StatefulSetList{}, func() error {
		if set.Status.ReadyReplicas < boundaryPods {
			return fmt.Errorf("%d pods that lie are ready", set.Status.ReadyReplicas)
		}
		return nil
	})
	return func(ctx context.Context) error { return b.client.Delete(ctx, set) }, err
}

// largeConfigMaps creates ConfigMaps that have the label of an application's.
func largeConfigMaps(ctx context.Context, b *boundaries) (func(context.Context) error, error) {
	text := strings.Repeat("x", 1_000_000)
	var errs []error
	for i := range boundaryFiles {
		errs = append(errs, b.client.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: b.attacker.namespace, Name: fmt.Sprintf("large-%d", i), Labels: naming.Labels("large")}, Data: map[string]string{"x": text},
		}))
	}
	return func(ctx context.Context) error {
		return b.client.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(b.attacker.namespace), client.MatchingLabels(naming.Labels("large")))
	}, errors.Join(errs...)
}
