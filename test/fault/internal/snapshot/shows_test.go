package snapshot

import (
	"regexp"
	"testing"
)

func TestShows(t *testing.T) {
	object := func(spec map[string]any) Picture {
		return Picture{Objects: map[string]map[string]any{
			"Deployment/web": {"spec": spec}, "NginxOperator/web": {"spec": map[string]any{"secret": "only here"}},
		}}
	}
	before := object(map[string]any{"replicas": int64(2), "args": []any{"--delay=5s"}, "cpu": "1", "periodSeconds": int64(10)})
	for name, tt := range map[string]struct {
		after map[string]any
		field string
		value any
		want  bool
	}{
		"as it is":             {map[string]any{"replicas": int64(3)}, "count", int64(3), true},
		"in a text":            {map[string]any{"args": []any{"--delay=7s"}}, "delaySeconds", int64(7), true},
		"as another number":    {map[string]any{"args": []any{"--delay=17s"}}, "delaySeconds", int64(7), false},
		"as a quantity":        {map[string]any{"cpu": "1500m"}, "limits", "1.5", true},
		"nowhere":              {map[string]any{"replicas": int64(2)}, "count", int64(3), false},
		"not changed":          {map[string]any{"replicas": int64(2)}, "count", int64(2), false},
		"there already":        {map[string]any{"periodSeconds": int64(10)}, "periodSeconds", int64(10), true},
		"in the object itself": {map[string]any{"replicas": int64(2)}, "secret", "only here", false},
		"in a hash":            {map[string]any{"hash": "a7f"}, "count", int64(7), false},
		"a list":               {map[string]any{"command": []any{"run", "fast"}}, "command", []any{"run", "fast"}, true},
		"half of a list":       {map[string]any{"command": []any{"run"}}, "command", []any{"run", "fast"}, false},
		"null in a map":        {map[string]any{"containers": []any{map[string]any{"name": "a"}}}, "containers", []any{map[string]any{"name": "a", "policy": nil}}, true},
		"a map":                {map[string]any{"labels": map[string]any{"team": "red"}}, "labels", map[string]any{"team": "red"}, true},
	} {
		after := object(tt.after)
		after.Objects["Service/new"] = map[string]any{"spec": map[string]any{}}
		after.Objects["Pod/web-7"] = map[string]any{"name": "web-7"}
		if got := HasEffect(before, after, "NginxOperator", regexp.MustCompile(`^Pod/|\.hash$`), tt.field, tt.value); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}

// TestCollision: names that differ because of a hash collision are not a difference.
func TestCollision(t *testing.T) {
	with := func(hash string, status map[string]any) Picture {
		return Picture{Objects: map[string]map[string]any{
			"Deployment/web": {"status": status}, "ReplicaSet/web-" + hash: {}, "Pod/web-" + hash + "-*": {},
		}}
	}
	want, got := with("a", map[string]any{}), with("b", map[string]any{"collisionCount": int64(1)})
	if found := Differences(want, got, Mask{}); len(found) > 0 {
		t.Errorf("they differ by %v", found)
	}
	if found := Differences(want, with("b", map[string]any{}), Mask{}); len(found) != 4 {
		t.Errorf("without a collision, they differ by %v", found)
	}
}

// TestPast: fields and objects that depend on the past are not compared.
func TestPast(t *testing.T) {
	with := func(objects map[string]map[string]any) Picture { return Picture{Objects: objects} }
	want := with(map[string]map[string]any{"Pod/a": {"generation": int64(1)}, "Revision/1": {}})
	got := with(map[string]map[string]any{"Pod/a": {"generation": int64(2)}, "Revision/2": {}})
	if found := Differences(want, got, Mask{Past: regexp.MustCompile(`^Revision/|\.generation$`)}); len(found) > 0 {
		t.Errorf("they differ by %v", found)
	}
	if found := Differences(want, got, Mask{}); len(found) != 3 {
		t.Errorf("without the mask, they differ by %v", found)
	}
}
