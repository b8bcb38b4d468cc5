package cacheconf

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/golden"
)

func full() Input {
	cache := &v1alpha1.NginxCache{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "front"}}
	cache.Spec = v1alpha1.NginxCacheSpec{
		Origins: []v1alpha1.Origin{
			{Name: "shop", Hosts: []string{"shop.example.com", "www.example.com"}, Service: &v1alpha1.ServiceReference{Name: "shop", Port: 8080}},
			{Name: "images", Hosts: []string{"images.example.com"}, URL: new("https://storage.example.org")},
			{Name: "others", URL: new("http://legacy.example.org:8000")},
		},
		Rules: []v1alpha1.Rule{
			{Match: v1alpha1.Match{PathPrefix: new("/static/")}, TTL: new(v1alpha1.Duration("1d")),
				Key: &v1alpha1.Key{QueryParameters: v1alpha1.QueryParameters{Include: []string{"v", "lang"}}}},
			{Match: v1alpha1.Match{Hosts: []string{"shop.example.com"}, PathPrefix: new("/cart")}, Bypass: new(true)},
			{Match: v1alpha1.Match{PathRegularExpression: new(`^/p/\d+"\.png$`)}, TTL: new(v1alpha1.Duration("0")),
				Key: &v1alpha1.Key{QueryParameters: v1alpha1.QueryParameters{Include: []string{}}}},
			{Match: v1alpha1.Match{Hosts: []string{"images.example.com"}}, TTL: new(v1alpha1.Duration("30d")), IgnoreCookies: new(true),
				Slice: new(resource.MustParse("1Mi"))},
		},
		TLS:      []v1alpha1.Certificate{{Name: "images", SecretName: "images", Hosts: []string{"images.example.com", "*.img.example.com"}}, {Name: "others", SecretName: "o"}},
		Defaults: v1alpha1.Defaults{TTL: "10m", StaleWhileRevalidate: "1h", StaleIfError: "1d"},
	}
	return Input{
		Cache: cache, Shards: NewPeers("front-shards", "shop", "cluster.local", 3),
		HotSize: 64 << 20, ShardSize: 18 << 30, MinFree: 1 << 30, Cluster: Cluster{Domain: "cluster.local"},
		Keys: PeerKeys{Edge: "2b", Shard: "1a", Accepted: []string{"2b", "1a"}},
	}
}

func TestGolden(t *testing.T) {
	for tier, build := range map[string]func(Input) (Files, error){"edge": Edge, "shard": Shard} {
		files, err := build(full())
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			golden.Compare(t, filepath.Join("testdata", tier, name), files[name])
		}
	}
}

// TestHandover: while objects are handed over, the shards have another file, and requests pass its server.
func TestHandover(t *testing.T) {
	in := full()
	before, err := Shard(in)
	if err != nil {
		t.Fatal(err)
	}
	in.Previous = in.Shards[:2]
	in.Cache.Spec.Shards.HandOver = "5m"
	during, err := Shard(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(during)) {
		if during[name] != before[name] {
			golden.Compare(t, filepath.Join("testdata", "handover", name), during[name])
		}
	}
	if len(during) != len(before)+1 {
		t.Errorf("%d files, and %d during a hand-over", len(before), len(during))
	}
}

// TestRules: the first rule that matches applies, a ^ is the start of the path, and a host is compared as a whole.
func TestRules(t *testing.T) {
	rules, err := newRules(full().Cache.Spec)
	if err != nil {
		t.Fatal(err)
	}
	matching := func(host, path string) int {
		for _, r := range rules.Rules {
			if regexp.MustCompile(r.Pattern).MatchString(host + "\n" + path) {
				return r.Number
			}
		}
		return -1
	}
	for request, want := range map[string]int{
		"shop.example.com /static/a.css": 0,
		"shop.example.com /static":       -1,
		"shop.example.com /a/static/b":   -1,
		"shop.example.com /cart/items":   1,
		"www.example.com /cart/items":    -1,
		"shopxexample.com /cart":         -1,
		"a.shop.example.com /cart":       -1,
		`www.example.com /p/12".png`:     2,
		`www.example.com /p/12".png/x`:   -1,
		`www.example.com /x/p/12".png`:   -1,
		"images.example.com /static/x":   0,
		"images.example.com /anything":   3,
		"evil.com/images.example.com /x": -1,
	} {
		host, path, _ := strings.Cut(request, " ")
		if got := matching(host, path); got != want {
			t.Errorf("%s: rule %d, want %d", request, got, want)
		}
	}
}

func TestInvalidRules(t *testing.T) {
	for name, match := range map[string]v1alpha1.Match{
		`spec.rules[0].match: pathPrefix: it contains the character '\n'`:                {PathPrefix: new("/a\n}")},
		`spec.rules[0].match: pathRegularExpression: it contains the character '\u200b'`: {PathRegularExpression: new("a\u200b")},
	} {
		in := full()
		in.Cache.Spec.Rules = []v1alpha1.Rule{{Match: match}}
		if _, err := Edge(in); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %s", err, name)
		}
	}
}

func TestSeconds(t *testing.T) {
	for d, want := range map[v1alpha1.Duration]int64{"90s": 90, "10m": 600, "12h": 43200, "1d": 86400, "0": 0, "": 0} {
		if got := Seconds(d); got != want {
			t.Errorf("%s: %d, want %d", d, got, want)
		}
	}
}

// TestAge: the maps subtract as numbers do.
func TestAge(t *testing.T) {
	a := newAge()
	table := map[string]subtraction{}
	for _, s := range a.Subtractions {
		table[s.Of] = s
	}
	for range 10000 {
		then := 1e9 + rand.Int64N(8e9)
		now := then + rand.Int64N(9e7)
		nowText, thenText := fmt.Sprintf("%010d", now), fmt.Sprintf("%010d", then)
		borrows, age := 0, int64(0)
		power := int64(1)
		for _, n := range a.Digits {
			s := table[fmt.Sprintf("%c%c%d", nowText[9-n], thenText[9-n], borrows)]
			age, borrows, power = age+int64(s.Digit)*power, s.Borrows, power*10
		}
		// Both are only the last digits: what the highest one borrows does not count.
		if age != now-then {
			t.Fatalf("%d - %d = %d", now, then, age)
		}
	}
}

// TestIPv6: nginx listens on IPv6 where its Service has such addresses.
func TestIPv6(t *testing.T) {
	dual := full()
	dual.Cache.Spec.Service = &v1alpha2.Service{IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}}
	primary := full()
	primary.Cluster.IPFamily = corev1.IPv6Protocol
	for name, tt := range map[string]struct {
		in          Input
		edge, shard bool
	}{"IPv4": {full(), false, false}, "edges only": {dual, true, false}, "the cluster": {primary, true, true}} {
		edge, err := Edge(tt.in)
		if err != nil {
			t.Fatal(err)
		}
		shard, err := Shard(tt.in)
		if err != nil {
			t.Fatal(err)
		}
		port, tls := fmt.Sprintf("listen [::]:%d;", Port), fmt.Sprintf("listen [::]:%d ssl;", TLSPort)
		if strings.Contains(edge["edge.conf"], port) != tt.edge || strings.Contains(edge["edge.conf"], tls) != tt.edge || strings.Contains(shard["shard.conf"], port) != tt.shard {
			t.Errorf("%s:\n%s\n%s", name, edge["edge.conf"], shard["shard.conf"])
		}
	}
}
