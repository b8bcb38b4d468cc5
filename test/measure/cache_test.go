package main

import "testing"

func TestMovedObjects(t *testing.T) {
	was := map[string][]int{"shard-0": {0, 1, 2}, "shard-1": {3, 4}}
	is := map[string][]int{"shard-0": {1, 2}, "shard-1": {3}, "shard-2": {0, 4}}
	if got := movedObjects(was, is); got != 2 {
		t.Errorf("%d objects have moved, want 2", got)
	}
	if got := movedObjects(was, was); got != 0 {
		t.Errorf("%d objects have moved without a change", got)
	}
}

func TestExactTag(t *testing.T) {
	for _, tt := range []struct{ image, version, want string }{
		{"localhost/nginx:1.30-debian", "1.30.6", "localhost/nginx:1.30.6-debian"},
		{"registry.example.com:5000/nginx:1.30", "1.30.6", "registry.example.com:5000/nginx:1.30.6"},
		{"nginx:1.30.6", "1.30.6", ""},
		{"nginx:stable", "1.30.6", ""},
		{"nginx:1.30", "", ""},
	} {
		got, err := exactTag(tt.image, tt.version)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s with nginx %s: %q, %v", tt.image, tt.version, got, err)
		}
	}
}
