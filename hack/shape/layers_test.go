package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write writes the packages of a repository, each with its imports of internal/.
func write(t *testing.T, packages map[string][]string) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"go.mod": "module example.com/old\n\ngo 1.20\n"}
	for pkg, imported := range packages {
		text := "package p\n\nimport \"fmt\"\n"
		for _, i := range imported {
			text += "import _ \"example.com/old/internal/" + i + "\"\n"
		}
		files["internal/"+pkg+"/p.go"] = text + "\nvar _ = fmt.Sprint()\n"
		files["internal/"+pkg+"/p_test.go"] = "package p\n\nimport _ \"example.com/old/internal/manager\"\n"
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestUpward(t *testing.T) {
	for name, tt := range map[string]struct {
		packages        map[string][]string
		upward, unknown []string
	}{
		"downwards": {map[string][]string{"nginx/desired": {"nginx/observe"}, "nginx/controller": {"nginx/desired", "kube/owned"}}, nil, nil},
		"same layer": {map[string][]string{"kube/apply": {"kube/owned"}, "backup/controller/policy": {"backup/controller"}},
			nil, nil},
		"upwards": {map[string][]string{"nginx/rollout": {"nginx/revision", "nginx/history"}, "kube/apply": {"nginx/apply"}},
			[]string{"kube/apply → nginx/apply", "nginx/rollout → nginx/revision"}, nil},
		"an old name":     {map[string][]string{"observe": {"desired"}, "desired": {"trouble"}}, []string{"observe → desired"}, nil},
		"between stages":  {map[string][]string{"backup/plan": {"backup/job"}}, []string{"backup/plan → backup/job"}, nil},
		"a nested folder": {map[string][]string{"instance/store": {"manager"}}, []string{"instance/store → manager"}, nil},
		"unknown":         {map[string][]string{"other": {"manager"}}, nil, []string{"other"}},
	} {
		s, err := measure(write(t, tt.packages), []string{"internal"})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		upward, unknown := s.imports.upward()
		if diff := cmp.Diff(tt.upward, upward); diff != "" {
			t.Errorf("%s: upwards: %s", name, diff)
		}
		if diff := cmp.Diff(tt.unknown, unknown); diff != "" {
			t.Errorf("%s: without a layer: %s", name, diff)
		}
	}
}

func TestMutual(t *testing.T) {
	for name, tt := range map[string]struct {
		packages map[string][]string
		want     []string
	}{
		"none":                    {map[string][]string{"nginx/a": {"kube/a"}, "kube/a": {"kube/b"}}, nil},
		"folders":                 {map[string][]string{"nginx/a": {"kube/a"}, "kube/b": {"nginx/b"}}, []string{"kube ↔ nginx"}},
		"through a third":         {map[string][]string{"nginx/a": {"kube/a"}, "kube/b": {"manager"}, "manager": {"nginx/b"}}, []string{"kube ↔ manager", "kube ↔ nginx", "manager ↔ nginx"}},
		"stages":                  {map[string][]string{"backup/plan/a": {"backup/job"}, "backup/job/b": {"backup/plan"}}, []string{"backup/job ↔ backup/plan"}},
		"folders of other stages": {map[string][]string{"nginx/a/x": {"nginx/b"}, "nginx/b/y": {"nginx/a"}}, nil},
	} {
		s, err := measure(write(t, tt.packages), []string{"internal"})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tt.want, s.imports.mutual()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Every package of this release has a layer, so that a new one cannot be left out of the measurement.
func TestEveryPackageHasALayer(t *testing.T) {
	s, err := measure("../..", []string{"internal"})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.imports) < 50 {
		t.Errorf("only %d packages were found", len(s.imports))
	}
	if _, unknown := s.imports.upward(); len(unknown) > 0 {
		t.Errorf("these packages have no layer; add them to layers: %v", unknown)
	}
}
