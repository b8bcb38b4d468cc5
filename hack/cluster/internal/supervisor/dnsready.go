package supervisor

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	"example.com/nginx-operator/hack/cluster/internal/topology"
)

// resolves looks up the API's Service as a pod would. This proves more than a ready CoreDNS: it
// needs the DNS Service, kube-proxy's rules and a correct answer.
func (s *supervisor) resolves(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var dialer net.Dialer
	resolver := net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, net.JoinHostPort(s.config.Network.DNSIPs()[0], "53"))
		},
	}
	name := "kubernetes.default.svc." + topology.DNSDomain + "."
	addresses, err := resolver.LookupHost(ctx, name)
	if err != nil {
		return err
	}
	want := s.config.Network.APIServiceIP()
	if !slices.Contains(addresses, want) {
		return fmt.Errorf("%s is %v, not %s", name, addresses, want)
	}
	return nil
}
