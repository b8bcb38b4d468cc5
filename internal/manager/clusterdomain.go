package manager

import (
	"os"
	"strings"
)

// defaultClusterDomain is the DNS domain of most clusters.
const defaultClusterDomain = "cluster.local"

// clusterDomain returns the DNS domain of the cluster: that of the option, or else that of the operator's own pod.
func (o *Options) clusterDomain() string {
	if o.ClusterDomain != "" {
		return o.ClusterDomain
	}
	// Outside a cluster there is no such file, or it names no domain of a cluster.
	text, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		return defaultClusterDomain
	}
	return domainIn(string(text))
}

// domainIn returns the domain of the cluster in a resolv.conf of one of its pods, whose search path has svc.<domain>.
func domainIn(resolvConf string) string {
	for line := range strings.Lines(resolvConf) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "search" {
			continue
		}
		for _, name := range fields[1:] {
			if domain, ok := strings.CutPrefix(name, "svc."); ok && domain != "" {
				return strings.TrimSuffix(domain, ".")
			}
		}
	}
	return defaultClusterDomain
}
