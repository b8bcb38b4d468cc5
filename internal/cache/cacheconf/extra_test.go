package cacheconf

import (
	"testing"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
)

// TestExtra: a user adds files to one tier, and replaces none of the operator's.
func TestExtra(t *testing.T) {
	in := full()
	in.Cache.Spec.Edge.Config = &v1alpha1.Config{Files: map[string]v1alpha2.ConfigFile{"gzip.conf": "gzip on;", "users": "a:b"}}
	edge, err := Edge(in)
	if err != nil || edge["gzip.conf"] != "gzip on;" || edge["users"] == "" {
		t.Errorf("%v: %v", err, edge["gzip.conf"])
	}
	shard, err := Shard(in)
	if _, found := shard["gzip.conf"]; err != nil || found {
		t.Errorf("a file of the edges is in the shards: %v", err)
	}
	for name, want := range map[string]string{
		"edge.conf":         "spec.edge.config.files: edge.conf is a name of the operator's own files: rename it",
		"handover.conf":     "spec.edge.config.files: handover.conf is a name of the operator's own files: rename it",
		"gateway.conf":      "spec.edge.config.files: gateway.conf is a name of the operator's own files: rename it",
		"nginx-cache-later": "spec.edge.config.files: nginx-cache-later is a name of the operator's own files: rename it",
		"nginx.conf":        "spec.edge.config.files: nginx.conf would replace the configuration of the cache: call it extra.conf, with the content of its http block",
	} {
		in.Cache.Spec.Edge.Config.Files = map[string]v1alpha2.ConfigFile{name: "x"}
		if _, err := Edge(in); err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
