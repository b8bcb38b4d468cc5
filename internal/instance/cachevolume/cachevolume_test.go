package cachevolume

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/nginx-operator/internal/instanceapi"
)

var now = time.Unix(1_700_000_000, 0)

// store stores an object that is so old.
func store(t *testing.T, dir string, number int, age time.Duration) {
	t.Helper()
	// The names are the last digits of a hash.
	hash := fmt.Sprintf("%032x", uint64(number)*0x9e3779b97f4a7c15)
	folder := filepath.Join(dir, instanceapi.DirObjects, hash[31:], hash[29:31])
	path := filepath.Join(folder, hash)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, now, now.Add(-age)); err != nil {
		t.Fatal(err)
	}
}

// collected returns the series by name and quantile.
func collected(t *testing.T, v *Volume) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(v)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			name := family.GetName()
			for _, label := range m.GetLabel() {
				name += " " + label.GetValue()
			}
			found[name] = m.GetGauge().GetValue()
		}
	}
	return found
}

// watched returns a Volume that watches nothing by itself.
func watched(dir string, clock func() time.Time) *Volume {
	return &Volume{dir: dir, now: clock, closed: filepath.Join(dir, "closed"), statfs: fileSystemOf}
}

func TestVolume(t *testing.T) {
	dir, clock := t.TempDir(), now
	v := watched(dir, func() time.Time { return clock })
	if got := collected(t, v); len(got) != 0 {
		t.Errorf("before the first measurement: %v", got)
	}
	v.measure()
	got := collected(t, v)
	if size, free := got["nginx_cache_volume_size_bytes"], got["nginx_cache_volume_free_bytes"]; len(got) != 2 || free <= 0 || size <= free {
		t.Errorf("of an empty cache: %v", got)
	}
	clock = clock.Add(freshness + time.Second)
	if got := collected(t, v); len(got) != 0 {
		t.Errorf("of a volume that has not answered for some time: %v", got)
	}
	missing := watched(filepath.Join(dir, "missing"), func() time.Time { return clock })
	missing.measure()
	if got := collected(t, missing); len(got) != 0 {
		t.Errorf("of a folder that does not exist: %v", got)
	}
}

// TestAge: the median of a sample is about that of all objects.
func TestAge(t *testing.T) {
	dir := t.TempDir()
	const stored = 5000
	for i := range stored {
		store(t, dir, i, time.Duration(i)*time.Second)
	}
	v := watched(dir, func() time.Time { return now })
	var sum float64
	const samples = 20
	for range samples {
		v.measure()
		if n := len(v.last.ages); n == 0 || n > maxAges {
			t.Fatalf("a sample of %d objects", n)
		}
		if n := v.Report().Objects; n < stored/2 || n > stored*2 {
			t.Fatalf("of %d objects, it reports %d", stored, n)
		}
		got := collected(t, v)
		if got["nginx_cache_object_age_seconds 0.9"] < got["nginx_cache_object_age_seconds 0.5"] {
			t.Fatalf("the quantiles are %v", got)
		}
		sum += got["nginx_cache_object_age_seconds 0.5"]
	}
	if median := sum / samples; median < 0.3*stored || median > 0.7*stored {
		t.Errorf("the median is %v, want about %v", median, stored/2)
	}
}

func BenchmarkSample(b *testing.B) {
	v := watched(b.TempDir(), time.Now)
	for b.Loop() {
		v.measure()
	}
}
