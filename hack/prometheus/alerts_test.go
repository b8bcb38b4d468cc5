// Package prometheus tests the alerts of config/prometheus with Prometheus' own rule engine. It is
// a separate module because that library is large.
package prometheus

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/teststorage"
	"sigs.k8s.io/yaml"
)

// interval is the time between two samples, and between two evaluations.
const interval = 5 * time.Minute

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ruleFile writes the spec of the PrometheusRule, as Prometheus loads it, to a file and returns its
// path.
func ruleFile(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../config/prometheus/alerts.yaml")
	must(t, err)
	var rule struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Spec       any            `json:"spec"`
	}
	must(t, yaml.UnmarshalStrict(text, &rule))
	if rule.APIVersion != "monitoring.coreos.com/v1" || rule.Kind != "PrometheusRule" {
		t.Errorf("it is a %s %s", rule.APIVersion, rule.Kind)
	}
	spec, err := yaml.Marshal(rule.Spec)
	must(t, err)
	file := filepath.Join(t.TempDir(), "rules.yaml")
	must(t, os.WriteFile(file, spec, 0o600))
	return file
}

// load parses and validates the rules, like a Prometheus with these series.
func load(t *testing.T, series string) []*rules.Group {
	t.Helper()
	loaded := promqltest.LoadedStorage(t, "load "+interval.String()+"\n"+series)
	// What rules record is older than the last loaded sample, which a storage does not accept.
	recorded := teststorage.New(t)
	all := storage.NewFanout(slog.New(slog.DiscardHandler), recorded, loaded)
	engine := promqltest.NewTestEngine(t, false, interval, 1_000_000)
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc:  rules.EngineQueryFunc(engine, all),
		Appendable: recorded,
		Queryable:  all,
		Context:    t.Context(),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
		Logger:     slog.New(slog.DiscardHandler),
		Parser:     parser.NewParser(parser.Options{}),
	})
	found, errs := manager.LoadGroups(interval, labels.EmptyLabels(), "", nil, false, ruleFile(t))
	for _, err := range errs {
		t.Fatal(err)
	}
	var groups []*rules.Group
	for _, group := range found {
		groups = append(groups, group)
	}
	return groups
}

// firing returns the alerts that fire at a time, with their subjects.
func firing(t *testing.T, series string, at time.Duration) []string {
	t.Helper()
	var found []string
	for _, group := range load(t, series) {
		for now := time.Duration(0); now <= at; now += interval {
			group.Eval(t.Context(), time.Unix(0, 0).Add(now))
		}
		for _, rule := range group.AlertingRules() {
			must(t, rule.LastError())
			for _, alert := range rule.ActiveAlerts() {
				if alert.State != rules.StateFiring {
					continue
				}
				found = append(found, alert.Labels.Get("alertname")+" "+about(alert))
				worded(t, alert, about(alert))
			}
		}
	}
	slices.Sort(found)
	return found
}

// about returns the subject of an alert: a kind, an application, a policy, a cache or a pod of one.
func about(alert *rules.Alert) string {
	label := alert.Labels.Get
	if kind := label("kind"); kind != "" {
		return kind
	}
	return label("namespace") + "/" + cmp.Or(label("target"), label("policy"), label("shard"), label("pod"), label("nginxcache"))
}

// worded checks that an alert names its subject.
func worded(t *testing.T, alert *rules.Alert, whom string) {
	t.Helper()
	summary, description := alert.Annotations.Get("summary"), alert.Annotations.Get("description")
	if !strings.Contains(summary, whom) || description == "" || strings.Contains(summary+description, "<error") || strings.Contains(summary+description, "<no value>") {
		t.Errorf("it says %q, %q", summary, description)
	}
	if !slices.Contains([]string{"critical", "warning"}, alert.Labels.Get("severity")) {
		t.Errorf("its severity is %q", alert.Labels.Get("severity"))
	}
}

// Series of an application and of a policy. Times are in seconds since the start.
const (
	success = `nginx_backup_last_success_timestamp_seconds{namespace="shop",target="web"} `
	wanted  = `nginx_backup_last_wanted_timestamp_seconds{namespace="shop",target="web"} `
	other   = `nginx_backup_last_wanted_timestamp_seconds{namespace="other",target="web"} `
	ready   = `nginx_backup_policy_ready{namespace="shop",policy="all"} `
	unread  = `nginx_operator_watch_errors_total{kind="Pod"} `
)

func TestAlerts(t *testing.T) {
	const missing, old, notReady = "NginxBackupMissing shop/web", "NginxBackupTooOld shop/web", "NginxBackupPolicyNotReady shop/all"
	for _, tt := range []struct {
		name   string
		series []string
		at     time.Duration
		want   []string
	}{
		{"nothing is backed up", nil, 3 * time.Hour, nil},
		{"all is well", []string{success + "100x48", wanted + "0x48", ready + "1x48"}, 4 * time.Hour, nil},
		{"all is well, with a schedule", []string{success + "3700x48", wanted + "3600x48", ready + "1x48"}, 4 * time.Hour, nil},

		{"no backup for almost an hour", []string{success + "0x48", wanted + "0x48"}, 55 * time.Minute, nil},
		{"no backup for an hour", []string{success + "0x48", wanted + "0x48"}, time.Hour, []string{missing}},
		{"no backup, and the schedule has wanted one", []string{success + "0x48", wanted + "3600x48"}, time.Hour, []string{missing}},
		{"no backup, and the schedule's first time is to come", []string{success + "0x48"}, 4 * time.Hour, nil},
		{"no backup, and one of another namespace is wanted", []string{success + "0x48", other + "0x48"}, 4 * time.Hour, nil},
		{"the first backup comes in time", []string{success + "0x10 3300x48", wanted + "0x58"}, 4 * time.Hour, nil},
		{"the first backup comes late", []string{success + "0x15 4800x48", wanted + "0x63"}, 4 * time.Hour, nil},
		{"all backups were deleted", []string{success + "100x10 0x48", wanted + "0x58"}, 4 * time.Hour, []string{missing}},

		{"none since the schedule's time, for almost an hour", []string{success + "100x48", wanted + "50x5 1800x48"}, 85 * time.Minute, nil},
		{"none since the schedule's time, for an hour", []string{success + "100x48", wanted + "50x5 1800x48"}, 90 * time.Minute, []string{old}},
		{"none since the schedule's time, which comes again", []string{success + "100x48", wanted + "50x5 1800x5 3600x5 5400x30"}, 90 * time.Minute, []string{old}},
		{"none since the time of another namespace's schedule", []string{success + "100x48", other + "1800x48"}, 4 * time.Hour, nil},
		{"the backup of the schedule's time comes late", []string{success + "100x15 4800x48", wanted + "1800x63"}, 4 * time.Hour, nil},

		{"a policy is not ready for almost half an hour", []string{ready + "0x48"}, 25 * time.Minute, nil},
		{"a policy is not ready for half an hour", []string{ready + "0x48"}, 30 * time.Minute, []string{notReady}},
		{"a policy is ready now and then", []string{ready + "0x4 1 0x4 1 0x4 1 0x4"}, 95 * time.Minute, nil},
		{"a policy was not ready", []string{ready + "0x10 1x30"}, 2 * time.Hour, nil},

		{"a watch has failed now and then", []string{unread + "0x5 1+1x48"}, 4 * time.Hour, nil},
		{"the API server was away for five minutes", []string{unread + "0x5 13x48"}, 45 * time.Minute, nil},
		{"pods cannot be read for almost a quarter of an hour", []string{unread + "0x5 13+7x48"}, 40 * time.Minute, nil},
		{"pods cannot be read for a quarter of an hour", []string{unread + "0x5 13+7x48"}, 45 * time.Minute, []string{"NginxOperatorBlind Pod"}},
		{"pods could not be read", []string{unread + "0x5 13+7x10 83x48"}, 4 * time.Hour, nil},

		{"the store is down", []string{success + "0x48", wanted + "0x48", ready + "0x48"}, 2 * time.Hour, []string{missing, notReady}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := gocmp.Diff(tt.want, firing(t, strings.Join(tt.series, "\n"), tt.at)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDocs: docs/metrics.md describes every metric that an alert queries, and contains the query.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/metrics.md")
	must(t, err)
	docs := string(text)
	queried := 0
	for _, group := range load(t, "") {
		for _, rule := range group.AlertingRules() {
			if !strings.Contains(docs, "| `"+rule.Name()+"` |") || !strings.Contains(docs, "\n"+rule.Query().String()+" ") {
				t.Errorf("docs/metrics.md lacks %s: %s", rule.Name(), rule.Query())
			}
			parser.Inspect(rule.Query(), func(node parser.Node, _ []parser.Node) error {
				if s, ok := node.(*parser.VectorSelector); ok {
					queried++
					if !strings.Contains(docs, "`"+s.Name+"` | ") {
						t.Errorf("docs/metrics.md lacks %s", s.Name)
					}
				}
				return nil
			})
		}
	}
	if queried == 0 {
		t.Error("the alerts query no metric")
	}
}
