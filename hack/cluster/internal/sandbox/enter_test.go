package sandbox

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInnermostPID(t *testing.T) {
	tests := map[string]struct {
		status string
		want   int
	}{
		"process 1 of a namespace": {"Name:\tcluster\nNSpid:\t4711\t1\n", 1},
		"two namespaces deep":      {"NSpid:\t4711\t42\t7\n", 7},
		"of the machine":           {"Name:\tinit\nNSpid:\t1\n", 0},
		"no such line":             {"Name:\tinit\n", 0},
		"nonsense":                 {"NSpid:\t1\tx\n", 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := innermostPID([]byte(test.status)); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestEnter(t *testing.T) {
	inside := []string{"nsenter", "--target", "7", "--mount", "--uts", "--ipc", "--net", "--", "ip", "-batch", "-"}
	if diff := cmp.Diff(inside, NsenterCommand(7, false, "ip", "-batch", "-")); diff != "" {
		t.Errorf("inside (-want +got):\n%s", diff)
	}
	outside := []string{"nsenter", "--target", "7", "--mount", "--uts", "--ipc", "--net", "--pid", "--", "ctr"}
	if diff := cmp.Diff(outside, NsenterCommand(7, true, "ctr")); diff != "" {
		t.Errorf("outside (-want +got):\n%s", diff)
	}
}
