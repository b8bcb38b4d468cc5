package prometheus

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

const caches = "../../config/prometheus/caches/"

// TestDashboard: each query of the dashboard is valid, and docs/metrics.md describes its metrics.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile(caches + "nginx-caches.json")
	must(t, err)
	var dashboard struct {
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	must(t, json.Unmarshal(text, &dashboard))
	docs, err := os.ReadFile("../../docs/metrics.md")
	must(t, err)
	queries := 0
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries++
			expression, err := parser.NewParser(parser.Options{}).ParseExpr(strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"))
			if err != nil {
				t.Errorf("%s: %v", panel.Title, err)
				continue
			}
			parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
				if s, ok := node.(*parser.VectorSelector); ok && !strings.Contains(string(docs), "`"+strings.TrimSuffix(s.Name, "_bucket")+"`") {
					t.Errorf("%s: docs/metrics.md lacks %s", panel.Title, s.Name)
				}
				return nil
			})
		}
	}
	if queries == 0 {
		t.Error("the dashboard has no query")
	}
}

// TestPodMonitor: the labels that the alerts and the dashboard need are those of the pods.
func TestPodMonitor(t *testing.T) {
	text, err := os.ReadFile(caches + "pod_monitor.yaml")
	must(t, err)
	var monitor struct {
		Spec struct {
			PodMetricsEndpoints []struct {
				Relabelings []struct {
					SourceLabels []string `json:"sourceLabels"`
					TargetLabel  string   `json:"targetLabel"`
				} `json:"relabelings"`
			} `json:"podMetricsEndpoints"`
		} `json:"spec"`
	}
	must(t, yaml.Unmarshal(text, &monitor))
	contract, err := os.ReadFile("../../api/cache/v1alpha1/contract.go")
	must(t, err)
	found := map[string]string{}
	for _, r := range monitor.Spec.PodMetricsEndpoints[0].Relabelings {
		found[r.TargetLabel] = r.SourceLabels[0]
	}
	for label, constant := range map[string]string{"nginxcache": "LabelNginxCache", "tier": "LabelTier"} {
		key := regexp.MustCompile(constant + ` = "([^"]*)"`).FindSubmatch(contract)
		if key == nil {
			t.Fatalf("there is no %s", constant)
		}
		// Prometheus replaces what a name of its labels cannot have.
		if want := "__meta_kubernetes_pod_label_" + regexp.MustCompile(`[^a-zA-Z0-9]`).ReplaceAllString(string(key[1]), "_"); found[label] != want {
			t.Errorf("%s is from %q, want %s", label, found[label], want)
		}
	}
}
