// Package instance assembles the instance manager, which is process 1 of every nginx container: it
// supervises nginx, follows the requests of the operator, and reports what nginx actually serves.
package instance

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/nginx-operator/internal/instance/assemble"
	"example.com/nginx-operator/internal/instance/cachevolume"
	"example.com/nginx-operator/internal/instance/certs"
	"example.com/nginx-operator/internal/instance/checks"
	"example.com/nginx-operator/internal/instance/codeguard"
	"example.com/nginx-operator/internal/instance/confine"
	"example.com/nginx-operator/internal/instance/handover"
	"example.com/nginx-operator/internal/instance/health"
	"example.com/nginx-operator/internal/instance/journal"
	"example.com/nginx-operator/internal/instance/keypipe"
	"example.com/nginx-operator/internal/instance/limits"
	"example.com/nginx-operator/internal/instance/metrics"
	"example.com/nginx-operator/internal/instance/nginx"
	"example.com/nginx-operator/internal/instance/orders"
	"example.com/nginx-operator/internal/instance/proc"
	"example.com/nginx-operator/internal/instance/purge"
	"example.com/nginx-operator/internal/instance/reap"
	"example.com/nginx-operator/internal/instance/requestlog"
	"example.com/nginx-operator/internal/instance/server"
	"example.com/nginx-operator/internal/instance/store"
	"example.com/nginx-operator/internal/instance/supervise"
	"example.com/nginx-operator/internal/instance/volumes"
	"example.com/nginx-operator/internal/instance/window"
	"example.com/nginx-operator/internal/instanceapi"
)

// The memory of the instance manager is paid for in every pod, so a small heap is worth more than
// the time to collect it.
const (
	gcPercent   = 25
	memoryLimit = 24 << 20
)

// Run runs an instance until it is signaled to stop and nginx has finished.
func Run(o Options) error {
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(memoryLimit)
	// There is little work, and idle threads that look for it would cost more. This also bounds the
	// CPU time that process 1 takes from nginx under load.
	runtime.GOMAXPROCS(1)
	// nginx, or Angie, would interpret the variable as sockets that an earlier nginx left open.
	for _, name := range []string{"NGINX", "ANGIE"} {
		if err := os.Unsetenv(name); err != nil {
			return err
		}
	}
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT)
	defer cancel()
	// The HTTP server answers until nginx has finished.
	life, end := context.WithCancel(context.Background())
	defer end()
	err := run(stop, life, o)
	if err != nil {
		writeTerminationMessage(o.TerminationLog, err)
	}
	return err
}

func run(stop, life context.Context, o Options) error {
	children := reap.NewChildren()
	go reapOrphans(life, children)
	if err := os.MkdirAll(o.State, 0o750); err != nil {
		return fmt.Errorf("prepare the scratch space: %w", err)
	}
	binary, err := nginx.Find(life, children)
	if err != nil {
		return err
	}
	restoreFolders(binary.Build)
	warnOfEntrypoint()
	registry := prometheus.NewRegistry()
	requests, err := logRequests(life, o, registry)
	if err != nil {
		return err
	}
	binary.Hidden, binary.Guarded = deniedPaths(o), guarded()
	purges, err := newPurges(o)
	if err != nil {
		return err
	}
	receiver := orders.NewReceiver(o.PodUID, orders.NewTrustFile(o.Next).Trust)
	supervisor, err := newSupervisor(life, o, binary, requests, receiver, purges)
	if err != nil {
		return err
	}
	go supervisor.Checks.Run(life)
	go supervisor.Readiness.Run(life)
	doctor := &health.Doctor{Snapshot: supervisor.Snapshot, Failing: supervisor.NotReadyReason, Sockets: &proc.Diag{Fallback: proc.Root}, Proc: proc.Root, Version: o.Version}
	registry.MustRegister(&metrics.Collector{Doctor: doctor, Orders: receiver, StatusClient: supervisor.StatusClient()})
	volume := newVolume(o, registry)
	handler := server.Handler(server.Sources{
		Doctor: doctor, Metrics: registry, Recent: requests.Ring, InProgress: supervisor.StatusClient().InProgress, Orders: receiver, Supervisor: supervisor,
		Purges: purges, Cache: volume,
	})
	if err := server.Serve(life, o.Listen, handler); err != nil {
		return err
	}
	// What follows may read all stored objects, which takes longer than the kubelet waits for an answer.
	if volume != nil {
		if err := volume.Start(stop, life); err != nil {
			return err
		}
		defer volume.Close()
	}
	if purges != nil {
		// nginx must not answer with what was purged while the pod was away.
		if err := purges.CatchUp(stop); err != nil {
			return err
		}
		go purges.Watch(life)
	}
	slog.Info("started", "version", o.Version, "nginx", binary.Build.Product, "program", binary.Path)
	return supervisor.Run(stop)
}

// newPurges returns what purges the pod's cache; nil if the pod has none.
func newPurges(o Options) (*purge.Keeper, error) {
	if o.CacheDir == "" {
		return nil, nil //nolint:nilnil // a nil Keeper reports nothing
	}
	return purge.NewKeeper(filepath.Join(o.CacheDir, instanceapi.DirPurged), o.Purges, purge.Objects{
		Dir: filepath.Join(o.CacheDir, instanceapi.DirObjects), Temporary: assemble.ProxyTempDir, AwaitWorkers: purge.AwaitWorkers,
	})
}

// newVolume returns the volume of the pod's cache; nil if the pod has none.
func newVolume(o Options, registry *prometheus.Registry) *cachevolume.Volume {
	if o.CacheDir == "" {
		return nil
	}
	volume := cachevolume.New(o.CacheDir, filepath.Join(o.State, instanceapi.FileCacheClosed), time.Now)
	registry.MustRegister(volume)
	return volume
}

// deniedPaths returns the paths below which nginx cannot open files.
func deniedPaths(o Options) []string {
	if err := confine.Supported(); err != nil {
		slog.Warn("nginx can open the mounted Secrets: every user who can change its configuration can read the private keys", "error", err)
		return nil
	}
	// A worker that opens its own memory, /proc/self/mem, reads the keys in it. JavaScript in a configuration can.
	return []string{o.Stable, o.Next, o.Secrets, o.Variables, certs.KeysDir(o.TLS), "/proc"}
}

// guarded reports whether nginx can be kept from loading code from where it can write.
func guarded() bool {
	err := codeguard.Supported()
	if err != nil {
		slog.Warn("nginx can load modules from places that it can write: every user who can change its configuration can read the private keys", "error", err)
	}
	return err == nil
}

func newSupervisor(life context.Context, o Options, binary nginx.Binary, requests requestMetrics, receiver *orders.Receiver, purges *purge.Keeper) (*supervise.Supervisor, error) {
	files, err := store.Open(o.State, configDirs(binary.Build)...)
	if err != nil {
		return nil, err
	}
	readers := &keypipe.Readers{Proc: proc.Root, Started: binary.Children.IsOwn}
	keeper, err := certs.NewKeeper(o.Secrets, o.TLS, o.Certificates, readers)
	if err != nil {
		return nil, err
	}
	loads, err := journal.Open(o.State)
	if err != nil {
		return nil, err
	}
	changed := make(chan struct{}, 1)
	volumes.Watch(life, slices.Concat([]string{o.Stable, o.Next}, keeper.WatchedFolders(), o.ReloadOn), changed)
	cgroup := os.DirFS("/sys/fs/cgroup")
	options := supervise.Options{
		Binary: binary, Store: files, Certs: keeper, Journal: loads,
		Stable: o.Stable, Next: o.Next, Follow: receiver.Follow,
		ReloadOn: o.ReloadOn,
		TLSDir:   o.TLS, Variables: o.Variables,
		Assembly: assemble.Settings{
			StateDir:            o.State,
			Workers:             limits.Workers(cgroup),
			DrainDelay:          o.DrainDelay,
			DrainTimeout:        o.DrainTimeout,
			KeepaliveMinTimeout: binary.KeepaliveMinTimeout,
			KeepaliveTime:       binary.Version.HasKeepaliveTime(),
			RequestMetrics:      o.RequestMetrics,
			CacheMetrics:        o.CacheDir != "",
			NameServers:         nameServers(),
			RequestLog:          o.requestLog(),
			Image:               imageFiles(binary.Build),
		},
		Ports: o.Ports, OwnPort: instanceapi.Port,
		DrainDelay: o.DrainDelay, DrainTimeout: o.DrainTimeout,
		Proc: proc.Root, Cgroup: cgroup, Messages: os.Stderr,
		Changed: changed, Signals: signals(life), Checks: &checks.Prober{}, Readiness: &checks.Prober{},
	}
	if o.CacheDir != "" {
		shard := handover.Shard{
			Dir: filepath.Join(o.CacheDir, instanceapi.DirObjects), Address: instanceapi.EndingAddress,
			Ending: filepath.Join(o.State, instanceapi.FileCacheEnding), Verify: purges.Verify,
		}
		if err := shard.Begin(); err != nil {
			return nil, err
		}
		options.BeforeDrain = shard.End
	}
	if o.RequestMetrics {
		options.Answers = requests
		options.Checks.Answered, options.Readiness.Answered = requests.CountOwnRequest, requests.CountOwnRequest
	}
	return supervise.New(options), nil
}

// signals returns a channel of the signals that do not stop nginx.
func signals(ctx context.Context) <-chan syscall.Signal {
	raw, passed := make(chan os.Signal, 1), make(chan syscall.Signal, 1)
	signal.Notify(raw, syscall.SIGHUP, syscall.SIGUSR1)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case s := <-raw:
				if number, ok := s.(syscall.Signal); ok {
					passed <- number
				}
			}
		}
	}()
	return passed
}

func reapOrphans(ctx context.Context, children *reap.Children) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ended:
			children.ReapOrphans(proc.Root)
		}
	}
}

// requestMetrics counts nginx's responses; zero: they are not counted.
type requestMetrics struct {
	*requestlog.Log
	*window.Ring
}

// logRequests counts requests in the background, if that is enabled.
func logRequests(ctx context.Context, o Options, registry *prometheus.Registry) (requestMetrics, error) {
	if !o.RequestMetrics {
		return requestMetrics{}, nil
	}
	recent, measured := window.NewRing(time.Now), requestlog.NewMetrics(registry)
	if o.CacheDir != "" {
		measured.Cache = requestlog.NewCacheMetrics(registry)
	}
	requests, err := requestlog.Open(o.requestLog(), measured, recent)
	if err != nil {
		return requestMetrics{}, err
	}
	go func() {
		if err := requests.Run(ctx); err != nil {
			slog.Error("requests are no longer measured", "error", err)
		}
	}()
	return requestMetrics{requests, recent}, nil
}
