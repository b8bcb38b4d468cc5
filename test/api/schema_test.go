package api

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/internal/plugin/lint"
)

// checkLint checks that kubectl nginx lint refuses what the API server refuses. What it says of an accepted one is about
// the files of the configuration only.
func checkLint(t *testing.T, obj *unstructured.Unstructured, refused bool) {
	t.Helper()
	text, err := obj.MarshalJSON()
	must(t, err)
	report, err := lint.Check(t.Context(), []lint.Document{{Name: "object", Text: text}}, nil)
	must(t, err)
	if refused && !report.Refused() {
		t.Errorf("lint accepts it")
	}
	for _, p := range report.Problems {
		if !refused && !p.Warning && !strings.HasPrefix(p.Field, "spec.config.files") {
			t.Errorf("lint refuses it: %s", p)
		}
	}
}

// TestSchema: the API server accepts valid specs and rejects others with a message that says what
// to change.
func TestSchema(t *testing.T) {
	namespace := newNamespace(t)
	tests := []struct {
		name string
		// object overrides the metadata.name, which is web by default.
		object string
		spec   string
		// want is part of the error message. If empty, the object is accepted.
		want string
	}{
		{name: "empty", spec: `{}`},
		{name: "scaled to zero", spec: `{replicas: 0}`},
		{name: "longest name", object: "a" + strings.Repeat("b", 44), spec: `{}`},
		{name: "inline files", spec: `{config: {files: {site.conf: "server {}"}}}`},
		{name: "UDP with a configuration", spec: `{ports: [{name: dns, port: 53, protocol: UDP}], config: {configMap: {name: dns}}}`},
		{name: "same number, two protocols", spec: `{ports: [{name: a, port: 53, protocol: UDP}, {name: b, port: 53}], config: {configMap: {name: dns}}}`},
		{name: "surge of zero with unavailable", spec: `{rollout: {maxSurge: 0, maxUnavailable: 50%}}`},

		{name: "a target port", spec: `{ports: [{name: http, port: 80, targetPort: 8080}, {name: https, port: 443, targetPort: 8443}]}`},
		{name: "ports exchanged by target", spec: `{ports: [{name: a, port: 80, targetPort: 81}, {name: b, port: 81, targetPort: 80}]}`},
		{name: "the same target twice", spec: `{ports: [{name: a, port: 80, targetPort: 8080}, {name: b, port: 8080}]}`, want: "nginx would listen twice on a port"},
		{name: "the target is ours", spec: `{ports: [{name: a, port: 80, targetPort: 9113}]}`, want: "belongs to the instance manager"},
		{name: "how names are found", spec: `{podTemplate: {dnsPolicy: None, dnsConfig: {nameservers: ["10.0.0.10", "fd00::10"], searches: [shop.local], options: [{name: ndots, value: "2"}]}, hostAliases: [{ip: "::1", hostnames: [a.b]}]}}`},
		{name: "no name server", spec: `{podTemplate: {dnsPolicy: None, dnsConfig: {searches: [a]}}}`, want: "the pods would have no name server"},
		{name: "the node's network", spec: `{podTemplate: {dnsPolicy: ClusterFirstWithHostNet}}`, want: "supported values"},
		{name: "a name server that is a name", spec: `{podTemplate: {dnsConfig: {nameservers: [dns.example.com]}}}`, want: "should match"},
		{name: "an alias without names", spec: `{podTemplate: {hostAliases: [{ip: 10.0.0.1, hostnames: []}]}}`, want: "at least 1 items"},
		{name: "pods as another user", spec: `{podTemplate: {securityContext: {runAsUser: 1001, runAsGroup: 0, fsGroup: 1001, fsGroupChangePolicy: Always, supplementalGroups: [5]}}}`},
		{name: "pods as root", spec: `{podTemplate: {securityContext: {runAsUser: 0}}}`, want: "greater than or equal to 1"},
		{name: "a sysctl", spec: `{podTemplate: {securityContext: {sysctls: [{name: a, value: b}]}}}`, want: "unknown field"},
		{name: "an account that exists", spec: `{serviceAccount: {name: shop}}`},
		{name: "an account with annotations", spec: `{serviceAccount: {annotations: {a.example/role: b}}}`},
		{name: "annotations of another account", spec: `{serviceAccount: {name: shop, annotations: {a: b}}}`, want: "set at most one of serviceAccount.name and serviceAccount.annotations"},
		{name: "a budget in percent", spec: `{disruption: {maxUnavailable: "25%"}}`},
		{name: "two budgets", spec: `{disruption: {maxUnavailable: 1, minAvailable: 1}}`, want: "set at most one of disruption.minAvailable and disruption.maxUnavailable"},
		{name: "a budget above all", spec: `{disruption: {minAvailable: "101%"}}`, want: "percentage from 0% to 100%"},
		{name: "readiness", spec: `{ports: [{name: a, port: 8080}], readiness: {path: /ready, port: 8080, periodSeconds: 1}}`},
		{name: "readiness of no port", spec: `{readiness: {path: /ready, port: 81}}`, want: "readiness.port must be the number of a TCP port"},
		{name: "readiness without a path", spec: `{readiness: {}}`, want: "Required value"},
		{name: "variables", spec: `{config: {files: {a.conf: ""}, env: [{name: A, value: b}, {name: C_1, valueFrom: {secretKeyRef: {name: d, key: e.f}}}], envFrom: [{prefix: G_, configMapRef: {name: h}}, {secretRef: {name: i}}]}}`},
		{name: "a variable of nginx", spec: `{config: {files: {a.conf: ""}, env: [{name: host, value: b}]}}`, want: "should match"},
		{name: "a variable twice", spec: `{config: {files: {a.conf: ""}, env: [{name: A, value: b}, {name: A, value: c}]}}`, want: "Duplicate value"},
		{name: "a variable without a value", spec: `{config: {files: {a.conf: ""}, env: [{name: A}]}}`, want: "set exactly one of value and valueFrom"},
		{name: "a value of two objects", spec: `{config: {files: {a.conf: ""}, env: [{name: A, valueFrom: {secretKeyRef: {name: d, key: e}, configMapKeyRef: {name: d, key: e}}}]}}`, want: "set exactly one of secretKeyRef and configMapKeyRef"},
		{name: "a key outside of the Secret", spec: `{config: {files: {a.conf: ""}, env: [{name: A, valueFrom: {secretKeyRef: {name: d, key: ..}}}]}}`, want: "must not be '.' or begin with '..'"},
		{name: "variables of nothing", spec: `{config: {files: {a.conf: ""}, envFrom: [{prefix: A_}]}}`, want: "set exactly one of secretRef and configMapRef"},
		{name: "a headless Service", spec: `{service: {headless: true}}`},
		{name: "a headless load balancer", spec: `{service: {type: LoadBalancer, headless: true}}`, want: "service.headless needs service.type ClusterIP"},
		{name: "a headless Service with other ports", spec: `{service: {headless: true}, ports: [{name: a, port: 80, targetPort: 8080}]}`, want: "no port can have another targetPort"},
		{name: "two certificates in one Secret", spec: `{tls: [{name: a, secretName: b, certificate: {issuerRef: {name: c}, dnsNames: [a.example.com]}}, {name: d, secretName: b}]}`, want: "has the secretName of one with certificate"},
		{name: "families", spec: `{service: {ipFamilyPolicy: PreferDualStack, ipFamilies: [IPv6, IPv4]}}`},
		{name: "two families for one stack", spec: `{service: {ipFamilies: [IPv6, IPv4]}}`, want: "need service.ipFamilyPolicy PreferDualStack or RequireDualStack"},
		{name: "a family twice", spec: `{service: {ipFamilyPolicy: RequireDualStack, ipFamilies: [IPv6, IPv6]}}`, want: "must not contain a family twice"},
		{name: "a timeout without affinity", spec: `{service: {sessionAffinityTimeoutSeconds: 60}}`, want: "needs service.sessionAffinity ClientIP"},
		{name: "node ports of no load balancer", spec: `{service: {allocateLoadBalancerNodePorts: false}}`, want: "needs service.type LoadBalancer"},

		{name: "name too long", object: "a" + strings.Repeat("b", 45), spec: `{}`, want: "at most 45 characters"},
		{name: "name starts with a digit", object: "1web", spec: `{}`, want: "start with a letter"},
		{name: "name with a dot", object: "web.example", spec: `{}`, want: "lower case letters, digits and '-'"},
		{name: "negative replicas", spec: `{replicas: -1}`, want: "greater than or equal to 0"},
		{name: "too many replicas", spec: `{replicas: 1001}`, want: "less than or equal to 1000"},
		{name: "port 0", spec: `{ports: [{name: http, port: 0}]}`, want: "greater than or equal to 1"},
		{name: "port above the range", spec: `{ports: [{name: http, port: 65536}]}`, want: "less than or equal to 65535"},
		{name: "same port twice", spec: `{ports: [{name: a, port: 80}, {name: b, port: 80}]}`, want: "same port number and protocol"},
		{name: "same name twice", spec: `{ports: [{name: a, port: 80}, {name: a, port: 81}]}`, want: "Duplicate value"},
		{name: "port name without a letter", spec: `{ports: [{name: "80", port: 80}]}`, want: "at least one letter"},
		{name: "no ports", spec: `{ports: []}`, want: "at least 1 items"},
		{name: "UDP without a configuration", spec: `{ports: [{name: dns, port: 53, protocol: UDP}]}`, want: "spec.config is required when a port uses UDP"},
		{name: "an Ingress", spec: `{ingress: {hosts: [{}, {host: "*.example.com", paths: [{path: /a, pathType: Exact}]}], tls: [{secretName: a}, {tlsName: b}]}, tls: [{name: b, secretName: c}]}`},
		{name: "an Ingress of an unknown port", spec: `{ingress: {port: https, hosts: [{}]}}`, want: "ingress.port must be the name of one"},
		{name: "an Ingress without a TCP port", spec: `{ingress: {hosts: [{}]}, ports: [{name: dns, port: 53, protocol: UDP}], config: {configMap: {name: dns}}}`, want: "spec.ingress needs a TCP port"},
		{name: "an Ingress without a host", spec: `{ingress: {hosts: []}}`, want: "at least 1 items"},
		{name: "an Ingress with two Secrets", spec: `{ingress: {hosts: [{}], tls: [{secretName: a, tlsName: b}]}}`, want: "exactly one of secretName and tlsName"},
		{name: "an Ingress with an unknown certificate", spec: `{ingress: {hosts: [{}], tls: [{tlsName: b}]}}`, want: "must be the name of an entry of spec.tls"},
		{name: "an Ingress with a relative path", spec: `{ingress: {hosts: [{paths: [{path: a}]}]}}`, want: "must begin with '/'"},
		{name: "an annotation of the operator", spec: `{ingress: {hosts: [{}], annotations: {operator.example.com/intent: a}}}`, want: "belong to the operator"},
		{name: "a label of the operator", spec: `{service: {labels: {operator.example.com/nginxoperator: a}}}`, want: "belong to the operator"},
		{name: "a route", spec: `{httpRoutes: [{name: a, parentRefs: [{name: b, sectionName: c}, {name: b, sectionName: d}], rules: [{backends: [{weight: 0}, {service: e, port: 80}]}]}]}`},
		{name: "a route without a parent", spec: `{httpRoutes: [{name: a, parentRefs: []}]}`, want: "at least 1 items"},
		{name: "a route with a parent twice", spec: `{httpRoutes: [{name: a, parentRefs: [{name: b}, {name: b, kind: Gateway}]}]}`, want: "name a parent twice"},
		{name: "a route to a Gateway and its listener", spec: `{httpRoutes: [{name: a, parentRefs: [{name: b}, {name: b, sectionName: c}]}]}`, want: "name a parent twice"},
		{name: "a route to two ports of a Gateway", spec: `{httpRoutes: [{name: a, parentRefs: [{name: b, port: 80}, {name: b, port: 81}]}]}`, want: "name a parent twice"},
		{name: "a listener with two dots", spec: `{httpRoutes: [{name: a, parentRefs: [{name: b, sectionName: c..d}]}]}`, want: "should match"},
		{name: "a host that is an address", spec: `{ingress: {hosts: [{host: 192.0.2.1}]}}`, want: "not an IP address"},
		{name: "an Ingress with an empty segment", spec: `{ingress: {hosts: [{paths: [{path: /a//b}]}]}}`, want: "must not contain '//'"},
		{name: "an Ingress with a path of the controller", spec: `{ingress: {hosts: [{paths: [{path: "/a//b", pathType: ImplementationSpecific}]}]}}`},
		{name: "a route with an empty segment", spec: routeOf("//a"), want: "must not contain '//'"},
		{name: "a route that climbs", spec: routeOf("/a/.."), want: "must not contain '//'"},
		{name: "a route with an encoded slash", spec: routeOf("/a%2Fb"), want: "must not contain '//'"},
		{name: "a route with a space", spec: routeOf("/a b"), want: "encode it"},
		{name: "a route with a broken escape", spec: routeOf("/a%2"), want: "encode it"},
		{name: "a route with every character", spec: routeOf("/.a/..b/-._~!$&'()*+,;=:@%20%2e/")},
		{name: "a route by expression", spec: `{httpRoutes: [{name: a, parentRefs: [{name: b}], rules: [{paths: [{type: RegularExpression, value: "/a b//c"}]}]}]}`},
		{name: "a route to an unknown port", spec: `{httpRoutes: [{name: a, parentRefs: [{name: b}], rules: [{backends: [{port: 81}]}]}]}`, want: "the port of a backend without service"},
		{name: "a route to a Service without a port", spec: `{httpRoutes: [{name: a, parentRefs: [{name: b}], rules: [{backends: [{service: c}]}]}]}`, want: "needs its port"},
		{name: "a route with a relative path", spec: `{httpRoutes: [{name: a, parentRefs: [{name: b}], rules: [{paths: [{value: c}]}]}]}`, want: "must begin with '/'"},
		{name: "a certificate", spec: `{tls: [{name: a, secretName: b, certificate: {issuerRef: {name: c}, dnsNames: [a.example.com], duration: 24h, renewBefore: 8h30m}}]}`},
		{name: "a certificate without a name", spec: `{tls: [{name: a, secretName: b, certificate: {issuerRef: {name: c}, dnsNames: []}}]}`, want: "at least 1 items"},
		{name: "a certificate that is too short", spec: `{tls: [{name: a, secretName: b, certificate: {issuerRef: {name: c}, dnsNames: [a], duration: 59m}}]}`, want: "at least 1h"},
		{name: "a certificate that is renewed too early", spec: `{tls: [{name: a, secretName: b, certificate: {issuerRef: {name: c}, dnsNames: [a], duration: 24h, renewBefore: 24h}}]}`, want: "less than certificate.duration"},
		{name: "a lifetime in days", spec: `{tls: [{name: a, secretName: b, certificate: {issuerRef: {name: c}, dnsNames: [a], duration: 90d}}]}`, want: "should match"},
		{name: "unknown protocol", spec: `{ports: [{name: a, port: 80, protocol: SCTP}]}`, want: `supported values: "TCP", "UDP"`},
		{name: "both kinds of configuration", spec: `{config: {files: {a.conf: ""}, configMap: {name: a}}}`, want: "exactly one of config.files and config.configMap"},
		{name: "no kind of configuration", spec: `{config: {}}`, want: "exactly one of config.files and config.configMap"},
		{name: "file too large", spec: `{config: {files: {a.conf: "` + strings.Repeat("x", 262145) + `"}}}`, want: "262144"},
		{name: "image with a space", spec: `{image: "nginx latest"}`, want: "must be an image reference"},
		{name: "two kinds of content", spec: `{content: [{mountPath: /srv, configMap: {name: a}, image: {reference: b}}]}`, want: "exactly one of configMap, persistentVolumeClaim and image"},
		{name: "relative mount path", spec: `{content: [{mountPath: srv, configMap: {name: a}}]}`, want: "should match"},
		{name: "climbing mount path", spec: `{content: [{mountPath: /srv/../etc, configMap: {name: a}}]}`, want: "clean absolute path"},
		{name: "reserved mount path", spec: `{content: [{mountPath: /etc/nginx-operator/config, configMap: {name: a}}]}`, want: "folder that nginx or the operator uses"},
		{name: "volume over ours", spec: `{podTemplate: {volumes: [{name: a, emptyDir: {}}], volumeMounts: [{name: a, mountPath: /tmp}]}}`, want: "folder that nginx or the operator uses"},
		{name: "a sidecar's own folders", spec: `{podTemplate: {volumes: [{name: a, emptyDir: {}}], containers: [{name: b, image: b, volumeMounts: [{name: a, mountPath: /tmp}, {name: a, mountPath: /run, subPath: run}]}]}}`},
		{name: "a folder around ours", spec: `{podTemplate: {volumes: [{name: a, emptyDir: {}}], volumeMounts: [{name: a, mountPath: /opt/}]}}`, want: "must not be /etc or /opt"},
		{name: "content around ours", spec: `{content: [{mountPath: /etc, configMap: {name: a}}]}`, want: "must not be /etc or /opt"},
		{name: "our folder by dots", spec: `{podTemplate: {volumes: [{name: a, emptyDir: {}}], volumeMounts: [{name: a, mountPath: /opt/./nginx-operator}]}}`, want: "clean absolute path"},
		{name: "our folder by two dots", spec: `{podTemplate: {volumes: [{name: a, emptyDir: {}}], volumeMounts: [{name: a, mountPath: /srv/../opt/nginx-operator}]}}`, want: "clean absolute path"},
		{name: "our folder with a slash", spec: `{podTemplate: {volumes: [{name: a, emptyDir: {}}], volumeMounts: [{name: a, mountPath: /opt/nginx-operator/}]}}`, want: "folder that nginx or the operator uses"},
		{name: "our folder by two slashes", spec: `{podTemplate: {volumes: [{name: a, emptyDir: {}}], volumeMounts: [{name: a, mountPath: /opt//nginx-operator}]}}`, want: "clean absolute path"},
		{name: "a sidecar over /proc by dots", spec: `{podTemplate: {volumes: [{name: a, emptyDir: {}}], containers: [{name: b, image: b, volumeMounts: [{name: a, mountPath: /srv/../proc}]}]}}`, want: "clean absolute path"},
		{name: "the kernel's folder with a slash", spec: `{podTemplate: {volumes: [{name: a, emptyDir: {}}], volumeMounts: [{name: a, mountPath: /proc/}]}}`, want: "folder of the kernel"},
		{name: "a subPath outside of the volume", spec: `{podTemplate: {volumes: [{name: a, emptyDir: {}}], volumeMounts: [{name: a, mountPath: /srv/x, subPath: x/../../y}]}}`, want: "no '..' element"},
		{name: "an absolute subPath", spec: `{podTemplate: {volumes: [{name: a, emptyDir: {}}], volumeMounts: [{name: a, mountPath: /srv/x, subPath: /y}]}}`, want: "no '/' at the beginning"},
		{name: "a subPath", spec: `{podTemplate: {volumes: [{name: a, emptyDir: {}}], volumeMounts: [{name: a, mountPath: /srv/x, subPath: x/..y/z..}]}}`},
		{name: "a subPath of variables", spec: `{podTemplate: {volumes: [{name: a, emptyDir: {}}], volumeMounts: [{name: a, mountPath: /srv/x, subPathExpr: $(A)}]}}`, want: "unknown field"},
		{name: "a recursive mount", spec: `{podTemplate: {volumes: [{name: a, emptyDir: {}}], volumeMounts: [{name: a, mountPath: /srv/x, recursiveReadOnly: Enabled}]}}`, want: "unknown field"},
		{name: "a propagated mount", spec: `{podTemplate: {volumes: [{name: a, emptyDir: {}}], volumeMounts: [{name: a, mountPath: /srv/x, mountPropagation: Bidirectional}]}}`, want: "unknown field"},
		{name: "a block device", spec: `{podTemplate: {containers: [{name: a, image: b, volumeDevices: [{name: instance, devicePath: /dev/x}]}]}}`, want: "unknown field"},
		{name: "a volume of the operator", spec: `{tls: [{name: site, secretName: s}], podTemplate: {volumeMounts: [{name: certificate-site, mountPath: /srv/keys}]}}`, want: "podTemplate.volumeMounts[].name must be the name of a volume of podTemplate.volumes"},
		{name: "a volume of the operator in an init container", spec: `{podTemplate: {volumes: [{name: a, emptyDir: {}}], initContainers: [{name: b, image: b, volumeMounts: [{name: a, mountPath: /y}, {name: instance, mountPath: /x}]}]}}`, want: "podTemplate.initContainers[].volumeMounts[].name must be the name of a volume of podTemplate.volumes"},
		{name: "a volume of the operator in a sidecar", spec: `{podTemplate: {volumes: [{name: a, emptyDir: {}}], containers: [{name: b, image: b}, {name: c, image: b, volumeMounts: [{name: scratch, mountPath: /x}]}]}}`, want: "podTemplate.containers[].volumeMounts[].name must be the name of a volume of podTemplate.volumes"},
		{name: "the name of a volume of the operator", spec: `{podTemplate: {volumes: [{name: certificate-site, emptyDir: {}}]}}`, want: "are reserved for the operator"},
		{name: "a variable in a file of the operator", spec: `{podTemplate: {env: [{name: A, value: a}, {name: B, valueFrom: {fileKeyRef: {volumeName: certificates, path: .keys/site/tls.key, key: A}}}]}}`, want: "podTemplate.env[].valueFrom.fileKeyRef.volumeName must be the name of a volume of podTemplate.volumes"},
		{name: "a variable of an init container in a file of the operator", spec: `{podTemplate: {initContainers: [{name: b, image: b, env: [{name: B, valueFrom: {fileKeyRef: {volumeName: scratch, path: a, key: A}}}]}]}}`, want: "podTemplate.initContainers[].env[].valueFrom.fileKeyRef.volumeName must be"},
		{name: "a variable of a sidecar in a file of the operator", spec: `{podTemplate: {containers: [{name: b, image: b, env: [{name: B, valueFrom: {fileKeyRef: {volumeName: scratch, path: a, key: A}}}]}]}}`, want: "podTemplate.containers[].env[].valueFrom.fileKeyRef.volumeName must be"},
		{name: "variables in a file", spec: `{podTemplate: {volumes: [{name: a, emptyDir: {}}], env: [{name: A, valueFrom: {fileKeyRef: {volumeName: a, path: a, key: A}}}], containers: [{name: b, image: b, env: [{name: B, valueFrom: {fileKeyRef: {volumeName: a, path: a, key: A}}}]}]}}`},
		{name: "a sidecar over /proc", spec: `{podTemplate: {volumes: [{name: a, emptyDir: {}}], containers: [{name: b, image: b, volumeMounts: [{name: a, mountPath: /proc/x}]}]}}`, want: "folder of the kernel"},
		{name: "hooks of a sidecar", spec: `{podTemplate: {containers: [{name: b, image: b, workingDir: /srv, envFrom: [{configMapRef: {name: c}}], lifecycle: {postStart: {exec: {command: ["true"]}}, preStop: {httpGet: {port: 80}}}}]}}`},
		{name: "a hook of another machine", spec: `{podTemplate: {containers: [{name: b, image: b, lifecycle: {preStop: {httpGet: {host: 10.0.0.1, port: 80}}}}]}}`, want: "unknown field"},
		{name: "a signal to stop", spec: `{podTemplate: {containers: [{name: b, image: b, lifecycle: {stopSignal: SIGQUIT}}]}}`, want: "unknown field"},
		{name: "a hook of two kinds", spec: `{podTemplate: {containers: [{name: b, image: b, lifecycle: {preStop: {sleep: {seconds: 1}, exec: {command: ["true"]}}}}]}}`, want: "set one of exec, httpGet and sleep"},
		{name: "a hook's port", spec: `{podTemplate: {containers: [{name: b, image: b, lifecycle: {preStop: {httpGet: {port: 2147483648}}}}]}}`, want: "a hook's port must be"},
		{name: "same mount path twice", spec: `{content: [{mountPath: /srv, configMap: {name: a}}, {mountPath: /srv, configMap: {name: b}}]}`, want: "Duplicate value"},
		{name: "nothing may move", spec: `{rollout: {maxSurge: 0}}`, want: "cannot both be 0"},
		{name: "nothing may move, percent", spec: `{rollout: {maxSurge: "0%", maxUnavailable: "0%"}}`, want: "cannot both be 0"},
		{name: "surge above all", spec: `{rollout: {maxSurge: "101%"}}`, want: "percentage from 0% to 100%"},
		{name: "surge that is no percentage", spec: `{rollout: {maxUnavailable: "half"}}`, want: "percentage from 0% to 100%"},
		{name: "deadline before ready", spec: `{rollout: {minReadySeconds: 10, progressDeadlineSeconds: 10}}`, want: "must be greater than rollout.minReadySeconds"},
		{name: "class without a load balancer", spec: `{service: {loadBalancerClass: a.example/b}}`, want: "needs service.type LoadBalancer"},
		{name: "local policy inside the cluster", spec: `{service: {externalTrafficPolicy: Local}}`, want: "needs service.type NodePort or LoadBalancer"},
		{name: "external name", spec: `{service: {type: ExternalName}}`, want: "supported values"},
		{name: "privileged sidecar", spec: `{podTemplate: {containers: [{name: a, image: b, securityContext: {privileged: true}}]}}`, want: "unknown field"},
		{name: "host path", spec: `{podTemplate: {volumes: [{name: a, hostPath: {path: /}}]}}`, want: "unknown field"},
		{name: "host network", spec: `{podTemplate: {hostNetwork: true}}`, want: "unknown field"},
		{name: "token volume", spec: `{podTemplate: {volumes: [{name: a, projected: {}}]}}`, want: "unknown field"},
		{name: "sidecar as root", spec: `{podTemplate: {containers: [{name: a, image: b, runAsUser: 0}]}}`, want: "greater than or equal to 1"},
		{name: "our container's name", spec: `{podTemplate: {containers: [{name: nginx, image: b}]}}`, want: "are reserved for the operator"},
		{name: "our volume's name", spec: `{podTemplate: {volumes: [{name: config, emptyDir: {}}]}}`, want: "are reserved for the operator"},
		{name: "reload on a Secret", spec: `{podTemplate: {volumes: [{name: a, secret: {secretName: s}}], volumeMounts: [{name: a, mountPath: /srv/x, subPath: x}, {name: a, mountPath: /srv/a}], reloadOn: [a]}}`},
		{name: "reload on nothing", spec: `{podTemplate: {reloadOn: [a]}}`, want: "must be that of a volume of podTemplate.volumes with configMap or secret"},
		{name: "reload on scratch space", spec: `{podTemplate: {volumes: [{name: a, emptyDir: {}}], volumeMounts: [{name: a, mountPath: /srv/a}], reloadOn: [a]}}`, want: "with configMap or secret"},
		{name: "reload on what is not mounted", spec: `{podTemplate: {volumes: [{name: a, configMap: {name: c}}], reloadOn: [a]}}`, want: "must be mounted by podTemplate.volumeMounts without subPath"},
		{name: "reload on a subPath", spec: `{podTemplate: {volumes: [{name: a, configMap: {name: c}}], volumeMounts: [{name: a, mountPath: /srv/a, subPath: x}], reloadOn: [a]}}`, want: "a mount with subPath does not see changes"},
		{name: "reload twice", spec: `{podTemplate: {volumes: [{name: a, configMap: {name: c}}], volumeMounts: [{name: a, mountPath: /srv/a}], reloadOn: [a, a]}}`, want: "Duplicate value"},
		{name: "typing mistake", spec: `{replcas: 1}`, want: "unknown field"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			obj := &unstructured.Unstructured{}
			must(t, yaml.Unmarshal([]byte(`{apiVersion: operator.example.com/v1alpha2, kind: NginxOperator, spec: `+tt.spec+`}`), obj))
			obj.SetNamespace(namespace)
			obj.SetName("web")
			if tt.object != "" {
				obj.SetName(tt.object)
			}
			checkLint(t, obj, tt.want != "")
			err := kube.Create(t.Context(), obj, client.DryRunAll, client.FieldValidation("Strict"))
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.want != "" && err == nil:
				t.Errorf("accepted, want an error that says %q", tt.want)
			case tt.want != "" && !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
				t.Errorf("error is not about the input: %v", err)
			case tt.want != "" && !strings.Contains(err.Error(), tt.want):
				t.Errorf("error does not say %q: %v", tt.want, err)
			}
		})
	}
}

// routeOf returns a spec with a route of one path.
func routeOf(path string) string {
	return fmt.Sprintf(`{httpRoutes: [{name: a, parentRefs: [{name: b}], rules: [{paths: [{value: %q}]}]}]}`, path)
}
