package topology

// Registry is the name and port by which nodes and users call the cluster's image registry. The
// top-level domain is reserved for tests (RFC 6761), so it cannot be a real registry.
const (
	RegistryName = "registry.test"
	RegistryPort = "5000"
	Registry     = RegistryName + ":" + RegistryPort
)

// The user that may push and pull. Nobody else can reach the registry, so that the password may be
// known.
const (
	RegistryUser     = "registry"
	RegistryPassword = "registry-password"
)

// RegistryIPs returns the addresses of the Service of the registry.
func (n Network) RegistryIPs() []string {
	return each(n, func(r ranges) string { return r.registry })
}
