package metrics

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestVolume(t *testing.T) {
	dir := t.TempDir()
	for folder, want := range map[string]int{dir: 2, dir + "/missing": 0} {
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(&Volume{Dir: folder})
		families, err := registry.Gather()
		if err != nil || len(families) != want {
			t.Fatalf("%d families, want %d: %v", len(families), want, err)
		}
		if want == 0 {
			continue
		}
		free, size := families[0].GetMetric()[0].GetGauge().GetValue(), families[1].GetMetric()[0].GetGauge().GetValue()
		if families[1].GetName() != "nginx_cache_volume_size_bytes" || free <= 0 || size <= free {
			t.Errorf("%v bytes of %v are free", free, size)
		}
	}
}
