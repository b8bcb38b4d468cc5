// Package cacheconf writes the nginx configuration of an NginxCache's two tiers. It is pure.
//
// A request passes three servers. That of an edge and that of a shard have a cache each. Behind both is the gateway, a
// server on a socket of the same nginx that asks the origin, and turns what the origin says about freshness into headers
// that mean the same to both caches: a time at which freshness ends, not a duration that would begin anew in the next
// cache.
//
//	client → edge → shard → gateway of the shard → origin
//	           └───────────► gateway of the edge ───┘     what is not cached, and everything while no shard answers
//
// While objects are handed over, because the number of shards has changed or a shard ends, another server is between a shard
// and its gateway, which asks the previous owner of an object first.
package cacheconf

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"net/url"
	"path"
	"slices"
	"text/template"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/naming"
)

// Port is the number of the port that both tiers listen on, and TLSPort that of the edges for https.
const (
	Port    = 80
	TLSPort = 443
)

// Dir is the folder of a pod's cache. A volume is mounted there, with a folder for the objects and one for what was purged.
// nginx follows links there with each request, which takes longer, the more folders the path has.
const Dir = "/nginx-cache"

// Files maps the names of configuration files to their contents.
type Files map[string]string

//go:embed templates/*.tmpl
var templateFiles embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{"quote": quote, "previous": func(n int) int { return n - 1 }}).ParseFS(templateFiles, "templates/*.tmpl"))

// Peers are the DNS names of the shards' Services, in the order of their ordinals. The ring is made of them, so a shard
// that is restarted or moved keeps its objects.
type Peers []string

// NewPeers returns the names of the Services of a StatefulSet's pods.
func NewPeers(statefulSet, namespace, clusterDomain string, replicas int) Peers {
	peers := make(Peers, 0, replicas)
	for n := range replicas {
		peers = append(peers, fmt.Sprintf("%s.%s.svc.%s", naming.Pod(statefulSet, n), namespace, clusterDomain))
	}
	return peers
}

// Input is what the configuration is written from.
type Input struct {
	Cache *v1alpha1.NginxCache
	// Shards are the names of the shards.
	Shards Peers
	// Previous are those of the ring before, whose objects are being handed over; none if none are.
	Previous Peers
	// HotSize and ShardSize bound the caches of an edge and of a shard, in bytes.
	HotSize, ShardSize int64
	// MinFree is how much of the volume of a shard stays free, in bytes.
	MinFree int64
	// Ports are those of the NginxOperators that are origins, by name; 80 if none is known.
	Ports   map[string]int32
	Cluster Cluster
	Keys    PeerKeys
}

// Cluster is what configurations depend on beyond the cache.
type Cluster struct {
	// Domain is the DNS domain of the cluster, such as cluster.local.
	Domain string
	// IPFamily is the first address family of the cluster; empty: it is unknown.
	IPFamily corev1.IPFamily
}

// edgeIPv6 reports whether clients may reach the edges by IPv6. A pod of a cluster without IPv6 may not be able to listen.
func (in Input) edgeIPv6() bool {
	service := ptr.Deref(in.Cache.Spec.Service, v1alpha2.Service{})
	policy := ptr.Deref(service.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack)
	return in.shardIPv6() || policy == corev1.IPFamilyPolicyRequireDualStack || slices.Contains(service.IPFamilies, corev1.IPv6Protocol)
}

// shardIPv6 reports whether the Services of the shards have IPv6 addresses.
func (in Input) shardIPv6() bool { return in.Cluster.IPFamily == corev1.IPv6Protocol }

// Edge returns the configuration of the edges.
func Edge(in Input) (Files, error) {
	return in.render("spec.edge.config", in.Cache.Spec.Edge.Config, map[string]any{
		"edge.conf": map[string]any{
			"Servers": servers(in.Cache.Spec.TLS), "TLSPort": TLSPort, "Dir": Dir, "Port": Port, "Shards": in.Shards, "Size": in.HotSize, "Zone": zoneSize(in.HotSize),
			"IPv6": in.edgeIPv6(), "PeerKey": in.Keys.Edge,
		},
		"nginx-cache-edge-server": map[string]any{"Slices": sliceSizes(in.Cache.Spec)},
		"nginx-cache-generation":  newGeneration(Dir),
		"nginx-cache-epoch":       newGeneration(Dir),
		"nginx-cache-edge":        nil,
		"nginx-cache-edge-stored": nil,
		"metrics.conf":            metrics{Variable: instanceapi.VariableCacheLog, Tier: v1alpha1.TierEdge, Shards: v1alpha1.TierShards},
	})
}

// Shard returns the configuration of the shards.
func Shard(in Input) (Files, error) {
	purged, handover, others := path.Join(Dir, instanceapi.DirPurged), len(in.Previous) > 0, in.others()
	files := map[string]any{
		"nginx-cache-generation": newGeneration(Dir),
		"nginx-cache-epoch":      newGeneration(Dir),
		"shard.conf": map[string]any{
			"Dir": Dir, "Port": Port, "Size": in.ShardSize, "MinFree": in.MinFree, "Zone": zoneSize(in.ShardSize),
			"IPv6": in.shardIPv6(), "PeerKey": in.Keys.Shard, "AcceptedKeys": in.Keys.Accepted,
			"Purged": purged, "Handover": handover, "Others": others, "Slices": sliceSizes(in.Cache.Spec),
			"Closed": path.Join(instanceapi.DirState, instanceapi.FileCacheClosed),
			"Ending": path.Join(instanceapi.DirState, instanceapi.FileCacheEnding),
		},
		"metrics.conf": metrics{Variable: instanceapi.VariableCacheLog, Tier: v1alpha1.TierShards},
	}
	if handover || len(others) > 0 {
		files["handover.conf"] = map[string]any{
			"Port": Port, "Handover": handover, "Previous": in.Previous, "Others": others, "Purged": purged, "EndingAddress": instanceapi.EndingAddress,
		}
	}
	return in.render("spec.shards.config", in.Cache.Spec.Shards.Config, files)
}

// others returns the shards that a shard which ends hands its objects over to; none if it does not.
func (in Input) others() Peers {
	if len(in.Shards) < 2 || Seconds(in.Cache.Spec.Shards.HandOver) == 0 {
		return nil
	}
	return in.Shards
}

// metrics is the data of the template of what is counted.
type metrics struct {
	Variable string
	// Tier is the tier of the pod, and Shards the tier that it requests from, if there is one.
	Tier, Shards string
}

// render returns the files of a tier: its own ones, by the data of their templates, those that both tiers have, and those
// that a user declares in a field.
func (in Input) render(field string, extra *v1alpha1.Config, own map[string]any) (Files, error) {
	rules, err := newRules(in.Cache.Spec)
	if err != nil {
		return nil, err
	}
	if err := validateSizes(in.Cache.Spec); err != nil {
		return nil, err
	}
	own["nginx-cache-slice"] = nil
	own["nginx-cache-request"] = map[string]any{"Common": common(), "Declared": rules.Headers}
	own["00-hash.conf"], own["rules.conf"], own["gateway.conf"], own["age.conf"] = nil, rules, in.gateway(), newAge()
	files := Files{}
	for name, data := range own {
		var text bytes.Buffer
		if err := templates.ExecuteTemplate(&text, name+".tmpl", data); err != nil {
			return nil, err
		}
		files[name] = text.String()
	}
	return files, files.add(field, extra)
}

// zoneSize returns the size of the shared memory for the keys of a cache, in MiB. A mebibyte holds about 8,000 keys
// (https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_cache_path), and objects of 32 KiB are assumed.
func zoneSize(cacheSize int64) int64 {
	const object, keysPerMebibyte = 32 << 10, 8000
	return min(max(cacheSize/object/keysPerMebibyte, 8), 1024)
}

// origin is an origin as the gateway's template reads it.
type origin struct {
	Name string
	// Hosts are empty if it answers all requests that no other origin answers.
	Hosts  []string
	Server string
	// Host is the header of that name: the host that the client requested, or that of the URL.
	Host string
	// TLSName is the name that the certificate of an https server must have; empty for http.
	TLSName string
}

// gateway returns the data of the gateway's template.
func (in Input) gateway() map[string]any {
	var origins []origin
	for _, o := range in.Cache.Spec.Origins {
		origins = append(origins, in.origin(o))
	}
	d := in.Cache.Spec.Defaults
	return map[string]any{
		"Origins":     origins,
		"Slices":      sliceSizes(in.Cache.Spec),
		"NameLengths": nameLengths(),
		"TooLarge":    greaterThan(maxObjectSize(d)),
		"Stale": fmt.Sprintf("stale-while-revalidate=%d, stale-if-error=%d",
			Seconds(d.StaleWhileRevalidate), Seconds(d.StaleIfError)),
	}
}

// lengths is a range of lengths, both ends included.
type lengths struct{ Min, Max int }

// nameLengths returns the ranges of lengths for which a name takes the same room in a zone of limit_req: nginx allocates a power of
// two, and needs 80 bytes of it itself.
func nameLengths() (all []lengths) {
	const own, smallest, largest = 80, 256, 4096
	next := 1
	for room := smallest; room <= largest; room *= 2 {
		all = append(all, lengths{next, room - own})
		next = room - own + 1
	}
	return all
}

func (in Input) origin(o v1alpha1.Origin) origin {
	found := origin{Name: o.Name, Hosts: o.Hosts, Host: "$host"}
	if s := o.Service; s != nil {
		found.Server = in.service(s.Name, s.Port)
		return found
	}
	if n := o.NginxOperator; n != nil {
		found.Server = in.service(naming.Service(n.Name), in.Ports[n.Name])
		return found
	}
	// The schema allows only URLs that parse.
	u, err := url.Parse(ptr.Deref(o.URL, ""))
	if err != nil {
		return found
	}
	port := "80"
	found.Host = u.Host
	if u.Scheme == "https" {
		port, found.TLSName = "443", u.Hostname()
	}
	found.Server = u.Hostname() + ":" + cmp.Or(u.Port(), port)
	return found
}

// service returns the address of a Service of the cache's namespace.
func (in Input) service(name string, port int32) string {
	return fmt.Sprintf("%s.%s.svc.%s:%d", name, in.Cache.Namespace, in.Cluster.Domain, cmp.Or(port, 80))
}
