package instanceapi

// Folders in the nginx container.
const (
	// DirStable has the configuration that nginx boots with: the mounted ConfigMap
	// <name>-config. DirNext has the candidate: <name>-config-next.
	DirStable = "/etc/nginx-operator/stable"
	DirNext   = "/etc/nginx-operator/next"
	// DirRequests has a file for each annotation by which the operator asks
	// (a downward API volume): FileTest, FileLoad
	// and FileGrant.
	DirRequests = "/etc/nginx-operator/requests"
	// DirSecrets has a folder for each declared certificate: the mounted Secret.
	DirSecrets = "/etc/nginx-operator/tls"
	// DirTLS is where nginx finds the certificates: a folder for each, with the last
	// good pair, in memory.
	DirTLS = "/etc/nginx/tls"
	// DirRequestLog is memory for nginx's log of requests, which the instance reads and
	// discards. Templates of earlier releases do not have it.
	DirRequestLog = "/etc/nginx-operator/log"
	// DirBin is where the init container puts the program.
	DirBin = "/opt/nginx-operator"
	// DirState is the instance's own scratch space.
	DirState = "/run/nginx-operator"
)

// Files in DirRequests.
const (
	FileTest = "test"
	FileLoad = "load"
	// FileGrant has the hash of the word that PathLoad takes.
	FileGrant = "grant"
)

// Program is the name of the binary in DirBin.
const Program = "nginx-instance"
