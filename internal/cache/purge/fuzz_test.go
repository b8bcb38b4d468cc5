package purge

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/instanceapi"
)

// FuzzKeys: whatever another client writes into the annotation, a purge of a URL removes what the present rules can have
// stored, or everything. The keys are bounded, and are read as they were written.
func FuzzKeys(f *testing.F) {
	for _, text := range []string{"", "[]", `[["v"]]`, `[["v","w"],[]]`, `[null]`, "null", "{}", "garbage", "[" + strings.Repeat(`["a"],`, 40) + `["b"]]`} {
		f.Add(text, "v", "v=1&w=2")
	}
	f.Fuzz(func(t *testing.T, text, parameter, query string) {
		if !utf8.ValidString(parameter) {
			// The schema does not allow it.
			return
		}
		rule := v1alpha1.Rule{Key: &v1alpha1.Key{QueryParameters: v1alpha1.QueryParameters{Include: []string{parameter}}}}
		keys := ParseKeys(text).With([]v1alpha1.Rule{rule})
		wanted, err := Wanted(keys, &v1alpha1.NginxCachePurgeSpec{URLs: []string{"http://a.test/b?" + query}})
		if err != nil {
			return
		}
		targets := wanted.Targets
		if len(keys) > maxKeys {
			if !wanted.All {
				t.Errorf("of more keys than are remembered, %d targets are purged", len(targets))
			}
			return
		}
		if len(targets) == 0 || len(targets) > len(keys)+1 {
			t.Fatalf("with %d keys, there are %d targets", len(keys), len(targets))
		}
		if !slices.ContainsFunc(keys, func(known []string) bool { return slices.Equal(known, []string{parameter}) }) {
			t.Errorf("%q does not have the key of the rule", keys)
		}
		written, err := keys.Text()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseKeys(written).Text(); err != nil || again != written {
			t.Errorf("%s is read as %s (%v)", written, again, err)
		}
	})
}

// FuzzLog: whatever another client writes into the ConfigMap, it is refused, or read so that the next purge gets a greater
// number than all others, and pods take what is written.
func FuzzLog(f *testing.F) {
	f.Add("", "")
	f.Add(`{"since":5}`, `{"since":5,"purges":[{"number":7,"owner":"a","all":true}]}`)
	f.Add(`{"since":-1}`, `{"since":9007199254740993}`)
	f.Add("", `{"since":9007199254740991}`)
	f.Add("", `{"since":9999999999999}`)
	f.Add(`{"purges":[{"number":1,"targets":[{"host":"a","path":"/"}]}]}`, "[]")
	now := time.Date(2026, 11, 25, 8, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, edge, shards string) {
		log, err := ParseLog(map[string]string{KeyEdge: edge, KeyShards: shards})
		if err != nil {
			return
		}
		last := log.Shards.Last()
		number, err := add(t, &log, "new", instanceapi.Purge{All: true}, now)
		if err != nil {
			// There is no room, or the last number is the greatest one.
			return
		}
		if number <= last || log.Numbers()["new"] == 0 {
			t.Fatalf("after %d, the purge gets the number %d, and is found under %d", last, number, log.Numbers()["new"])
		}
		data, err := log.Data()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := instanceapi.ParsePurges([]byte(data[KeyShards])); err != nil {
			t.Errorf("pods refuse what is written: %v", err)
		}
		log.Forget(number)
		if len(log.Shards.List) > 0 || log.Shards.Last() < number {
			t.Errorf("after all pods have purged, it is %+v", log.Shards)
		}
	})
}
