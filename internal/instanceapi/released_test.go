package instanceapi

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestReleasedAnswers: recorded answers of all releases (see docs/upgrades.md) are understood, and
// refused with a protocol that this release does not support.
func TestReleasedAnswers(t *testing.T) {
	files, err := filepath.Glob("../nginx/desired/testdata/released/*/*/instance-*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no answers of releases (%v)", err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var raw map[string]any
			if err := json.Unmarshal(text, &raw); err != nil {
				t.Fatal(err)
			}
			protocol := int(raw["protocol"].(float64))
			status, err := clientOf(t, says(string(text))).Status(t.Context(), podIP)
			if protocol < OldestProtocol {
				wantRefusal(t, err, protocol)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			wantSame(t, raw, status)
			raw["addedLater"] = []any{map[string]any{"deep": 1}}
			later, err := clientOf(t, says(encode(t, raw))).Status(t.Context(), podIP)
			if err != nil || encode(t, later) != encode(t, status) {
				t.Errorf("with a field of a later release it is %+v (%v)", later, err)
			}
			for _, beyond := range []int{OldestProtocol - 1, Protocol + 1} {
				raw["protocol"] = beyond
				_, err = clientOf(t, says(encode(t, raw))).Status(t.Context(), podIP)
				wantRefusal(t, err, beyond)
			}
		})
	}
}

// TestReleasedWindows: recorded request windows of all releases are understood.
func TestReleasedWindows(t *testing.T) {
	files, err := filepath.Glob("../nginx/desired/testdata/released/*/*/requests-*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no windows of releases (%v)", err)
	}
	counted := false
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		window := checkWindow(t, file, text)
		counted = counted || window.Requests > 0 && window.Latency.Count() == window.Requests-window.Errors
	}
	if !counted {
		t.Error("no instance has counted a request")
	}
}

func checkWindow(t *testing.T, file string, text []byte) RequestWindow {
	t.Helper()
	var raw map[string]any
	if err := json.Unmarshal(text, &raw); err != nil {
		t.Fatal(err)
	}
	window, err := clientOf(t, says(string(text))).Requests(t.Context(), podIP, "r1", 60)
	if err != nil {
		t.Errorf("%s: %v", file, err)
	}
	var again map[string]any
	if err := json.Unmarshal([]byte(encode(t, window)), &again); err != nil {
		t.Fatal(err)
	}
	for key := range raw {
		if encode(t, again[key]) != encode(t, raw[key]) {
			t.Errorf("%s: %s: %s is read as %s", file, key, encode(t, raw[key]), encode(t, again[key]))
		}
	}
	raw["addedLater"] = "value"
	if later, err := clientOf(t, says(encode(t, raw))).Requests(t.Context(), podIP, "r1", 60); err != nil || later != window {
		t.Errorf("%s: with a field of a later release it is %+v (%v)", file, later, err)
	}
	return window
}

// TestContractOfBuckets: durations fall into the same buckets as in other releases.
func TestContractOfBuckets(t *testing.T) {
	if LatencyBuckets != 52 {
		t.Errorf("there are %d buckets", LatencyBuckets)
	}
	for seconds, want := range map[float64]int{0.0005: 0, 0.001: 0, 0.0011: 1, 0.01: 11, 0.1: 21, 1: 31, 10: 42, 56: 49, 57: 50, 100: 51} {
		if got := Bucket(seconds); got != want {
			t.Errorf("%v s are in bucket %d, want %d", seconds, got, want)
		}
	}
}

// wantSame reports an error if a field of another release's answer is lost, or one that this
// release needs is missing.
func wantSame(t *testing.T, raw map[string]any, status Status) {
	t.Helper()
	var again map[string]any
	if err := json.Unmarshal([]byte(encode(t, status)), &again); err != nil {
		t.Fatal(err)
	}
	for key := range raw {
		if encode(t, again[key]) != encode(t, raw[key]) {
			t.Errorf("%s: %s is read as %s", key, encode(t, raw[key]), encode(t, again[key]))
		}
	}
	for what, known := range map[string]bool{
		"serving": status.Serving != "", "stable": status.Stable != "", "next": status.Next != "", "ready": status.Ready,
		"servingSeconds": status.ServingSeconds != nil, "version": status.Version != "", "nginxVersion": status.NginxVersion != "",
		"workers": status.Workers.Running > 0, "ports": len(status.Ports) > 0,
	} {
		if !known {
			t.Errorf("there is no %s in %+v", what, status)
		}
	}
	if !slices.ContainsFunc(status.Revisions, func(r Revision) bool { return r.Revision == status.Serving && r.Load == Passed }) {
		t.Errorf("it serves a revision that it has not loaded: %+v", status)
	}
}

func wantRefusal(t *testing.T, err error, protocol int) {
	t.Helper()
	want := fmt.Sprintf("the instance speaks protocol %d, this operator speaks %s", protocol, spoken(OldestProtocol, Protocol))
	if err == nil || err.Error() != want {
		t.Errorf("protocol %d: error %v, want %q", protocol, err, want)
	}
}

func encode(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
