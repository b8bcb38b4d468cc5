package hostile

import (
	"fmt"
	"strings"
)

// hidden is the annotation of a v1alpha1 object that holds a v1alpha2 spec.
const hidden = "operator.example.com/v1alpha2-spec"

// annotations tries to bypass the schema of v1alpha1 with annotations.
func annotations() []Case {
	var all []Case
	n := 0
	try := func(what, annotation string, want Want) {
		n++
		name := fmt.Sprintf("hidden-%d", n)
		all = append(all, Case{Name: "annotations: " + what, Sort: "annotations", Kind: NginxOld, Object: name,
			Body: resource(NginxOld, map[string]any{"name": name, "annotations": map[string]any{hidden: annotation}}, map[string]any{"port": 8080}), Want: want})
	}
	for what, text := range pairs(
		"no JSON", "{", "a list", "[]", "a text", `"x"`, "a number", "1", "deep", strings.Repeat(`{"a":`, 20_000), "two values", "{}{}",
		"an image with a space", `{"image":"nginx latest"}`, "root in a sidecar", `{"podTemplate":{"containers":[{"name":"a","image":"b","runAsUser":0}]}}`,
		"our container", `{"podTemplate":{"containers":[{"name":"nginx","image":"b"}]}}`, "our volume", `{"podTemplate":{"volumes":[{"name":"config","emptyDir":{}}]}}`,
		"a probe of another machine", `{"podTemplate":{"containers":[{"name":"a","image":"b","livenessProbe":{"tcpSocket":{"host":"10.0.0.1","port":1}}}]}}`,
		"a mount over ours", `{"podTemplate":{"volumeMounts":[{"name":"a","mountPath":"//tmp"}]}}`,
		"no AppArmor", `{"podTemplate":{"annotations":{"container.apparmor.security.beta.kubernetes.io/nginx":"unconfined"}}}`,
		"another namespace", `{"tls":[{"name":"a","secretName":"other/secret"}]}`,
		"two sources", `{"config":{"files":{"a":""},"configMap":{"name":"a"}}}`,
		"the port of the instance manager", `{"ports":[{"name":"a","port":80},{"name":"b","port":9113}]}`,
		"too many", `{"ports":[`+strings.TrimSuffix(strings.Repeat(`{"name":"a","port":80},`, 33), ",")+`]}`,
		"a file that is too long", `{"config":{"files":{"a.conf":"`+strings.Repeat("x", 250<<10)+`"}},"image":" "}`,
	) {
		try(what, text, refused(hidden))
	}
	try("a port twice", `{"ports":[{"name":"a","port":80},{"name":"b","port":8080,"protocol":"TCP"}]}`, refused("two ports have the same port number and protocol"))
	for what, text := range pairs("nothing", "null", "an empty one", "{}", "fields of Pods", `{"podTemplate":{"hostNetwork":true,"containers":[{"name":"a","image":"b","securityContext":{"privileged":true}}]}}`,
		"another case", `{"PODTEMPLATE":{"HostNetwork":true}}`, "other replicas", `{"replicas":1000}`, "metadata", `{"metadata":{"namespace":"kube-system"},"status":{"replicas":9}}`) {
		try(what, text, Want{})
	}
	own := application("annotations", "own-annotations", "annotations that the operator gives to others", `{}`, Want{})
	own.Body = resource(Nginx, map[string]any{"name": own.Object, "annotations": map[string]any{
		hidden: `{"image":"evil"}`, "operator.example.com/intent": "0", "operator.example.com/sync": "a\nb\x7f", "gate.operator.example.com/backup": "*",
	}, "labels": map[string]any{"operator.example.com/nginxoperator": "other"}}, map[string]any{"rollout": map[string]any{"gates": []any{"backup"}}})
	owned := application("annotations", "own-owner", "an owner that is not there, and a finalizer", `{}`, Want{})
	owned.Body = resource(Nginx, map[string]any{"name": owned.Object, "finalizers": []any{"example.com/never"}, "ownerReferences": []any{
		map[string]any{"apiVersion": "v1", "kind": "Namespace", "name": "kube-system", "uid": "0", "controller": true},
	}}, map[string]any{})
	return append(all, own, owned)
}
