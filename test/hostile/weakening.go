package hostile

import "fmt"

// weakening tries to remove the hardening of the pods. It tries each field that the schema does not
// know twice: a client that validates gets an error, and for one that does not, the field is
// dropped.
func weakening() []Case {
	var all []Case
	n := 0
	for what, text := range pairs(
		"host network", `"hostNetwork":true`,
		"host's processes", `"hostPID":true`,
		"host's shared memory", `"hostIPC":true`,
		"host's users", `"hostUsers":true`,
		"one space of processes", `"shareProcessNamespace":true`,
		"root allowed", `"securityContext":{"runAsNonRoot":false}`,
		"no seccomp", `"securityContext":{"seccompProfile":{"type":"Unconfined"}}`,
		"unsafe sysctl", `"securityContext":{"sysctls":[{"name":"kernel.shm_rmid_forced","value":"1"}]}`,
		"token", `"automountServiceAccountToken":true`,
		"another account", `"serviceAccountName":"default"`,
		"another account, as it was called", `"serviceAccount":"default"`,
		"names of services", `"enableServiceLinks":true`,
		"a node of one's choice", `"nodeName":"node-1"`,
		"the names of the node", `"hostname":"a","subdomain":"b","setHostnameAsFQDN":true`,
		"an ephemeral container", `"ephemeralContainers":[{"name":"a","image":"b"}]`,
		"pods that never end", `"terminationGracePeriodSeconds":1000000000`,
		"overhead", `"overhead":{"cpu":"-1"}`,
		"claims of devices", `"resourceClaims":[{"name":"a","resourceClaimName":"b"}]`,
		"a spec in the spec", `"spec":{"hostNetwork":true}`,
		"a template in the template", `"template":{"spec":{"hostNetwork":true}}`,
		"metadata", `"metadata":{"namespace":"kube-system"}`,
		"restarts", `"restartPolicy":"Never"`,
		"a deadline", `"activeDeadlineSeconds":1`,
		"a folder of the host", `"volumes":[{"name":"a","emptyDir":{},"hostPath":{"path":"/"}}]`,
		"a token as a volume", `"volumes":[{"name":"a","emptyDir":{},"projected":{"sources":[{"serviceAccountToken":{"path":"t"}}]}}]`,
		"a volume over the network", `"volumes":[{"name":"a","emptyDir":{},"nfs":{"server":"10.0.0.1","path":"/"}}]`,
		"a repository", `"volumes":[{"name":"a","emptyDir":{},"gitRepo":{"repository":"https://example.com"}}]`,
		"a claim that is made", `"volumes":[{"name":"a","emptyDir":{},"ephemeral":{"volumeClaimTemplate":{"spec":{"storageClassName":"a"}}}}]`,
		"a privileged sidecar", `"containers":[{"name":"a","image":"b","securityContext":{"privileged":true}}]`,
		"a sidecar with capabilities", `"containers":[{"name":"a","image":"b","securityContext":{"capabilities":{"add":["SYS_ADMIN"]}}}]`,
		"a sidecar that becomes root", `"containers":[{"name":"a","image":"b","securityContext":{"allowPrivilegeEscalation":true,"readOnlyRootFilesystem":false}}]`,
		"a sidecar without seccomp", `"initContainers":[{"name":"a","image":"b","securityContext":{"seccompProfile":{"type":"Unconfined"},"procMount":"Unmasked"}}]`,
		"a sidecar on a host's port", `"containers":[{"name":"a","image":"b","ports":[{"name":"a","containerPort":80,"hostPort":80}]}]`,
		"a sidecar with a device", `"containers":[{"name":"a","image":"b","volumeDevices":[{"name":"a","devicePath":"/dev/sda"}]}]`,
		"a hook that asks another machine", `"containers":[{"name":"a","image":"b","lifecycle":{"preStop":{"httpGet":{"host":"10.0.0.1","port":80}}}}]`,
		"a signal of one's choice", `"containers":[{"name":"a","image":"b","lifecycle":{"stopSignal":"SIGKILL","preStop":{"sleep":{"seconds":1}}}}]`,
		"a mount that others see", `"containers":[{"name":"a","image":"b","volumeMounts":[{"name":"a","mountPath":"/a","mountPropagation":"Bidirectional"}]}],"volumes":[{"name":"a","emptyDir":{}}]`,
		"a part of a volume that a variable names", `"volumeMounts":[{"name":"a","mountPath":"/a","subPathExpr":"$(A)"}],"volumes":[{"name":"a","emptyDir":{}}]`,
	) {
		text = `{"podTemplate":{` + text + `}}`
		n++
		strict := application("weakening", fmt.Sprintf("weak-%d", n), what, text, refused("unknown field"))
		lenient := application("weakening", fmt.Sprintf("weak-%d-dropped", n), what+", dropped", text, Want{})
		lenient.Lenient = true
		all = append(all, strict, lenient)
	}
	return append(append(all, forbidden()...), overlaid()...)
}

// forbidden tries fields that the schema knows but does not allow.
func forbidden() []Case {
	const taken = "are reserved for the operator"
	var all []Case
	n := 0
	try := func(what, text string, want Want) {
		n++
		all = append(all, application("weakening", fmt.Sprintf("forbidden-%d", n), what, `{"podTemplate":{`+text+`}}`, want))
	}
	try("root in a sidecar", `"containers":[{"name":"a","image":"b","runAsUser":0}]`, refused("greater than or equal to 1"))
	try("a user beyond users", `"containers":[{"name":"a","image":"b","runAsUser":-1}]`, refused("greater than or equal to 1"))
	try("root for all", `"securityContext":{"runAsUser":0}`, refused("greater than or equal to 1"))
	try("volumes of the group of root", `"securityContext":{"fsGroup":0}`, refused("greater than or equal to 1"))
	try("the group of root", `"securityContext":{"supplementalGroups":[0]}`, refused("greater than or equal to 1"))
	try("the name servers of the node's network", `"dnsPolicy":"ClusterFirstWithHostNet"`, refused("supported values"))
	try("the container nginx", `"containers":[{"name":"nginx","image":"b"}]`, refused(taken))
	try("the container that installs", `"initContainers":[{"name":"nginx-operator-install","image":"b"}]`, refused(taken))
	for _, volume := range []string{"config", "config-next", "requests", "instance", "certificates", "scratch", "content-env", "content-env-01234567", "content-01234567", "certificate-shop"} {
		try("the volume "+volume, `"volumes":[{"name":"`+volume+`","emptyDir":{}}]`, refused(taken))
	}
	const notClean, reserved = "mountPath must be a clean absolute path", "mountPath must not be in a folder that nginx or the operator uses"
	const kernel = "mountPath must not be in a folder of the kernel"
	for path, message := range pairs(
		"/etc/nginx-operator/stable", reserved, "/etc/nginx/tls/shop", reserved, "/opt/nginx-operator", reserved, "/tmp", reserved, "/run/nginx-operator", reserved,
		"/proc/self", kernel, "/sys/fs/cgroup", kernel, "/dev/shm", kernel, "/var/run/secrets/kubernetes.io", reserved, "/tmp/", reserved,
		"/etc//nginx-operator/stable", notClean, "//", notClean, "//tmp", notClean, "/./tmp", notClean, "/srv/../tmp", notClean, "/srv/../../proc", notClean, "/.", notClean, "/..", notClean,
		"tmp", "should match", "/a:/b", "should match",
	) {
		try("a mount at "+path, `"volumes":[{"name":"a","emptyDir":{}}],"volumeMounts":[{"name":"a","mountPath":"`+path+`"}]`, refused(message))
		beside := refused(message)
		if message == reserved {
			// A container beside nginx has its own files there.
			beside = Want{}
		}
		try("a sidecar's mount at "+path, `"volumes":[{"name":"a","emptyDir":{}}],"containers":[{"name":"a","image":"b","volumeMounts":[{"name":"a","mountPath":"`+path+`"}]}]`, beside)
	}
	const host = "a probe's host must not be set"
	for _, probe := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		try("a "+probe+" of another machine", `"containers":[{"name":"a","image":"b","`+probe+`":{"httpGet":{"host":"169.254.169.254","port":80}}}]`, refused(host))
		try("a "+probe+" that dials another machine", `"containers":[{"name":"a","image":"b","`+probe+`":{"tcpSocket":{"host":"127.0.0.1","port":80}}}]`, refused(host))
	}
	try("no AppArmor", `"annotations":{"container.apparmor.security.beta.kubernetes.io/nginx":"unconfined"}`, refused("must not give a container the AppArmor profile unconfined"))
	return all
}

// overlaid tries accepted values. Where the operator sets another value, its own wins.
func overlaid() []Case {
	var all []Case
	n := 0
	for what, text := range pairs(
		"labels of the operator", `{"podTemplate":{"labels":{"operator.example.com/nginxoperator":"other","app.kubernetes.io/instance":"other","app.kubernetes.io/managed-by":"Helm"}}}`,
		"the label of a ReplicaSet", `{"podTemplate":{"labels":{"pod-template-hash":"0"}}}`,
		"annotations of the operator", `{"podTemplate":{"annotations":{"operator.example.com/config":"0","operator.example.com/config-grant":"0","operator.example.com/template":"0"}}}`,
		"annotations of the Service", `{"service":{"annotations":{"operator.example.com/intent":"0","operator.example.com/config":"0"}}}`,
		"a variable that nginx reads", `{"podTemplate":{"env":[{"name":"NGINX","value":"3;4;"}]}}`,
		"a variable that loads code", `{"podTemplate":{"env":[{"name":"LD_PRELOAD","value":"/data/x.so"},{"name":"GODEBUG","value":"x"},{"name":"PATH","value":"/data"}]}}`,
		"a command in a variable", `{"podTemplate":{"env":[{"name":"A","value":"$(rm -rf /)"},{"name":"B","value":"$(A)"}]}}`,
		"names of hosts", `{"podTemplate":{"hostAliases":[{"ip":"127.0.0.1","hostnames":["kubernetes.default"]}],"dnsPolicy":"Default","dnsConfig":{"nameservers":["10.0.0.1"]}}}`,
		"labels of the operator on the Service", `{"service":{"labels":{"app.kubernetes.io/managed-by":"Helm","app.kubernetes.io/instance":"other"}}}`,
		"a directive in a variable", `{"config":{"files":{"a.conf":"server { listen 80; return 200 ${A}; }"},"env":[{"name":"A","value":"x; } server { listen 81;"}]}}`,
		"priority of the system", `{"podTemplate":{"priorityClassName":"system-node-critical"}}`,
		"every taint tolerated", `{"podTemplate":{"tolerations":[{"operator":"Exists"}]}}`,
		"pods of all namespaces", `{"podTemplate":{"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"kubernetes.io/hostname","namespaceSelector":{}}]}}}}`,
		"more memory than there is", `{"resources":{"requests":{"memory":"9223372036854775807Ei"}}}`,
		"all of it at any moment", `{"rollout":{"maxSurge":1000,"maxUnavailable":"100%"},"replicas":1000}`,
	) {
		n++
		all = append(all, application("weakening", fmt.Sprintf("overlaid-%d", n), what, text, Want{}))
	}
	return append(all,
		application("weakening", "rejected-1", "less memory than nothing", `{"resources":{"requests":{"memory":"-1"}}}`, Want{Reason: "Rejected", Message: "must be greater than or equal to 0"}),
		application("weakening", "rejected-2", "seccomp by an annotation", `{"podTemplate":{"annotations":{"seccomp.security.alpha.kubernetes.io/pod":"unconfined"}}}`,
			Want{Reason: "Rejected", Message: "seccomp type in annotation and field must match"}))
}
