package instance

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseNameServers(t *testing.T) {
	got := parseNameServers("# of the kubelet\nsearch shop.svc.cluster.local\nnameserver 10.96.0.10\nnameserver\tfd00::a\n" +
		"nameserver fe80::1%eth0\nnameserver ; evil\nnameserver\noptions ndots:5\n")
	if diff := cmp.Diff([]string{"10.96.0.10", "fd00::a"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
