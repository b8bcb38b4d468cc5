package scale

import (
	"testing"
	"time"
)

func TestSum(t *testing.T) {
	s := series{
		`# HELP workqueue_depth Current depth of workqueue`,
		`workqueue_depth{controller="nginxoperator",name="nginxoperator",priority="0"} 3`,
		`workqueue_depth{controller="nginxoperator",name="nginxoperator",priority="-100"} 4`,
		`workqueue_depth{controller="backup",name="backup",priority="0"} 5`,
		`workqueue_depth_total 6`,
		`go_memstats_heap_alloc_bytes 1.5e+07`,
		``,
	}
	tests := []struct {
		name, labels string
		want         float64
	}{
		{"workqueue_depth", `controller="nginxoperator"`, 7},
		{"workqueue_depth", "", 12},
		{"go_memstats_heap_alloc_bytes", "", 15e6},
		{"go_memstats", "", 0},
	}
	for _, tt := range tests {
		got, err := s.sum(tt.name, tt.labels)
		if err != nil || got != tt.want {
			t.Errorf("the sum of %s with %q is %v, want %v: %v", tt.name, tt.labels, got, tt.want, err)
		}
	}
	if _, err := (series{"broken x"}).sum("broken", ""); err == nil {
		t.Error("a value that is no number is no error")
	}
}

func TestQuantile(t *testing.T) {
	var l latencies
	if got := l.quantile(0.5); got != 0 {
		t.Errorf("the median of nothing is %s", got)
	}
	for i := range 200 {
		l = append(l, time.Duration(i+1)*time.Millisecond)
	}
	for share, want := range map[float64]time.Duration{0.5: 101 * time.Millisecond, 0.99: 199 * time.Millisecond, 1: 200 * time.Millisecond} {
		if got := l.quantile(share); got != want {
			t.Errorf("%.0f %% of 1 to 200 ms are within %s, want %s", 100*share, got, want)
		}
	}
}

func TestMemoryEach(t *testing.T) {
	r := Result{options: Options{Objects: 1024}, empty: memory{resident: 64 << 20}, settled: memory{resident: 104 << 20}}
	if got := r.memoryEach(); got != 40 {
		t.Errorf("an object takes %v KiB, want 40", got)
	}
}

func TestEnd(t *testing.T) {
	const memory = 512 << 20
	tests := map[string]struct {
		step step
		ends bool
	}{
		"it keeps up":            {step{peak: memory, restart: restart{settled: 30 * time.Second}}, false},
		"too much memory":        {step{peak: memory + 1}, true},
		"too long for a restart": {step{restart: restart{settled: 31 * time.Second}}, true},
	}
	for name, tt := range tests {
		if got := tt.step.end(memory); (got != "") != tt.ends {
			t.Errorf("%s: it ends because of %q", name, got)
		}
	}
}
