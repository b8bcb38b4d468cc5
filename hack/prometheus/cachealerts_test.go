package prometheus

import (
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

const (
	free   = `nginx_cache_volume_free_bytes{namespace="shop",nginxcache="front",tier="shards",pod="front-shards-0"} `
	size   = `nginx_cache_volume_size_bytes{namespace="shop",nginxcache="front",tier="shards",pod="front-shards-0"} `
	shard0 = `nginx_operator_cache_shard_ready{namespace="shop",name="front",shard="front-shards-0"} `
	shard1 = `nginx_operator_cache_shard_ready{namespace="shop",name="front",shard="front-shards-1"} `
)

// requests are the counters of an edge: rates are requests in an interval, for so many intervals each. Those that go
// around the cache are as many again.
func requests(stages ...[3]int) string {
	var hit, miss string
	hits, misses := 0, 0
	for _, s := range stages {
		// A stage has a sample more than intervals.
		hit += fmt.Sprintf("%d+%dx%d ", hits, s[0], s[2]-1)
		miss += fmt.Sprintf("%d+%dx%d ", misses, s[1], s[2]-1)
		hits, misses = hits+s[0]*s[2], misses+s[1]*s[2]
	}
	series := func(tier, result, source, values string) string {
		return fmt.Sprintf("nginx_cache_requests_total{namespace=\"shop\",nginxcache=\"front\",tier=%q,result=%q,source=%q,rule=\"default\"} %s\n", tier, result, source, values)
	}
	text := series("edge", "hit", "edge", hit) + series("edge", "bypass", "origin", hit) + series("shards", "miss", "origin", hit)
	if misses > 0 {
		text += series("edge", "miss", "origin", miss)
	}
	return text
}

// origin is the counter of requests of a gateway to an origin, by class.
func origin(pod, class, values string) string {
	return fmt.Sprintf("nginx_cache_origin_requests_total{namespace=\"shop\",nginxcache=\"front\",pod=%q,origin=\"app\",code=%q} %s", pod, class, values)
}

func TestCacheAlerts(t *testing.T) {
	const (
		falls, full, failing = "NginxCacheHitRatioFalls shop/front", "NginxCacheVolumeFull shop/front-shards-0", "NginxCacheOriginErrors shop/front"
		day                  = 26 * time.Hour
		intervals            = int(day / interval)
	)
	for _, tt := range []struct {
		name   string
		series []string
		at     time.Duration
		want   []string
	}{
		{"the hit ratio stays", []string{requests([3]int{5400, 600, 2 * intervals})}, 2 * day, nil},
		{"the hit ratio falls a little", []string{requests([3]int{5400, 600, intervals}, [3]int{4200, 1800, intervals})}, day + 2*time.Hour, nil},
		{"the hit ratio has fallen by half for 20 minutes", []string{requests([3]int{5400, 600, intervals}, [3]int{2700, 3300, intervals})}, day + 20*time.Minute, nil},
		{"the hit ratio has fallen by half for an hour and a half", []string{requests([3]int{5400, 600, intervals}, [3]int{2700, 3300, intervals})}, day + 90*time.Minute, []string{falls}},
		{"nothing is a hit any more", []string{requests([3]int{5400, 600, intervals}, [3]int{0, 6000, intervals})}, day + 90*time.Minute, []string{falls}},
		{"the hit ratio falls for a quarter of an hour", []string{requests([3]int{5400, 600, intervals}, [3]int{0, 6000, 3}, [3]int{5400, 600, intervals})}, day + 90*time.Minute, nil},
		{"the hit ratio of a few requests falls", []string{requests([3]int{54, 6, intervals}, [3]int{0, 60, intervals})}, day + 90*time.Minute, nil},
		{"a new cache is empty", []string{requests([3]int{0, 6000, 6}, [3]int{5400, 600, intervals})}, time.Hour, nil},
		{"everything is a hit", []string{requests([3]int{6000, 0, intervals})}, day, nil},
		{"nobody uses the cache any more", []string{requests([3]int{5400, 600, intervals}, [3]int{0, 0, intervals})}, day + 2*time.Hour, nil},

		{"a volume has as much space as nginx keeps free", []string{size + "100x48", free + "5x48"}, 4 * time.Hour, nil},
		{"a volume is full for ten minutes", []string{size + "100x48", free + "1x48"}, 10 * time.Minute, nil},
		{"a volume is full for a quarter of an hour", []string{size + "100x48", free + "1x48"}, 15 * time.Minute, []string{full}},
		{"a volume was full", []string{size + "100x48", free + "1x10 30x38"}, 4 * time.Hour, nil},

		{"all shards are ready", []string{shard0 + "1x48", shard1 + "1x48"}, 4 * time.Hour, nil},
		{"a shard is away for five minutes", []string{shard0 + "1x48", shard1 + "1 0 1x46"}, 10 * time.Minute, nil},
		{"a shard is away for ten minutes", []string{shard0 + "1x48", shard1 + "1 0x47"}, 15 * time.Minute, []string{"NginxCacheShardAway shop/front-shards-1"}},
		{"a rollout replaces one shard after the other", []string{shard0 + "1 0 1x46", shard1 + "1 1 0 1x45"}, 20 * time.Minute, nil},
		{"a shard was removed", []string{shard0 + "1x48", shard1 + "0 0 0 stale"}, 4 * time.Hour, nil},

		{"an origin answers", []string{origin("a", "2xx", "0+100x48"), origin("a", "5xx", "0x48")}, 4 * time.Hour, nil},
		{"an origin does not have many objects", []string{origin("a", "4xx", "0+100x48")}, 4 * time.Hour, nil},
		{"clients leave before an origin answers", []string{origin("a", "2xx", "0+100x48"), origin("a", "0xx", "0+100x48")}, 4 * time.Hour, nil},
		{"one in fifty requests fails", []string{origin("a", "2xx", "0+98x48"), origin("a", "5xx", "0+2x48")}, 4 * time.Hour, nil},
		{"one in ten requests has failed for five minutes", []string{origin("a", "2xx", "0+90x48"), origin("a", "5xx", "0+10x48")}, 10 * time.Minute, nil},
		{"one in ten requests has failed for a quarter of an hour", []string{origin("a", "2xx", "0+90x48"), origin("a", "5xx", "0+10x48")}, 20 * time.Minute, []string{failing}},
		{"the requests of one pod fail", []string{origin("a", "2xx", "0+90x48"), origin("b", "5xx", "0+10x48")}, 4 * time.Hour, []string{failing}},
		{"an origin has failed", []string{origin("a", "2xx", "0+90x48"), origin("a", "5xx", "0+10x10 100x38")}, 4 * time.Hour, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := gocmp.Diff(tt.want, firing(t, strings.Join(tt.series, "\n"), tt.at)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
