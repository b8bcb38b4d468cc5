package instanceapi

// These are folders in the nginx container.
const (
	// DirStable holds the configuration that nginx boots with, the mounted ConfigMap <name>-config.
	// DirNext holds the candidate, <name>-config-next.
	DirStable = "/etc/nginx-operator/stable"
	DirNext   = "/etc/nginx-operator/next"
	// DirRequests is where pods of releases before 0.5 find the operator's requests: a downward API
	// volume with the files FileTest, FileLoad and FileTokenHash.
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

// EnvPodUID is the environment variable of the nginx container with the UID of the pod.
const EnvPodUID = "NGINX_OPERATOR_POD_UID"

// These are the files in DirRequests.
const (
	FileTest      = "test"
	FileLoad      = "load"
	FileTokenHash = "grant"
)

// Program is the name of the binary in DirBin.
const Program = "nginx-instance"
