package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/load"
	"example.com/nginx-operator/test/load/incluster"
	"example.com/nginx-operator/test/load/site"
)

const (
	trafficReplicas = 3
	trafficRate     = 1200
	trafficRequests = 1_000_000
	// trafficSettle is how long the load continues after the last disturbance of a row, so that
	// even a late effect happens under load.
	trafficSettle = 8 * time.Second
)

// trafficRow is one kind of disturbance.
type trafficRow struct {
	name string
	// times is the number of disturbances on the newest nginx, and fewer the number on older ones;
	// 0: skip the row there.
	times, fewer int
	secure       bool
	disturb      func(ctx context.Context, t *trafficBench, i int) error
	// fill repeats the row until there were this many requests.
	fill int64
}

func trafficRows() []trafficRow {
	return []trafficRow{
		{name: "configuration changes", times: 200, fewer: 50, disturb: changeConfiguration},
		{name: "certificate rotations, TLS", times: 50, fewer: 10, secure: true, disturb: rotateCertificate},
		{name: "rolling restarts", times: 20, fewer: 3, disturb: restartPods},
		{name: "scaling 2 ↔ 6", times: 10, fewer: 2, disturb: scalePods},
		{name: "pod deletions", times: 20, fewer: 3, disturb: deletePod},
		{name: "drains of a node", times: 4, disturb: drainNode},
		{name: "operator killed", times: 5, disturb: killOperator},
		{name: "operator upgraded", times: 3, disturb: upgradeOperator},
	}
}

// trafficRest returns the row that continues on the newest nginx until there were enough requests.
func trafficRest(requests int64) trafficRow {
	return trafficRow{name: "or more configuration changes, restarts and deletions, alternately", times: 1, fill: trafficRequests - requests, disturb: anything}
}

// trafficBench is the application that is disturbed, with its load.
type trafficBench struct {
	*bench
	nginx     *v1alpha2.NginxOperator
	site      site.Site
	authority *load.Authority
	running   *incluster.Load
	// rate is the rate of the load, in requests a second; 0: trafficRate.
	rate float64
	// backendOnly omits the clients whose requests nginx answers itself.
	backendOnly bool
	// revisions counts the configurations of this application.
	revisions int
	// trace is the memory of a pod over time.
	trace []string
}

// measureTraffic disturbs an application in many ways, and counts the failed requests.
func measureTraffic(ctx context.Context, s *session) ([]figure.Figure, error) {
	b, err := s.bench(ctx)
	if err != nil {
		return nil, err
	}
	backend, err := incluster.StartEcho(ctx, b.kube, b.namespace, "echo", b.loadImage)
	if err != nil {
		return nil, err
	}
	var figures []figure.Figure
	var errs []error
	for i, image := range slices.Backward(b.images) {
		found, err := b.disturb(ctx, fmt.Sprintf("web-%d", i), image, backend)
		figures = append(figures, found...)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", image, err))
		}
	}
	return figures, errors.Join(errs...)
}

// disturb runs all rows on one image of nginx.
func (b *bench) disturb(ctx context.Context, name, image, backend string) ([]figure.Figure, error) {
	t, err := b.trafficBench(ctx, name, image, backend)
	if err != nil {
		return nil, err
	}
	newest := image == b.newest()
	var figures []figure.Figure
	var requests, failed int64
	var errs []error
	rows := trafficRows()
	for i := 0; i < len(rows); i++ {
		row := rows[i]
		if !newest {
			row.times = row.fewer
		}
		if row.times == 0 {
			continue
		}
		report, err := t.row(ctx, fmt.Sprintf("%s-load-%d", name, i), row)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", row.name, err))
		}
		b.progress("traffic: %s: %s", row.name, report)
		requests, failed = requests+report.Requests, failed+report.Failed
		figures = append(figures, t.figure(row, report, newest))
		if i == len(trafficRows())-1 && newest && requests < trafficRequests {
			rows = append(rows, trafficRest(requests))
		}
	}
	figures = append(figures, t.sum("requests", requests, newest, figure.AtLeast(trafficRequests)),
		t.sum("failed", failed, newest, figure.AtMost(0)))
	return figures, errors.Join(append(errs, b.client.Delete(ctx, t.nginx))...)
}

func (t *trafficBench) version() string {
	if v := t.nginx.Status.NginxVersion; v != "" {
		return "nginx " + v
	}
	return *t.nginx.Spec.Image
}

// figure returns the figure of a row. nginx before 1.27.4 closes idle connections on a reload, at
// which simple clients lose requests. For older versions, the figure has no goal.
func (t *trafficBench) figure(row trafficRow, r load.Report, newest bool) figure.Figure {
	name := fmt.Sprintf("%s: failed of %d requests: %d %s", t.version(), r.Requests, row.times, row.name)
	details := tallies(r)
	if row.secure {
		details = append(details, fmt.Sprintf("%d certificates were served", len(load.Names(r.Serials))))
	}
	if !newest {
		return figure.Info(name, float64(r.Failed), "requests", details...)
	}
	return figure.HasGoal(name, float64(r.Failed), "requests", figure.AtMost(0), details...)
}

// tallies explains the failures, with the clients that had them.
func tallies(r load.Report) []string {
	details := r.Explain()
	for _, tally := range r.ByClients {
		if tally.Failed > 0 {
			details = append(details, fmt.Sprintf("%s: %d of %d failed", tally.Clients, tally.Failed, tally.Requests))
		}
	}
	return details
}

func (t *trafficBench) sum(what string, n int64, newest bool, goal figure.Goal) figure.Figure {
	name := t.version() + ": " + what + " in all"
	if !newest {
		return figure.Info(name, float64(n), "requests")
	}
	return figure.HasGoal(name, float64(n), "requests", goal)
}

func (b *bench) trafficBench(ctx context.Context, name, image, backend string) (*trafficBench, error) {
	authority, err := load.NewAuthority()
	if err != nil {
		return nil, err
	}
	t := &trafficBench{bench: b, site: site.Site{Backend: backend, TLS: true}, authority: authority}
	pair, err := authority.Issue(site.Host, 90*24*time.Hour)
	if err != nil {
		return nil, err
	}
	if err := b.client.Create(ctx, secret(b.namespace, name+"-tls", pair)); err != nil {
		return nil, err
	}
	declared := spec(trafficReplicas, image, t.site.Files(t.revision()))
	declared.Ports = append(declared.Ports, v1alpha2.Port{Name: "https", Port: site.SecurePort})
	declared.TLS = []v1alpha2.Certificate{{Name: site.Certificate, SecretName: name + "-tls"}}
	t.nginx, err = b.create(ctx, name, declared)
	return t, err
}

func secret(namespace, name string, pair load.Pair) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Type:       corev1.SecretTypeTLS,
		StringData: map[string]string{corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key},
	}
}

func (t *trafficBench) revision() string { return fmt.Sprintf("r%d", t.revisions) }

// row disturbs the application several times under load.
func (t *trafficBench) row(ctx context.Context, name string, row trafficRow) (load.Report, error) {
	port := site.Port
	if row.secure {
		port = site.SecurePort
	}
	address, err := t.address(ctx, t.nginx, port)
	if err != nil {
		return load.Report{}, err
	}
	options := t.options(row, address)
	if t.running, err = t.load(ctx, strings.ToLower(name), options); err != nil {
		return load.Report{}, err
	}
	var disturbed error
	for i := 0; disturbed == nil && (i < row.times || t.wants(ctx, row.fill)); i++ {
		disturbed = row.disturb(ctx, t, i)
	}
	disturbed = errors.Join(disturbed, t.ready(ctx, t.nginx), pause(ctx, trafficSettle))
	report, err := t.running.Stop(ctx)
	return report, errors.Join(disturbed, err)
}

// wants reports whether there were fewer requests than a row needs.
func (t *trafficBench) wants(ctx context.Context, requests int64) bool {
	if requests == 0 {
		return false
	}
	report, err := t.running.Report(ctx)
	return err == nil && report.Requests < requests
}

// options returns the load of a row. Versions of nginx that close idle connections on a reload also
// get clients that first check whether a connection was closed.
func (t *trafficBench) options(row trafficRow, address string) load.Options {
	rate := t.rate
	if rate == 0 {
		rate = trafficRate
	}
	options := t.site.Options(rate, address)
	options.Revisions = []string{t.revision()}
	if t.backendOnly {
		options.Clients = slices.DeleteFunc(options.Clients, func(c load.Clients) bool { return c.Path == "" })
	}
	if row.secure {
		options = site.Secure(options, t.authority.PEM())
	}
	if *t.nginx.Spec.Image != t.newest() {
		for _, kind := range options.Clients {
			if kind.KeepAlive && kind.Name != "" {
				kind.Name, kind.NoticeClose = kind.Name+", checking the connection first", true
				options.Clients = append(options.Clients, kind)
			}
		}
		options.Clients = append(options.Clients, load.Clients{
			Name: "GET, keepalive, checking the connection first", Count: 4, KeepAlive: true, NoticeClose: true, Expect: options.Clients[0].Expect,
		})
	}
	return options
}
