package metrics

import (
	"cmp"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"
)

// Volume collects the size of the volume that holds a cache.
type Volume struct {
	// Dir is a folder on the volume.
	Dir string
}

var (
	volumeSize = describe("nginx_cache_volume_size_bytes", "Size of the file system that holds the cache.")
	volumeFree = describe("nginx_cache_volume_free_bytes", "Free space of the file system that holds the cache, as far as nginx may use it.")
)

// Describe implements prometheus.Collector.
func (v *Volume) Describe(out chan<- *prometheus.Desc) {
	out <- volumeSize
	out <- volumeFree
}

// Collect implements prometheus.Collector. It sends nothing if the file system cannot be read.
func (v *Volume) Collect(out chan<- prometheus.Metric) {
	var fs unix.Statfs_t
	if err := unix.Statfs(v.Dir, &fs); err != nil {
		slog.Warn("cannot read the size of the cache's volume", "folder", v.Dir, "error", err)
		return
	}
	s, block := sink{out}, float64(cmp.Or(fs.Frsize, fs.Bsize))
	s.gauge(volumeSize, float64(fs.Blocks)*block)
	s.gauge(volumeFree, float64(fs.Bavail)*block)
}
