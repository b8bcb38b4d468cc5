package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/internal/process"
)

const (
	// platformPatience bounds the time until an application is Ready, and until it answers.
	platformPatience = 3 * time.Minute
	platformPoll     = 100 * time.Millisecond
)

// platform is a kind of cluster.
type platform struct {
	name string
	// families are those of the cluster.
	families string
	// prepare is called before the operator is installed. Like check, it may be nil.
	prepare func(context.Context, *platformRun) error
	// install installs the operator.
	install func(*localCluster, context.Context) error
	// admit prepares the namespace of the application; nil: it needs nothing.
	admit func(context.Context, *platformRun) error
	// annotations are those of the namespace.
	annotations map[string]string
}

func platforms() []platform {
	loaded := (*localCluster).install
	return []platform{
		{name: "ipv4", families: "ipv4", install: loaded},
		{name: "dual-stack", families: "dual-stack", install: loaded},
		{name: "dual-stack-ipv6", families: "dual-stack-ipv6", install: loaded},
		{name: "ipv6", families: "ipv6", install: loaded},
		{name: "restricted-v2", families: "ipv4", prepare: prepareRestricted, install: loaded, annotations: restrictedRange},
		{name: "private-registry", families: "ipv4", prepare: prepareRegistry, install: (*localCluster).installFromRegistry, admit: admitToRegistry},
	}
}

// platformRun is the operator and an application on one platform.
type platformRun struct {
	*bench
	cluster  *localCluster
	platform platform

	ready, served time.Duration
	families      []string
	ids, images   []string
	// notes are further observations.
	notes []string
	// failed is nil if the platform works.
	failed error
}

// measurePlatforms installs the operator on one kind of cluster after another, and creates an application with an empty
// spec. It starts and removes the clusters itself.
func measurePlatforms(ctx context.Context, s *session) ([]figure.Figure, error) {
	local := &localCluster{program: setting("CLUSTER", "bin/cluster"), progress: s.progress}
	if err := local.checkStopped(ctx); err != nil {
		return nil, err
	}
	var runs []*platformRun
	for _, p := range platforms() {
		if len(s.cases) > 0 && !slices.Contains(s.cases, p.name) {
			continue
		}
		s.progress("platforms: %s", p.name)
		r := &platformRun{cluster: local, platform: p}
		r.failed = errors.Join(r.run(ctx, s), local.down(ctx))
		if r.failed != nil {
			s.progress("platforms: %s: %v", p.name, r.failed)
		}
		runs = append(runs, r)
		if ctx.Err() != nil {
			break
		}
	}
	return platformFigures(runs)
}

func (r *platformRun) run(ctx context.Context, s *session) error {
	err := r.cluster.up(ctx, r.platform.families)
	if err != nil {
		return err
	}
	if r.bench, err = s.connect(r.cluster.kubeconfig); err != nil {
		return err
	}
	r.patience = platformPatience
	if r.platform.prepare != nil {
		if err := r.platform.prepare(ctx, r); err != nil {
			return err
		}
	}
	if err := r.platform.install(r.cluster, ctx); err != nil {
		return err
	}
	if err := r.leads(ctx); err != nil {
		return err
	}
	r.namespace = "application"
	if err := r.createNamespace(ctx); err != nil {
		return err
	}
	if r.platform.admit != nil {
		if err := r.platform.admit(ctx, r); err != nil {
			return err
		}
	}
	return r.serve(ctx)
}

// leads waits until a pod of the operator leads that stays.
func (r *platformRun) leads(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, platformPatience)
	defer cancel()
	for {
		leader, err := (&cluster{client: r.client}).leader(ctx)
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		pods := &corev1.PodList{}
		if err := r.client.List(ctx, pods, client.InNamespace(process.Account.Namespace)); err != nil {
			return err
		}
		for _, pod := range pods.Items {
			if pod.DeletionTimestamp == nil && strings.HasPrefix(leader, pod.Name+"_") {
				return nil
			}
		}
		if err := pause(ctx, platformPoll); err != nil {
			return fmt.Errorf("no pod of the operator leads: the holder of the lease is %q", leader)
		}
	}
}

func (r *platformRun) createNamespace(ctx context.Context) error {
	return r.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: r.namespace, Annotations: r.platform.annotations, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}})
}

// serve creates an application and waits until it is Ready and answers requests through its Service.
func (r *platformRun) serve(ctx context.Context) error {
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "web"}}
	start := time.Now()
	if err := r.client.Create(ctx, nginx); err != nil {
		return err
	}
	answered := make(chan error, 1)
	go func() {
		err := r.answers(ctx, nginx.DeepCopy())
		r.served = time.Since(start)
		answered <- err
	}()
	err := r.bench.ready(ctx, nginx)
	r.ready = time.Since(start)
	return errors.Join(err, <-answered, r.readIDs(ctx), r.readImages(ctx))
}

// answers waits until the application answers a request to each address of its Service.
func (r *platformRun) answers(ctx context.Context, nginx *v1alpha2.NginxOperator) error {
	ctx, cancel := context.WithTimeout(ctx, platformPatience)
	defer cancel()
	for {
		err := r.request(ctx, nginx)
		if err == nil {
			return nil
		}
		if stopped := pause(ctx, platformPoll); stopped != nil {
			return fmt.Errorf("it has not answered within %s: %w", platformPatience, err)
		}
	}
}

// request sends a request from a node to each address of the Service.
func (r *platformRun) request(ctx context.Context, nginx *v1alpha2.NginxOperator) error {
	service := &corev1.Service{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: naming.Service(nginx.Name)}, service); err != nil {
		return err
	}
	r.families = nil
	for i, address := range service.Spec.ClusterIPs {
		url := "http://" + net.JoinHostPort(address, fmt.Sprint(service.Spec.Ports[0].Port)) + "/"
		body, err := r.cluster.on(ctx, "1", "curl --silent --show-error --fail --max-time 5 '"+url+"'")
		if err != nil {
			return err
		}
		if !strings.Contains(body, "nginx") {
			return fmt.Errorf("%s answers %q", url, body)
		}
		r.families = append(r.families, string(service.Spec.IPFamilies[i]))
	}
	return nil
}

var processIDs = regexp.MustCompile(`(?m)^Uid:\s+(\d+)\s.*\nGid:\s+(\d+)\s`)

// readIDs reads the user and the group of the nginx processes. All processes of the cluster are visible on each node.
func (r *platformRun) readIDs(ctx context.Context) error {
	const read = `for process in /proc/[0-9]*; do grep -qx nginx $process/comm && grep -E '^(Uid|Gid):' $process/status; done; true`
	printed, err := r.cluster.on(ctx, "1", read)
	for _, ids := range processIDs.FindAllStringSubmatch(printed, -1) {
		r.ids = append(r.ids, ids[1]+":"+ids[2])
	}
	slices.Sort(r.ids)
	r.ids = slices.Compact(r.ids)
	if err == nil && len(r.ids) == 0 {
		err = errors.New("there is no nginx process")
	}
	return err
}

// readImages reads from the kubelets' events which images were pulled by any node. The others were loaded into the nodes.
func (r *platformRun) readImages(ctx context.Context) error {
	pulled := map[string]bool{}
	for _, namespace := range []string{process.Account.Namespace, r.namespace} {
		events := &corev1.EventList{}
		if err := r.client.List(ctx, events, client.InNamespace(namespace)); err != nil {
			return err
		}
		for i := range events.Items {
			e := &events.Items[i]
			_, image, _ := strings.Cut(e.Message, `mage "`)
			image, _, _ = strings.Cut(image, `"`)
			if e.Reason != "Pulled" || image == "" {
				continue
			}
			pulled[image] = pulled[image] || strings.HasPrefix(e.Message, "Successfully pulled")
		}
	}
	for _, image := range slices.Sorted(maps.Keys(pulled)) {
		how := "loaded"
		if pulled[image] {
			how = "pulled"
		}
		r.images = append(r.images, image+" ("+how+")")
	}
	return nil
}

// row is the row of the platform in the table.
func (r *platformRun) row() []string {
	failures := "0"
	if r.failed != nil {
		failures, _, _ = strings.Cut(r.failed.Error(), "\n")
	}
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()) }
	return []string{r.platform.name, seconds(r.ready), seconds(r.served), strings.Join(r.families, ", "), strings.Join(r.ids, ", "), strings.Join(r.images, ", "), failures}
}

func platformFigures(runs []*platformRun) ([]figure.Figure, error) {
	rows, failed := [][]string{{"PLATFORM", "READY s", "SERVED s", "FAMILIES", "NGINX RUNS AS", "IMAGES", "FAILURES"}}, 0
	var notes []string
	for _, r := range runs {
		rows = append(rows, r.row())
		notes = append(notes, r.notes...)
		if r.failed != nil {
			failed++
		}
	}
	var table bytes.Buffer
	if err := figure.Columns(&table, rows); err != nil {
		return nil, err
	}
	details := append(strings.Split(strings.TrimSuffix(table.String(), "\n"), "\n"), notes...)
	return []figure.Figure{
		figure.Info("platforms", float64(len(runs)), "platforms"),
		figure.HasGoal("platforms that fail", float64(failed), "platforms", figure.AtMost(0), details...),
	}, nil
}
