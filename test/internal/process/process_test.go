package process

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseMemory(t *testing.T) {
	tests := []struct {
		name, status string
		want         Memory
		fails        bool
	}{
		{"running", "Name:\toperator\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nThreads:\t9\n", Memory{Resident: 1 << 20, Peak: 2 << 20}, false},
		{"ended", "Name:\toperator\nState:\tZ (zombie)\n", Memory{}, true},
		{"garbled", "VmHWM:\tmuch\n", Memory{}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseMemory([]byte(tt.status))
			if (err != nil) != tt.fails {
				t.Fatalf("error: %v", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseStat(t *testing.T) {
	tests := []struct {
		name, text string
		want       stat
		fails      bool
	}{
		{"plain", "77 (etcd) S 42 77 77 0 -1 0 0 0 0 0 150 50 0 0 20 0", stat{"etcd", 42, 2 * time.Second}, false},
		{"parentheses", "77 (a) b) S 42 77 77 0 -1 0 0 0 0 0 1 0 0 0 20 0", stat{"a) b", 42, 10 * time.Millisecond}, false},
		{"no name", "77", stat{}, true},
		{"cut off", "77 (etcd) S 42", stat{}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseStat(tt.text)
			if (err != nil) != tt.fails {
				t.Fatalf("error: %v", err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(stat{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseMachine(t *testing.T) {
	used, processors, err := parseMachine("cpu  100 20 30 900 50 5 5 40 7 3\ncpu0 1 1 1 1\ncpu1 1 1 1 1\nintr 3\n")
	if err != nil || used != 2*time.Second || processors != 2 {
		t.Errorf("used %s of %d processors: %v", used, processors, err)
	}
	if _, _, err := parseMachine("intr 3\n"); err == nil {
		t.Error("a machine without processors is no error")
	}
}
