package main

import (
	"io"
	"strings"
	"testing"

	"example.com/nginx-operator/hack/cluster/internal/supervisor"
	"example.com/nginx-operator/hack/cluster/internal/topology"
)

func TestArguments(t *testing.T) {
	tests := map[string]struct {
		arguments string
		want      string
	}{
		"no nodes":              {"up --nodes 0", "--nodes is 0"},
		"too many nodes":        {"up --nodes 10", "from 1 to 9"},
		"unknown IP family":     {"up --ip-family ipv5", "must be one of ipv4, ipv6, dual-stack, dual-stack-ipv6"},
		"unknown kubelet":       {"up --kubelet 1.29", "--kubelet: there is no kubelet of Kubernetes 1.29: use one of 1.30, 1.34, 1.37"},
		"up takes no arguments": {"up now", "unknown command"},
		"load needs an archive": {"load", "at least 1 arg"},
		"exec needs a command":  {"exec", "at least 1 arg"},
		"image needs a tag":     {"image binary --out a --entrypoint /a a=/a", `"tag" not set`},
		"image needs files":     {"image binary --out a --entrypoint /a --tag a:b", "at least 1 arg"},
		"addon needs a name":    {"addon", "at least 1 arg"},
		"unknown addon":         {"addon nginx", "must be one of registry, traefik, cert-manager"},
		"push needs a name":     {"push a.tar", "accepts 2 arg"},
		"push needs a tag":      {"push a.tar app", "tag must be between"},
		"unknown verb":          {"restart", "unknown command"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NGINX_OPERATOR_CACHE", t.TempDir())
			command := newCommand()
			command.SetArgs(strings.Fields(test.arguments))
			command.SetOut(io.Discard)
			command.SetErr(io.Discard)
			err := command.Execute()
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one about %q", err, test.want)
			}
		})
	}
}

// TestCompare: a running cluster is only compared with what was given.
func TestCompare(t *testing.T) {
	running := supervisor.Config{Nodes: 2, Network: topology.IPv6, KubeletVersion: "1.30"}
	tests := map[string]struct {
		options upOptions
		want    string
	}{
		"nothing given":   {upOptions{nodes: 3, network: topology.IPv4, kubelet: "1.37"}, ""},
		"the same":        {upOptions{nodes: 2, network: topology.IPv6, kubelet: "1.30", nodesGiven: true, networkGiven: true, kubeletGiven: true}, ""},
		"other nodes":     {upOptions{nodes: 3, nodesGiven: true}, "runs with 2 node(s), not 3: run down first"},
		"another family":  {upOptions{network: topology.DualStack, networkGiven: true}, "runs with the IP family ipv6, not dual-stack: run down first"},
		"another kubelet": {upOptions{kubelet: "1.34", kubeletGiven: true}, "runs with kubelets of 1.30, not 1.34: run down first"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := test.options.compare(running); err != nil {
				got = err.Error()
			}
			if !strings.HasSuffix(got, test.want) || (test.want == "") != (got == "") {
				t.Errorf("error %q, want %q", got, test.want)
			}
		})
	}
}

func TestPaths(t *testing.T) {
	t.Setenv("NGINX_OPERATOR_CACHE", "/somewhere")
	for verb, want := range map[string]string{
		"kubeconfig": "/somewhere/cluster/kubeconfig\n",
		"audit-log":  "/somewhere/cluster/audit/audit.log\n",
	} {
		var out strings.Builder
		command := newCommand()
		command.SetArgs([]string{verb})
		command.SetOut(&out)
		if err := command.Execute(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("%s printed %q, want %q", verb, out.String(), want)
		}
	}
}
