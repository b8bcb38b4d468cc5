package instanceapi

// These are folders in the nginx container.
const (
	// DirStable holds the configuration that nginx boots with, the mounted ConfigMap <name>-config.
	// DirNext holds the candidate, <name>-config-next.
	DirStable = "/etc/nginx-operator/stable"
	DirNext   = "/etc/nginx-operator/next"
	// DirRequests is a downward API volume with a file for each annotation that holds a request of
	// the operator: FileTest, FileLoad and FileTokenHash.
	DirRequests = "/etc/nginx-operator/requests"
	// DirSecrets holds a folder for each declared certificate: the mounted Secret.
	DirSecrets = "/etc/nginx-operator/tls"
	// DirTLS is where nginx finds the certificates: a folder in memory for each, with the last good
	// pair.
	DirTLS = "/etc/nginx/tls"
	// DirRequestLog is a folder in memory for nginx's request log, which the instance reads and
	// discards. Pod templates of earlier releases do not have it.
	DirRequestLog = "/etc/nginx-operator/log"
	// DirBin is where the init container installs the program.
	DirBin = "/opt/nginx-operator"
	// DirState is the scratch space of the instance.
	DirState = "/run/nginx-operator"
)

// These are the files in DirRequests.
const (
	FileTest = "test"
	FileLoad = "load"
	// FileTokenHash holds the hash of the load token that PathLoad accepts.
	FileTokenHash = "grant"
)

// Program is the name of the binary in DirBin.
const Program = "nginx-instance"
