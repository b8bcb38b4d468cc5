//go:build instance

// Package cache tests the configurations of caches with real nginx: an edge and a shard, an origin in this process, and
// clients that see everything. test/e2e tests what pods, volumes and Services do.
package cache

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/cache/cacheconf"
	"example.com/nginx-operator/internal/instance/assemble"
	"example.com/nginx-operator/internal/instance/purge"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/test/internal/kubetest"
	"example.com/nginx-operator/test/load"
	"example.com/nginx-operator/test/standin/container"
)

var must = kubetest.Must

// image is the image whose nginx can run caches.
const image = "forky"

// root is the root file system of the image.
var root string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getuid() != 0 {
		fmt.Fprintln(os.Stderr, "these tests change the root directory of nginx: run them as root")
		return 1
	}
	dir, err := os.MkdirTemp("", "nginx-cache-")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		root, err = unpack(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func unpack(dir string) (string, error) {
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	folder := os.Getenv("INSTANCE_IMAGES")
	if folder == "" {
		folder = "../../bin/images"
	}
	images, err := container.Images(folder, dir)
	if err != nil {
		return "", err
	}
	return images[image], nil
}

// tiers are an edge and a shard, each an nginx of its own.
type tiers struct {
	origin *origin
	// edge is the address of the edge, and tls that for https.
	edge, tls string
	// shardAddress is the address of the shard.
	shardAddress string
	// pairs are the certificates by name, and authority has signed them.
	pairs     map[string]load.Pair
	authority *load.Authority
	// ending is the address where the nginx of the shard passes requests on to the others.
	ending string
	// chance makes the edge store one of four answers. Otherwise it stores all, so that tests know what it has.
	chance bool
	// shortTimeouts shortens the times that nginx waits, such as from 60 seconds to 2 for an answer.
	shortTimeouts bool
	// smallZones makes the zones of limit_req small, in which nginx keeps the objects that requests wait for.
	smallZones bool
	// fullZones leaves both caches room for a few hundred keys.
	fullZones bool
	// workers is the number of workers of each nginx; 0: one, with which an object is stored before its client has the answer.
	workers int
	// shard and edgeProcess are the processes of the shard and of the edge.
	shard, edgeProcess *exec.Cmd
	// purged are what was purged from the shard and from the edge.
	purged [2]*purge.Store
	// logs are the request logs of the shard and of the edge.
	logs [2]string
	// tempDir is the folder of the temporary files of the edge, and of the bodies that it gets.
	tempDir string
	// volume is the folder of the shard's volume, and closed the file that keeps it from storing objects.
	volume, closed string
	// volumeSize is the size of the volume in bytes; 0: it is a folder of this machine.
	volumeSize int
}

// start starts an origin, a shard and an edge for a cache that is declared by change.
func start(t *testing.T, change func(*v1alpha1.NginxCacheSpec)) *tiers {
	t.Helper()
	return startTiers(t, newOrigin(t), declare(change), map[string]string{"shard.test": freePorts(t, 1)[0]})
}

// startOnVolume does the same with a volume of a size, in bytes, for the shard.
func startOnVolume(t *testing.T, size int) *tiers {
	t.Helper()
	s := &tiers{origin: newOrigin(t), volumeSize: size}
	s.start(t, declare(nil), map[string]string{"shard.test": freePorts(t, 1)[0]})
	return s
}

// peerKey is what the edges and shards of these tests send to shards.
const peerKey = "abcd"

// declare returns a cache that is declared by change, with one shard.
func declare(change func(*v1alpha1.NginxCacheSpec)) cacheconf.Input {
	cache := &v1alpha1.NginxCache{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "front"}}
	cache.Spec.Origins = []v1alpha1.Origin{{Name: "app", Service: &v1alpha1.ServiceReference{Name: "app"}}}
	cache.Spec.Defaults = v1alpha1.Defaults{TTL: "10m", StaleWhileRevalidate: "0", StaleIfError: "1h"}
	if change != nil {
		change(&cache.Spec)
	}
	return cacheconf.Input{
		Cache: cache, Shards: cacheconf.Peers{"shard.test"}, HotSize: 64 << 20, ShardSize: 256 << 20, MinFree: 1 << 20,
		Cluster: cacheconf.Cluster{Domain: "test"}, Keys: cacheconf.NextPeerKeys(peerKey, nil, false),
	}
}

// startTiers starts a shard and an edge in front of an origin. ports are those of shards, by their names.
func startTiers(t *testing.T, origin *origin, in cacheconf.Input, ports map[string]string) *tiers {
	t.Helper()
	s := &tiers{origin: origin}
	s.start(t, in, ports)
	return s
}

func (s *tiers) start(t *testing.T, in cacheconf.Input, ports map[string]string) {
	t.Helper()
	s.pairs = map[string]load.Pair{}
	free := freePorts(t, 8)
	s.issue(t, in.Cache.Spec.TLS)
	addresses := func(listen string, internal ...string) map[string]string {
		all := map[string]string{"listen 80;": "listen " + listen + ";", "listen 443 ssl;": "listen " + s.tls + " ssl;"}
		for i, port := range internal {
			all[fmt.Sprintf("127.0.0.1:818%d", i)] = "127.0.0.1:" + port
		}
		for name, port := range ports {
			all[name+":80 resolve"] = "127.0.0.1:" + port
		}
		return all
	}
	shardFiles, err := cacheconf.Shard(in)
	must(t, err)
	s.shardAddress = "127.0.0.1:" + ports[in.Shards[0]]
	s.ending = "127.0.0.1:" + free[3]
	s.shard, s.purged[0], s.logs[0] = s.run(t, in.Shards[0], shardFiles, addresses("127.0.0.1:"+ports[in.Shards[0]], free[:4]...))
	edgeFiles, err := cacheconf.Edge(in)
	must(t, err)
	s.edge, s.tls = "127.0.0.1:"+free[5], "127.0.0.1:"+free[7]
	s.edgeProcess, s.purged[1], s.logs[1] = s.run(t, "edge-of-"+in.Shards[0], edgeFiles, addresses(s.edge, free[6]))
}

// run runs an nginx with files in which the addresses are those of this machine. It returns what the instance manager of
// a pod would have of it.
func (s *tiers) run(t *testing.T, name string, files cacheconf.Files, addresses map[string]string) (process *exec.Cmd, purged *purge.Store, log string) {
	t.Helper()
	folder := filepath.Join("/cache", filepath.Base(t.TempDir())+t.Name()[len("Test"):], name)
	must(t, os.MkdirAll(filepath.Join(root, folder, "temp"), 0o755))
	addresses["app.shop.svc.test:80 resolve"] = s.origin.address
	addresses["$hostname"] = name
	if !s.chance {
		addresses["    75% 1;\n"] = ""
	}
	s.shrinkZones(addresses)
	timeouts := ""
	if s.shortTimeouts {
		timeouts = "proxy_read_timeout 2s;"
		maps.Copy(addresses, map[string]string{"proxy_cache_lock_timeout 15s;": "proxy_cache_lock_timeout 1s;", "proxy_read_timeout 120s;": "proxy_read_timeout 4s;"})
	}
	addresses[cacheconf.Dir], addresses["/dev/stdout"] = folder+"/cache", folder+"/access.log"
	addresses[instanceapi.DirState+"/"+instanceapi.FileCacheClosed] = folder + "/closed"
	addresses[instanceapi.DirState+"/"+instanceapi.FileCacheEnding] = folder + "/ending"
	if !strings.HasPrefix(name, "edge-of-") {
		s.volume, s.closed = filepath.Join(root, folder, "cache"), filepath.Join(root, folder, "closed")
		s.mountVolume(t)
	} else {
		s.tempDir = filepath.Join(root, folder, "temp")
	}
	addresses["/etc/nginx/tls/"] = folder + "/tls/"
	for name, pair := range s.pairs {
		dir := filepath.Join(root, folder, "tls", name)
		must(t, os.MkdirAll(dir, 0o755))
		must(t, os.WriteFile(dir+"/tls.crt", []byte(pair.Certificate), 0o600))
		must(t, os.WriteFile(dir+"/tls.key", []byte(pair.Key), 0o600))
	}
	files, format := withRequestLog(files, folder+"/requests.log")
	cache := filepath.Join(root, folder, "cache")
	purged, err := purge.Open(filepath.Join(cache, instanceapi.DirPurged), purge.Objects{
		Dir: filepath.Join(cache, instanceapi.DirObjects), Temporary: filepath.Join(root, folder, "temp/proxy"), AwaitWorkers: purge.AwaitWorkers,
	})
	must(t, err)
	var includes strings.Builder
	for _, file := range slices.Sorted(maps.Keys(files)) {
		text := s.origin.withSecond(files[file])
		for from, to := range addresses {
			text = strings.ReplaceAll(text, from, to)
		}
		must(t, os.WriteFile(filepath.Join(root, folder, file), []byte(text), 0o644))
		if strings.HasSuffix(file, ".conf") {
			includes.WriteString("include " + file + ";\n")
		}
	}
	main := fmt.Sprintf(`user root;
daemon off;
worker_processes %[5]d;
pid %[1]s/pid;
error_log stderr warn;
events {}
http {
%[3]s
%[4]s
proxy_temp_path %[1]s/temp/proxy;
client_body_temp_path %[1]s/temp/body;
%[2]s}
`, folder, includes.String(), format, timeouts, cmp.Or(s.workers, 1))
	must(t, os.WriteFile(filepath.Join(root, folder, "main"), []byte(main), 0o644))
	var output strings.Builder
	command := exec.Command("/usr/sbin/nginx", "-c", folder+"/main", "-p", folder)
	command.Dir, command.SysProcAttr = "/", &syscall.SysProcAttr{Chroot: root}
	command.Stdout, command.Stderr = &output, &output
	must(t, command.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait() // A test may kill it.
	}()
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM) // It may have ended already.
		<-ended
		if t.Failed() {
			t.Logf("%s: %s", name, output.String())
		}
		if !strings.HasPrefix(name, "edge-of-") {
			s.unmountVolume(t)
		}
		must(t, os.RemoveAll(filepath.Join(root, folder)))
	})
	kubetest.Poll{Timeout: 10 * time.Second, Interval: 10 * time.Millisecond}.Eventually(t, name+" listens", func() error {
		select {
		case <-ended:
			return fmt.Errorf("nginx has ended: %s", output.String())
		default:
		}
		_, err := os.Stat(filepath.Join(root, folder, "pid"))
		return err
	})
	return command, purged, filepath.Join(root, folder, "requests.log")
}

// shrinkZones gives the zones the sizes that the test wants.
func (s *tiers) shrinkZones(addresses map[string]string) {
	if s.fullZones {
		addresses["keys_zone=shard:8m"], addresses["keys_zone=hot:8m"] = "keys_zone=shard:64k", "keys_zone=hot:64k"
	}
	if s.smallZones {
		addresses[":4m rate="] = ":64k rate="
	}
}

// withRequestLog returns the files as the instance manager edits them for its request log, and the definition of the log.
func withRequestLog(files cacheconf.Files, path string) (edited cacheconf.Files, definition string) {
	assembled := assemble.Files(files, assemble.Settings{RequestMetrics: true, CacheMetrics: true, RequestLog: path, Revision: "0123456789abcdef"})
	edited = cacheconf.Files{}
	var lines []string
	for name, text := range assembled.Files {
		if !assemble.Generated(name) {
			edited[name] = text
			continue
		}
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "log_format ") || strings.HasPrefix(line, "access_log "+path) {
				lines = append(lines, line)
			}
		}
	}
	return edited, strings.Join(lines, "")
}

// nextPort is the next port that a test may get. The kernel gives connections ports above 32768.
var nextPort = func() *atomic.Int64 {
	first := &atomic.Int64{}
	first.Store(10_000 + rand.Int64N(10_000))
	return first
}()

// freePorts returns numbers of ports that nobody listens on, and that no other test gets.
func freePorts(t *testing.T, n int) []string {
	t.Helper()
	ports := make([]string, 0, n)
	for len(ports) < n {
		port := strconv.FormatInt(nextPort.Add(1), 10)
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		must(t, listener.Close())
		ports = append(ports, port)
	}
	return ports
}
