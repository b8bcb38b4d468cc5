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

// TestOrderOfPurges: the first purge that has no room ends the pass over those that are not remembered: each try encodes the
// whole log, and none is carried out before an earlier one.
func TestOrderOfPurges(t *testing.T) {
	var open []*v1alpha1.NginxCachePurge
	add := func(urls, length int) {
		p := &v1alpha1.NginxCachePurge{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint(len(open)))}}
		for i := range urls {
			p.Spec.URLs = append(p.Spec.URLs, fmt.Sprintf("https://h/%d/%s", i, strings.Repeat("x", length)))
		}
		open = append(open, p)
	}
	add(100, 1900)
	add(100, 1900)
	add(100, 1900)
	add(1, 1)
	m := &memory{rejected: map[string]error{}}
	if !m.add(nil, open, time.UnixMilli(1e12)) || len(m.log.Shards.List) != 2 || len(m.rejected) > 0 {
		t.Errorf("%d of 4 purges are remembered, want the first 2; rejected: %v", len(m.log.Shards.List), m.rejected)
	}
	if m.add(nil, open, time.UnixMilli(1e12)) {
		t.Error("a full log takes another one")
	}
}
