package cacheconf

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"example.com/nginx-operator/api/cache/v1alpha1"
)

func TestGreaterThan(t *testing.T) {
	for n, want := range map[int64]string{
		1:       `^0*(?:[1-9]\d{1,}|[2-9]\d{0})$`,
		9:       `^0*(?:[1-9]\d{1,})$`,
		1048576: `^0*(?:[1-9]\d{7,}|[2-9]\d{6}|1[1-9]\d{5}|10[5-9]\d{4}|104[9-9]\d{3}|1048[6-9]\d{2}|10485[8-9]\d{1}|104857[7-9]\d{0})$`,
	} {
		if got := greaterThan(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// FuzzGreaterThan: the expression compares as numbers do, and matches nothing else.
func FuzzGreaterThan(f *testing.F) {
	for _, n := range []int64{1, 9, 10, 99, 100, 109, 1 << 20, 1<<30 - 1, 1 << 30, 1<<63 - 1} {
		for _, m := range []int64{n - 1, n, n/10*10 + 9, n * 2, n / 2} {
			f.Add(n, m, "")
		}
		f.Add(n, n, "x")
		f.Add(n, n, "\n")
	}
	f.Fuzz(func(t *testing.T, n, m int64, suffix string) {
		if n < 1 || m < 0 || strings.ContainsAny(suffix, "0123456789") {
			return
		}
		greater := regexp.MustCompile(greaterThan(n))
		for _, text := range []string{fmt.Sprint(m), fmt.Sprintf("00%d", m)} {
			if got := greater.MatchString(text + suffix); got != (m > n && suffix == "") {
				t.Errorf("%q > %d is %v", text+suffix, n, got)
			}
		}
	})
}

func TestSizes(t *testing.T) {
	q := func(text string) *resource.Quantity { return new(resource.MustParse(text)) }
	for want, spec := range map[string]v1alpha1.NginxCacheSpec{
		"spec.defaults.maxObjectSize is 0: it must be more than 0":                      {Defaults: v1alpha1.Defaults{MaxObjectSize: q("0")}},
		"spec.defaults.maxObjectSize is -1: it must be more than 0":                     {Defaults: v1alpha1.Defaults{MaxObjectSize: q("-1")}},
		"spec.defaults.slice is 1k: it must be at least 64Ki, or 0 for whole objects":   {Defaults: v1alpha1.Defaults{Slice: q("1k")}},
		"spec.rules[1].slice is -1Mi: it must be at least 64Ki, or 0 for whole objects": {Rules: []v1alpha1.Rule{{Slice: q("0")}, {Slice: q("-1Mi")}}},
	} {
		in := full()
		in.Cache.Spec = spec
		if _, err := Edge(in); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	spec := v1alpha1.NginxCacheSpec{Defaults: v1alpha1.Defaults{Slice: q("4Mi")}, Rules: []v1alpha1.Rule{{Slice: q("0")}, {Slice: q("64Ki")}, {Slice: q("4194304")}, {}}}
	if got := sliceSizes(spec); !slices.Equal(got, []int64{64 << 10, 4 << 20}) {
		t.Errorf("the sizes are %v", got)
	}
	if got := sliceSizes(v1alpha1.NginxCacheSpec{}); len(got) > 0 {
		t.Errorf("without slices, the sizes are %v", got)
	}
}
