package kubelet

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestFollowers: pods follow a configuration only while they are out of reach, and one of them first, unless pods have
// been ordered to load it, or have booted with it.
func TestFollowers(t *testing.T) {
	pod := func(name string) client.ObjectKey { return client.ObjectKey{Namespace: "shop", Name: name} }
	for name, tt := range map[string]struct {
		do   func(b *books)
		want string
	}{
		"one at once": {func(b *books) {
			b.Follows(pod("a"), "new")
		}, "although it could be reached"},
		"one after a while": {func(b *books) {
			time.Sleep(unreachable)
			b.Follows(pod("a"), "new")
		}, ""},
		"one that takes no orders": {func(b *books) {
			b.Answered(pod("a"), true, false)
			time.Sleep(unreachable)
			b.Answered(pod("a"), false, true)
			b.Follows(pod("a"), "new")
		}, ""},
		"two together": {func(b *books) {
			time.Sleep(unreachable)
			for _, name := range []string{"a", "b"} {
				b.Follows(pod(name), "new")
				b.Loads(pod(name), "new", false)
			}
		}, "pod b was let follow configuration new 0s after pod a"},
		"two after another one": {func(b *books) {
			time.Sleep(unreachable)
			for _, name := range []string{"a", "b", "c"} {
				b.Follows(pod(name), "new")
				b.Loads(pod(name), "new", false)
				if name == "a" {
					time.Sleep(followerProves)
				}
			}
		}, ""},
		"two after one that was ordered": {func(b *books) {
			time.Sleep(unreachable)
			b.Answered(pod("c"), true, true)
			b.Accepted(pod("c"), "new")
			b.Loads(pod("c"), "new", false)
			for _, name := range []string{"a", "b"} {
				b.Follows(pod(name), "new")
				b.Loads(pod(name), "new", false)
			}
		}, ""},
		"back to what they have booted with": {func(b *books) {
			time.Sleep(unreachable)
			b.Follows(pod("a"), "old")
			b.Loads(pod("a"), "old", false)
			b.Follows(pod("b"), "old")
			b.Loads(pod("b"), "old", false)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &books{namespaces: map[string]*book{}}
				for _, name := range []string{"a", "b", "c"} {
					b.enter(pod(name), "template")
					b.Boots(pod(name), "old")
				}
				b.open("shop")
				tt.do(b)
				if got := b.broken("shop"); !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
					t.Errorf("broken: %q, want %q", got, tt.want)
				}
			})
		})
	}
}
