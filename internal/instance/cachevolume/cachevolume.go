// Package cachevolume watches the volume that holds a cache: its size and free space, the number and age of the objects,
// since when it has been filled, and whether nginx can store more on it.
//
// nginx reports neither how many objects it has, nor how old they are. Reading millions of files would take longer than it
// is worth, so a few folders are sampled. nginx distributes objects to folders by a hash, so a sample does not depend on
// what an object is.
package cachevolume

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/nginx-operator/internal/instanceapi"
)

const (
	// pause is the time between two measurements. What is older than freshness is not exported: a volume that does not
	// answer must not look as if nothing happened there.
	pause     = 30 * time.Second
	freshness = 4 * pause
	// A sample ends with the folder in which it has so many objects. The ages are those of maxAges of them.
	maxObjects = 4096
	maxAges    = 64
)

var (
	size = prometheus.NewDesc("nginx_cache_volume_size_bytes", "Size of the file system that holds the cache.", nil, nil)
	free = prometheus.NewDesc("nginx_cache_volume_free_bytes", "Free space of the file system that holds the cache, as far as nginx may use it.", nil, nil)
	age  = prometheus.NewDesc("nginx_cache_object_age_seconds", "Time since objects of the cache were stored, as quantiles of a sample.", []string{"quantile"}, nil)
)

// quantiles are those of the age.
var quantiles = []float64{0.5, 0.9}

// Volume watches a volume.
type Volume struct {
	dir string
	now func() time.Time
	// closed is the file that exists while nginx is to store no objects.
	closed string
	// statfs is fileSystemOf, except in tests.
	statfs func(dir string) (fileSystem, error)
	// failed is why nginx could not be told whether to store objects; nil if it was.
	failed error

	mu    sync.Mutex
	since time.Time
	// problem is why no objects are stored; empty if they are.
	problem string
	last    measurement
}

type measurement struct {
	at         time.Time
	size, free float64
	// objects is an estimate of their number.
	objects int64
	// ages are the ages of the sampled objects in seconds, the lowest first.
	ages []float64
}

// New returns the volume with a folder, of which nothing is known yet. closed is the file that is to exist while nothing can be
// stored there.
func New(dir, closed string, now func() time.Time) *Volume {
	return &Volume{dir: dir, now: now, closed: closed, statfs: fileSystemOf}
}

// Start watches the volume until life is done. When it returns nil, it is known since when the volume has been filled, and
// nginx may begin to fill it: call Close after nginx has ended. Until then, it may read as many files as there are objects, on
// a volume that may be slow: it ends with the error of stop when that is done.
func (v *Volume) Start(stop, life context.Context) error {
	if err := v.removeUnsynced(stop); err != nil {
		return err
	}
	v.begin()
	v.check()
	// A volume that hangs blocks nothing else.
	go repeat(life, v.check)
	go repeat(life, func() time.Duration { v.measure(); return pause })
	go repeat(life, func() time.Duration { v.sync(); return syncPause })
	return nil
}

// repeat calls do now, and each time after the pause that it returns, until ctx is done.
func repeat(ctx context.Context, do func() time.Duration) {
	for {
		pause := do()
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// Close notes that all objects are on the disk, after nginx has ended.
func (v *Volume) Close() { v.sync() }

// Report returns the state of the volume; nil if it is not known.
func (v *Volume) Report() *instanceapi.Cache {
	if v == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.problem == "" && v.now().Sub(v.last.at) > freshness {
		return nil
	}
	report := &instanceapi.Cache{Objects: v.last.objects, Size: int64(v.last.size), Free: int64(v.last.free), Problem: v.problem}
	if !v.since.IsZero() {
		report.Since = new(v.since)
	}
	return report
}

func (v *Volume) measure() {
	fs, err := v.statfs(v.dir)
	if err != nil {
		slog.Warn("cannot read the size of the cache's volume", "folder", v.dir, "error", err)
		return
	}
	m := measurement{at: v.now(), size: fs.size, free: fs.free}
	m.objects, m.ages = v.sample()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last = m
}

// sample estimates the number of objects, and returns the ages of some.
func (v *Volume) sample() (stored int64, ages []float64) {
	folders := v.folders()
	rand.Shuffle(len(folders), func(i, j int) { folders[i], folders[j] = folders[j], folders[i] })
	seen, read := 0, 0
	for _, folder := range folders {
		found := names(folder)
		seen, read = seen+len(found), read+1
		for _, name := range found[:min(len(found), maxAges-len(ages))] {
			// nginx may have removed it by now.
			info, err := os.Lstat(filepath.Join(folder, name))
			if err == nil && info.Mode().IsRegular() {
				ages = append(ages, max(0, v.now().Sub(info.ModTime()).Seconds()))
			}
		}
		if seen >= maxObjects {
			break
		}
	}
	slices.Sort(ages)
	if read > 0 {
		stored = int64(seen) * int64(len(folders)) / int64(read)
	}
	return stored, ages
}

// folders returns the folders that can have objects.
func (v *Volume) folders() []string {
	var all []string
	top := filepath.Join(v.dir, instanceapi.DirObjects)
	for _, first := range names(top) {
		for _, second := range names(filepath.Join(top, first)) {
			all = append(all, filepath.Join(top, first, second))
		}
	}
	return all
}

// names returns the names in a folder. A folder that cannot be read has none.
func names(folder string) []string {
	file, err := os.Open(folder) //nolint:gosec // the folders below that of the cache
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }() // it was only read
	found, err := file.Readdirnames(-1)
	if err != nil {
		return nil
	}
	return found
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
