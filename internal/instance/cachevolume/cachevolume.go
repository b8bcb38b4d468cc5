// Package cachevolume measures the volume that holds a cache: its size, its free space, and the age of the objects.
//
// nginx reports neither how old its objects are nor which it removes. Reading the times of millions of files would take
// longer than it is worth, so a few folders are sampled. nginx distributes objects to folders by a hash, so a sample
// does not depend on what an object is.
package cachevolume

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"example.com/nginx-operator/internal/instanceapi"
)

const (
	// pause is the time between two measurements. What is older than freshness is not exported: a volume that does not
	// answer must not look as if nothing happened there.
	pause     = 30 * time.Second
	freshness = 4 * pause
	// A sample has at most so many objects, from at most so many folders.
	maxObjects = 64
	maxFolders = 16
)

var (
	size = prometheus.NewDesc("nginx_cache_volume_size_bytes", "Size of the file system that holds the cache.", nil, nil)
	free = prometheus.NewDesc("nginx_cache_volume_free_bytes", "Free space of the file system that holds the cache, as far as nginx may use it.", nil, nil)
	age  = prometheus.NewDesc("nginx_cache_object_age_seconds", "Time since objects of the cache were stored, as quantiles of a sample.", []string{"quantile"}, nil)
)

// quantiles are those of the age.
var quantiles = []float64{0.5, 0.9}

// Volume measures a volume.
type Volume struct {
	dir string
	now func() time.Time

	mu   sync.Mutex
	last measurement
}

type measurement struct {
	at         time.Time
	size, free float64
	// ages are the ages of the sampled objects in seconds, the lowest first.
	ages []float64
}

// New returns a Volume for a folder on it.
func New(dir string, now func() time.Time) *Volume { return &Volume{dir: dir, now: now} }

// Run measures until ctx is done. A volume that hangs blocks nothing else.
func (v *Volume) Run(ctx context.Context) {
	for {
		v.measure()
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (v *Volume) measure() {
	var fs unix.Statfs_t
	if err := unix.Statfs(v.dir, &fs); err != nil {
		slog.Warn("cannot read the size of the cache's volume", "folder", v.dir, "error", err)
		return
	}
	block := float64(cmp.Or(fs.Frsize, fs.Bsize))
	m := measurement{at: v.now(), size: float64(fs.Blocks) * block, free: float64(fs.Bavail) * block, ages: v.sample()}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last = m
}

// sample returns the ages of some objects.
func (v *Volume) sample() []float64 {
	var ages []float64
	for range maxFolders {
		folder := filepath.Join(v.dir, instanceapi.DirObjects)
		for range 2 {
			folder = filepath.Join(folder, random(names(folder, -1)))
		}
		for _, name := range names(folder, maxObjects-len(ages)) {
			// nginx may have removed it by now.
			info, err := os.Lstat(filepath.Join(folder, name))
			if err == nil && info.Mode().IsRegular() {
				ages = append(ages, max(0, v.now().Sub(info.ModTime()).Seconds()))
			}
		}
		if len(ages) >= maxObjects {
			break
		}
	}
	slices.Sort(ages)
	return ages
}

// names returns at most limit names in a folder, or all if it is negative. A folder that does not exist has none.
func names(folder string, limit int) []string {
	if limit == 0 {
		return nil
	}
	file, err := os.Open(folder) //nolint:gosec // the folders below that of the cache
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }() // it was only read
	found, err := file.Readdirnames(limit)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	return found
}

// random returns one of names, or one that does not exist if there are none.
func random(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return names[rand.IntN(len(names))]
}

// Describe implements prometheus.Collector.
func (v *Volume) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{size, free, age} {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (v *Volume) Collect(out chan<- prometheus.Metric) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.now().Sub(v.last.at) > freshness {
		return
	}
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	gauge(size, v.last.size)
	gauge(free, v.last.free)
	if n := len(v.last.ages); n > 0 {
		for _, q := range quantiles {
			gauge(age, v.last.ages[min(n-1, int(q*float64(n)))], strconv.FormatFloat(q, 'g', -1, 64))
		}
	}
}
