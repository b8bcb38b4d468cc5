package purge

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/instanceapi"
)

func including(parameters ...string) v1alpha1.Rule {
	return v1alpha1.Rule{Key: &v1alpha1.Key{QueryParameters: v1alpha1.QueryParameters{Include: parameters}}}
}

// of returns a purge of targets.
func of(targets ...instanceapi.Target) instanceapi.Purge { return instanceapi.Purge{Targets: targets} }

func TestWanted(t *testing.T) {
	keys := Keys(nil).With([]v1alpha1.Rule{{}, including("v", "lang"), including()})
	for _, tt := range []struct {
		purge v1alpha1.NginxCachePurgeSpec
		want  []string
	}{
		{v1alpha1.NginxCachePurgeSpec{All: new(true)}, nil},
		{v1alpha1.NginxCachePurgeSpec{URLs: []string{"https://Shop.example.com:8443"}}, []string{"shop.example.com /"}},
		{v1alpha1.NginxCachePurgeSpec{URLs: []string{"http://a/x/../b//c/%7Euser/%2F%20?"}}, []string{"a /b/c/~user/ "}},
		{v1alpha1.NginxCachePurgeSpec{URLs: []string{"http://a/b/", "http://a/b/.", "http://[::1]/"}}, []string{"a /b/", "a /b/", "[::1] /"}},
		{v1alpha1.NginxCachePurgeSpec{URLs: []string{"http://a/b?x=1&lang=de&v=%32&V=3"}}, []string{"a /b", "a /b ?v=%32&lang=de", "a /b ?x=1&lang=de&v=%32&V=3"}},
		{v1alpha1.NginxCachePurgeSpec{Prefixes: []string{"https://a/", "https://a/b%20c/"}}, []string{"a / below", "a /b c/ below"}},
	} {
		wanted, err := Wanted(keys, &tt.purge)
		if err != nil {
			t.Fatal(err)
		}
		if all := len(tt.want) == 0; wanted.All != all {
			t.Errorf("%+v: everything is purged: %t, want %t", tt.purge, wanted.All, all)
		}
		var got []string
		for _, target := range wanted.Targets {
			text := target.Host + " " + target.Path
			if target.Query != "" {
				text += " " + target.Query
			}
			if target.Below {
				text += " below"
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%+v: -want +got:\n%s", tt.purge, diff)
		}
	}
	for _, bad := range []string{"https://a/%zz", "https://user@a/", "https://:80/", "https://a/%00", "https://a/%e9", "https://*.a/", "https://münchen.de/", "https://%80/"} {
		if _, err := Wanted(keys, &v1alpha1.NginxCachePurgeSpec{URLs: []string{"https://a/", bad}}); err == nil || !strings.Contains(err.Error(), "spec.urls[1]") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestWantedTags: tags and soft reach the pods as they are.
func TestWantedTags(t *testing.T) {
	wanted, err := Wanted(nil, &v1alpha1.NginxCachePurgeSpec{Tags: []string{"a", "b"}, Soft: new(true)})
	if want := (instanceapi.Purge{Tags: []string{"a", "b"}, Soft: true}); err != nil || !cmp.Equal(wanted, want) {
		t.Errorf("%+v, %v, want %+v", wanted, err, want)
	}
}

// FuzzWanted: whatever is accepted, a pod accepts as well.
func FuzzWanted(f *testing.F) {
	f.Add("https://a/b?c=d", "v")
	f.Add("http://a/../%2e%2e/?v=1&v=2", "v")
	f.Fuzz(func(t *testing.T, text, parameter string) {
		wanted, err := Wanted(Keys{{parameter}}, &v1alpha1.NginxCachePurgeSpec{URLs: []string{text}})
		if err != nil {
			return
		}
		var log Log
		if _, err := add(t, &log, "u", wanted, time.UnixMilli(1)); err != nil {
			return
		}
		data, err := log.Data()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseLog(data); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}

// TestLog: numbers grow even if the clock does not, and what all pods have carried out is forgotten.
func TestLog(t *testing.T) {
	var log Log
	target := of(instanceapi.Target{Host: "h", Path: "/a"})
	for i, tt := range []struct{ now, want int64 }{{1000, 1000}, {1000, 1001}, {500, 1002}, {2000, 2000}} {
		if got, err := add(t, &log, fmt.Sprint(i), target, time.UnixMilli(tt.now)); err != nil || got != tt.want || log.Numbers()[fmt.Sprint(i)] != tt.want {
			t.Errorf("number %d, want %d", got, tt.want)
		}
	}
}

// TestForget: what all pods have carried out is forgotten, and what is left is read as it was written.
func TestForget(t *testing.T) {
	var log Log
	for number := range int64(4) {
		if _, err := add(t, &log, fmt.Sprint(number), of(instanceapi.Target{Host: "h", Path: "/a"}), time.UnixMilli(1000+number)); err != nil {
			t.Fatal(err)
		}
	}
	log.Edge = log.Shards.UpTo(1001)
	log.Forget(1001)
	data, err := log.Data()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseLog(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(log, again, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("read again, -want +got:\n%s", diff)
	}
	if again.Shards.Since != 1001 || len(again.Shards.List) != 2 || again.Edge.Since != 1001 || len(again.Edge.List) != 0 || again.Numbers()["1"] != 0 {
		t.Errorf("%+v", again)
	}
}

func TestDamagedLog(t *testing.T) {
	if _, err := ParseLog(map[string]string{KeyEdge: "x"}); err == nil || !strings.Contains(err.Error(), KeyEdge) {
		t.Errorf("a damaged part: %v", err)
	}
}

// TestLogIsBounded: a ConfigMap holds the log, whatever is purged.
func TestLogIsBounded(t *testing.T) {
	var log Log
	large := of(instanceapi.Target{Host: "h", Path: "/" + strings.Repeat("a", 100<<10)})
	added := 0
	for ; added < 100; added++ {
		if _, err := add(t, &log, "u", large, time.UnixMilli(1)); err != nil {
			if !errors.Is(err, ErrNoRoom) {
				t.Error(err)
			}
			break
		}
	}
	if data, err := log.Data(); added != 3 || err != nil || len(data[KeyShards]) > instanceapi.MaxPurges {
		t.Errorf("%d were added: %v", added, err)
	}
}

// TestTooLarge: a purge that never fits is refused, and characters of HTML in it count once.
func TestTooLarge(t *testing.T) {
	var log Log
	query := "?" + strings.Repeat("&", 350<<10)
	if _, err := add(t, &log, "u", of(instanceapi.Target{Host: "h", Path: "/a", Query: query}), time.UnixMilli(1)); err != nil {
		t.Error(err)
	}
	if _, err := add(t, &log, "v", of(instanceapi.Target{Host: "h", Path: "/a", Query: query + query}), time.UnixMilli(1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
}

// TestKeys: the keys of earlier rules are remembered, each once. With too many, or unreadable ones, everything is purged.
func TestKeys(t *testing.T) {
	keys := ParseKeys("").With([]v1alpha1.Rule{including("v"), {}, including(), including("v")})
	text, err := keys.Text()
	if err != nil || text != `[["v"],[]]` {
		t.Errorf("%s: %v", text, err)
	}
	keys = ParseKeys(text).With([]v1alpha1.Rule{including("w")})
	purge := &v1alpha1.NginxCachePurgeSpec{URLs: []string{"https://a/b?v=1&w=2"}}
	if wanted, err := Wanted(keys, purge); err != nil || len(wanted.Targets) != 4 {
		t.Errorf("%+v: %v", wanted, err)
	}
	for n := range 2 * maxKeys {
		keys = keys.With([]v1alpha1.Rule{including(fmt.Sprint(n))})
	}
	for _, many := range []Keys{keys, ParseKeys("x")} {
		if wanted, err := Wanted(many, purge); err != nil || !wanted.All || len(wanted.Targets) > 0 {
			t.Errorf("with %d keys: %+v: %v", len(many), wanted, err)
		}
	}
	if text, err := Keys(nil).Text(); err != nil || len(ParseKeys(text)) > 0 {
		t.Errorf("%s: %v", text, err)
	}
}

func TestProgress(t *testing.T) {
	pods := []Pod{
		{Name: "front-shards-10", Tier: v1alpha1.TierShards, Number: 9},
		{Name: "front-shards-2", Tier: v1alpha1.TierShards, Number: 7, Waits: "it does not answer"},
		{Name: "front-edge-0", Tier: v1alpha1.TierEdge, Number: 5},
		{Name: "front-edge-1", Tier: v1alpha1.TierEdge, Empty: true, Waits: "the pod does not run"},
	}
	for _, tt := range []struct {
		number int64
		want   string
		waits  string
	}{
		{5, "front-edge-0 Purged, front-edge-1 Purged, front-shards-2 Purged, front-shards-10 Purged", ""},
		{7, "front-edge-0 Pending, front-edge-1 Purged, front-shards-2 Purged, front-shards-10 Purged", "front-edge-0: waits for all shards"},
		{8, "front-edge-0 Pending, front-edge-1 Purged, front-shards-2 Pending, front-shards-10 Purged", "front-edge-0: waits for all shards; front-shards-2: it does not answer"},
	} {
		got := ProgressOf(tt.number, pods)
		var rows []string
		purged := 0
		for _, row := range got.Rows {
			rows = append(rows, fmt.Sprintf("%s %s", row.Name, row.State))
			if row.State == v1alpha1.PurgePurged {
				purged++
			}
		}
		if text := strings.Join(rows, ", "); text != tt.want || got.Waits != tt.waits || got.Purged != purged || got.All != 4 {
			t.Errorf("%d: %s; %+v", tt.number, text, got)
		}
	}
	for tier, want := range map[string]int64{v1alpha1.TierShards: 7, v1alpha1.TierEdge: 5, "": 5} {
		if got := Proven(pods, tier); got != want {
			t.Errorf("%s: proven up to %d, want %d", tier, got, want)
		}
	}
	missing := WithMissing(pods, "front", 3)
	if len(missing) != 6 || Proven(missing, v1alpha1.TierShards) != 0 {
		t.Errorf("with the shards that are missing: %+v", missing)
	}
}

// add adds a purge to a log. What fits in the log is what a reader accepts.
func add(t *testing.T, log *Log, owner string, purge instanceapi.Purge, now time.Time) (int64, error) {
	t.Helper()
	adder, err := log.Adder()
	if err != nil {
		t.Fatal(err)
	}
	number, err := adder.Add(owner, purge, now)
	if text, failure := log.Shards.Text(); failure != nil || len(text) > instanceapi.MaxPurges || len(text) > adder.bytes {
		t.Errorf("the log has %d bytes, and is taken for %d: %v", len(text), adder.bytes, failure)
	}
	return number, err
}
