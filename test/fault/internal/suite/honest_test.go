package suite

import (
	"testing"

	"example.com/nginx-operator/test/fault/internal/snapshot"
)

// TestDeclared: objects that are being deleted, and statuses, do not have to stay.
func TestDeclared(t *testing.T) {
	pod := func(metadata map[string]any) map[string]any {
		return map[string]any{"kind": "Pod", "metadata": metadata, "status": map[string]any{"phase": "Running"}}
	}
	kept := withoutStatus(snapshot.Picture{Objects: map[string]map[string]any{
		"Pod/web-*":   pod(map[string]any{"name": "web-*"}),
		"Pod/web-*#2": pod(map[string]any{"name": "web-*", "deletionTimestamp": "<time>"}),
	}})
	if len(kept.Objects) != 1 || kept.Objects["Pod/web-*"] == nil || kept.Objects["Pod/web-*"]["status"] != nil {
		t.Errorf("there has to stay: %v", kept.Objects)
	}
}
