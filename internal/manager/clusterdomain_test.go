package manager

import "testing"

func TestDomainIn(t *testing.T) {
	for text, want := range map[string]string{
		"nameserver 10.96.0.10\nsearch shop.svc.k8s.example.org svc.k8s.example.org k8s.example.org\noptions ndots:5\n": "k8s.example.org",
		"search svc.cluster.local.\n":   "cluster.local",
		"search example.org\n":          defaultClusterDomain,
		"# search svc.a\nsearch svc.\n": defaultClusterDomain,
		"":                              defaultClusterDomain,
	} {
		if got := domainIn(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
