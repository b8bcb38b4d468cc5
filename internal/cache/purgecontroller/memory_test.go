package purgecontroller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/api/cache/v1alpha1"
)

// TestRoomForPurges: a large purge that has no room delays no small one, and a pass ends after a few that have none.
func TestRoomForPurges(t *testing.T) {
	var open []*v1alpha1.NginxCachePurge
	declare := func(n, urls, length int) {
		for range n {
			p := &v1alpha1.NginxCachePurge{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint(len(open)))}}
			for i := range urls {
				p.Spec.URLs = append(p.Spec.URLs, fmt.Sprintf("https://h/%d/%s", i, strings.Repeat("x", length)))
			}
			open = append(open, p)
		}
	}
	declare(3, 100, 1900)
	declare(1, 1, 1)
	declare(maxRefused, 100, 1900)
	declare(1, 1, 1)
	m := &memory{rejected: map[string]error{}}
	add := func(want int) {
		t.Helper()
		before := len(m.log.Shards.List)
		added, err := m.add(nil, open, time.UnixMilli(1e12))
		if got := len(m.log.Shards.List) - before; err != nil || got != want || added != (want > 0) || len(m.rejected) > 0 {
			t.Errorf("%d purges are added, want %d: %v; rejected: %v", got, want, err, m.rejected)
		}
	}
	add(3)
	add(0)
}
