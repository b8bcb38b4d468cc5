package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/cache/cacheconf"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/load"
	"example.com/nginx-operator/test/load/incluster"
)

const (
	// objectCount is the number of objects that are requested, by a Zipf law with objectExponent.
	objectCount, objectExponent = 100_000, 1
	// objectBytes is about the length of each.
	objectBytes = 2000
	// objectRate is the rate of requests in requests a second: less than two cores can answer.
	objectRate = 400
	// objectHotSize is enough for the 8,000 objects that get four of five requests.
	objectHotSize = "32Mi"
	objectStorage = "512Mi"
	objectHost    = "objects.test"
	// objectBaseline is how long the load runs before something happens, and objectSettle afterwards.
	objectBaseline, objectSettle = 20 * time.Second, 12 * time.Second
)

// objectPadding is a part of each object, shorter than nginx's longest parameter (4,096 bytes).
var objectPadding = strings.Repeat("0123456789", objectBytes/10)

// objectOrigin answers each path with a body that contains it.
func objectOrigin() string {
	return fmt.Sprintf("server {\n    listen %d;\n    add_header Cache-Control max-age=86400;\n    location / {\n        return 200 \"$request_uri %s $request_uri\\n\";\n    }\n}\n",
		originPort, objectPadding)
}

// objectClients returns clients that check the objects in a folder.
func objectClients(folder string, kinds ...load.Clients) []load.Clients {
	for i := range kinds {
		path := "/" + folder + "/{object}"
		kinds[i].Path, kinds[i].Expect = path, path+" "+objectPadding+" "+path+"\n"
	}
	return kinds
}

// objectBench is a cache whose objects are requested by a Zipf law.
type objectBench struct {
	*cacheBench
	objects load.Objects
	loads   int
	// node selects the nodes that loads run on; nil: any.
	node map[string]string
}

// objectBench creates a cache and has it store all objects.
func (s *session) objectBench(ctx context.Context, shards int32) (*objectBench, load.Report, error) {
	b, err := s.bench(ctx)
	if err != nil {
		return nil, load.Report{}, err
	}
	c, err := b.cacheBench(ctx, cacheShape{
		edges: cacheEdges, shards: shards, storage: objectStorage, hotSize: objectHotSize, origin: originSpec(2, objectOrigin()),
	})
	if err != nil {
		return nil, load.Report{}, err
	}
	o := &objectBench{cacheBench: c, objects: load.Objects{Count: s.count(objectCount), Exponent: objectExponent, Seed: 1}}
	address, err := o.serviceAddress(ctx, v1alpha1.EdgeName(c.cache.Name), cacheconf.Port)
	if err != nil {
		return nil, load.Report{}, err
	}
	report, err := o.fetch(ctx, "objects", o.objects.Count, address)
	return o, report, err
}

// serviceAddress returns the address of a Service.
func (b *bench) serviceAddress(ctx context.Context, name string, port int) (string, error) {
	service := &corev1.Service{}
	err := b.client.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: name}, service)
	return net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(port)), err
}

// fetch requests each of n objects in a folder once from every target. The report says which shards they came from.
func (o *objectBench) fetch(ctx context.Context, folder string, n int, targets ...string) (load.Report, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.patience, fmt.Errorf("not all of %d objects are fetched within %s", n, o.patience))
	defer cancel()
	o.loads++
	began := time.Now()
	report, err := incluster.RunToEnd(ctx, o.kube, o.namespace, fmt.Sprintf("fetch-%d", o.loads), o.loadImage, o.node, load.Options{
		Targets: targets, Host: objectHost, Timeline: true,
		Objects: &load.Objects{Count: n, Once: true, Owners: true},
		Clients: objectClients(folder, load.Clients{Count: 32, KeepAlive: true}),
	})
	o.progress("%d objects fetched in %.0f s: %s", n, time.Since(began).Seconds(), report)
	if err == nil && report.Failed > 0 {
		err = errors.New("objects could not be fetched: " + report.String())
	}
	return report, err
}

// step is something that happens under load.
type step struct {
	what string
	do   func(context.Context) error
}

// objectRow is what came of steps under load.
type objectRow struct {
	history
	report load.Report
	// requested is how many requests the origin counted, including those that no client waited for.
	requested float64
}

// underLoad takes steps under load on a target.
func (o *objectBench) underLoad(ctx context.Context, target string, steps ...step) (*objectRow, error) {
	before, err := o.originRequests(ctx)
	if err != nil {
		return nil, err
	}
	o.loads++
	running, err := o.load(ctx, fmt.Sprintf("load-%d", o.loads), load.Options{
		Targets: []string{target}, Host: objectHost, Rate: objectRate, Timeline: true, Objects: &o.objects,
		Clients: objectClients("objects", load.Clients{Count: 40, KeepAlive: true}, load.Clients{Count: 40}),
	})
	if err != nil {
		return nil, err
	}
	row := &objectRow{}
	failed := pause(ctx, objectBaseline)
	for _, s := range steps {
		if failed != nil {
			break
		}
		o.progress("%s", s.what)
		row.events = append(row.events, event{time.Now(), s.what})
		failed = s.do(ctx)
		row.events = append(row.events, event{time.Now(), "… done"})
		failed = errors.Join(failed, pause(ctx, objectSettle))
	}
	row.report, err = running.Stop(ctx)
	if err := errors.Join(failed, err, pause(ctx, logFlushed)); err != nil {
		return nil, err
	}
	row.started, row.seconds = row.report.Started, row.report.Timeline
	after, err := o.originRequests(ctx)
	row.requested = after - before
	return row, err
}

// originRequests returns how many requests the pods of the origin have counted.
func (o *objectBench) originRequests(ctx context.Context) (float64, error) {
	pods, err := o.pods(ctx, o.origin)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for i := range pods {
		text, err := o.instance(ctx, &pods[i], instanceapi.PathMetrics)
		if err != nil {
			return 0, err
		}
		// There is no series before the first request.
		n, _, err := sumOf(text, requestsMetric)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// first is the second in which the first step began.
func (r *objectRow) first() int { return r.second(r.events[0].at) }

// before is the hit ratio before the first step. The first second is not complete.
func (r *objectRow) before() float64 { return hitRatio(r.sum(1, r.first())) }

// figures returns what all rows have in common. dip is the goal for the hit ratio, in points.
func (r *objectRow) figures(name string, dip figure.Goal) []figure.Figure {
	lowest := r.lowest(r.first(), len(r.seconds))
	var each []string
	for i := 0; i+1 < len(r.events); i += 2 {
		from, to := r.second(r.events[i].at), r.second(r.events[i+1].at)+1
		each = append(each, fmt.Sprintf("%s, %d s: %.2f %%", r.events[i].what, to-from, r.lowest(from, min(to, len(r.seconds)))))
	}
	answered := r.sum(r.first(), len(r.seconds))
	return []figure.Figure{
		figure.Info(name+": hit ratio before", r.before(), "%"),
		figure.HasGoal(name+": points by which the hit ratio of any 10 s is below that", r.before()-lowest, "points", dip, each...),
		figure.Info(fmt.Sprintf("%s: of %d requests, answered by the origin", name, answered.Requests), float64(answered.Origin), "requests", r.table()...),
		figure.Info(name+": requests that the origin counted", r.requested, "requests"),
	}
}

// unfailed returns the figure of failed requests, of which there may be none.
func (r *objectRow) unfailed(name string) figure.Figure {
	return figure.HasGoal(fmt.Sprintf("%s: failed of %d requests", name, r.report.Requests), float64(r.report.Failed), "requests", figure.AtMost(0), tallies(r.report)...)
}
