// Package metrics exports the state of all backups as Prometheus metrics.
package metrics

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/outcome"
	"example.com/nginx-operator/internal/backup/plan"
)

var (
	descLast = prometheus.NewDesc("nginx_backup_last_success_timestamp_seconds",
		"Time at which the last good backup of an NginxOperator was completed, in seconds since the epoch; 0 if a policy selects it and it has none.", []string{"namespace", "target"}, nil)
	descLastDue = prometheus.NewDesc("nginx_backup_last_wanted_timestamp_seconds",
		"Time at which the schedule of a policy last required a backup of an NginxOperator, in seconds since the epoch; 0 if only changes require one.", []string{"namespace", "target"}, nil)
	descSize = prometheus.NewDesc("nginx_backup_last_size_bytes",
		"Size of the last good backup's archive.", []string{"namespace", "target"}, nil)
	descDuration = prometheus.NewDesc("nginx_backup_last_duration_seconds",
		"Time from the state that the last good backup contains to its completion.", []string{"namespace", "target"}, nil)
	descBackups = prometheus.NewDesc("nginx_backups",
		"NginxBackups of an NginxOperator, by state (good, pending, failing).", []string{"namespace", "target", "state"}, nil)
	descPolicy = prometheus.NewDesc("nginx_backup_policy_ready",
		"1 if every target of a policy has the backups that it should have, otherwise 0.", []string{"namespace", "policy"}, nil)
)

// collectTimeout bounds the reads from the cache at a scrape.
const collectTimeout = 5 * time.Second

// Collector exports the state of all backups from the cache at the time of the scrape, so that no
// series is stale or outlives its object.
type Collector struct {
	Cache client.Reader
	// Elected is closed when this replica becomes the leader: only the leader exports.
	Elected <-chan struct{}
	// Limit is the number of applications, and of policies, that get series of their own.
	Limit int
	Clock clock.PassiveClock
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{descLast, descLastDue, descSize, descDuration, descBackups, descPolicy} {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	select {
	case <-c.Elected:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	if err := c.collect(ctx, out); err != nil {
		logf.Log.WithName("metrics").Error(err, "cannot read backups for metrics")
	}
}

// tally sums up the backups of one application.
type tally struct {
	last *v1alpha1.NginxBackup
	// wanted reports whether any policy requires a backup, and since when the newest one is due.
	wanted                 bool
	since                  time.Time
	good, pending, failing int
}

func (c *Collector) collect(ctx context.Context, out chan<- prometheus.Metric) error {
	tallies := map[types.NamespacedName]*tally{}
	if err := c.collectPolicies(ctx, tallies, out); err != nil {
		return err
	}
	backups := &v1alpha1.NginxBackupList{}
	if err := c.Cache.List(ctx, backups, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for i := range backups.Items {
		b := &backups.Items[i]
		if b.DeletionTimestamp != nil {
			continue
		}
		key := types.NamespacedName{Namespace: b.Namespace, Name: b.Spec.Target.Name}
		tallyOf(tallies, key).add(b)
	}
	// Sorted, so that each scrape exports the same applications if there are too many.
	keys := slices.SortedFunc(maps.Keys(tallies), func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range keys[:min(len(keys), c.Limit)] {
		tallies[key].collect(key, out)
	}
	return nil
}

// collectPolicies tallies the applications that policies select, and exports the policies.
func (c *Collector) collectPolicies(ctx context.Context, tallies map[types.NamespacedName]*tally, out chan<- prometheus.Metric) error {
	policies := &v1alpha1.NginxBackupPolicyList{}
	if err := c.Cache.List(ctx, policies, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	// The cache has no order: sort, so that each scrape exports the same policies if there are too
	// many.
	slices.SortFunc(policies.Items, func(a, b v1alpha1.NginxBackupPolicy) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	list, namespace := &v1alpha2.NginxOperatorList{}, ""
	for i := range policies.Items {
		policy := &policies.Items[i]
		if i < c.Limit {
			out <- prometheus.MustNewConstMetric(descPolicy, prometheus.GaugeValue, ready(policy), policy.Namespace, policy.Name)
		}
		schedule, selected, err := plan.ParsePolicy(policy)
		if err != nil || plan.Suspended(policy) {
			// Its status reports what is wrong with it.
			continue
		}
		if policy.Namespace != namespace {
			list = &v1alpha2.NginxOperatorList{}
			if err := c.Cache.List(ctx, list, client.InNamespace(policy.Namespace), client.UnsafeDisableDeepCopy); err != nil {
				return err
			}
			namespace = policy.Namespace
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		var last time.Time
		if schedule != nil {
			last = schedule.Last(c.Clock.Now())
		}
		for j := range list.Items {
			if nginx := &list.Items[j]; selected(nginx) {
				tallyOf(tallies, client.ObjectKeyFromObject(nginx)).want(plan.Wanted(policy, nginx, last))
			}
		}
	}
	return nil
}

// tallyOf returns the tally of an application.
func tallyOf(tallies map[types.NamespacedName]*tally, key types.NamespacedName) *tally {
	if tallies[key] == nil {
		tallies[key] = &tally{}
	}
	return tallies[key]
}

func ready(policy *v1alpha1.NginxBackupPolicy) float64 {
	for _, c := range policy.Status.Conditions {
		if c.Type == v1alpha1.ConditionReady && c.Status == "True" {
			return 1
		}
	}
	return 0
}

// want records that a policy requires a backup, and since when.
func (t *tally) want(since time.Time, wanted bool) {
	t.wanted = t.wanted || wanted
	if since.After(t.since) {
		t.since = since
	}
}

func (t *tally) add(b *v1alpha1.NginxBackup) {
	switch {
	case plan.Good(b):
		t.good++
		if t.last == nil || plan.ByCompletion(t.last, b) < 0 {
			t.last = b
		}
	case outcome.Failing(b) != nil || plan.Lost(b):
		t.failing++
	default:
		t.pending++
	}
}

func (t *tally) collect(key types.NamespacedName, out chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, append([]string{key.Namespace, key.Name}, labels...)...)
	}
	gauge(descBackups, float64(t.good), "good")
	gauge(descBackups, float64(t.pending), "pending")
	gauge(descBackups, float64(t.failing), "failing")
	if t.wanted {
		gauge(descLastDue, seconds(t.since))
	}
	if t.last == nil {
		gauge(descLast, 0)
		return
	}
	status := t.last.Status
	gauge(descLast, float64(status.CompletionTime.Unix()))
	gauge(descSize, float64(status.SizeBytes))
	if status.StartTime != nil {
		gauge(descDuration, status.CompletionTime.Sub(status.StartTime.Time).Seconds())
	}
}

// seconds returns the seconds since the epoch; 0 for the zero time.
func seconds(at time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return float64(at.Unix())
}
