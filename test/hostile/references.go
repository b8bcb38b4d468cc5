package hostile

import (
	"fmt"
	"strings"
)

// references tries to name objects in other namespaces, the operator's own objects, and files.
func references() []Case {
	var all []Case
	n := 0
	for what, field := range pairs(
		"configuration", `{"config":{"configMap":{"name":"NAME"}}}`,
		"content", `{"content":[{"mountPath":"/srv","configMap":{"name":"NAME"}}]}`,
		"claim", `{"content":[{"mountPath":"/srv","persistentVolumeClaim":{"claimName":"NAME"}}]}`,
		"certificate", `{"tls":[{"name":"a","secretName":"NAME"}]}`,
		"certificate of an Ingress", `{"ingress":{"hosts":[{}],"tls":[{"secretName":"NAME"}]}}`,
		"backend of a route", `{"httpRoutes":[{"name":"a","parentRefs":[{"name":"b"}],"rules":[{"backends":[{"service":"NAME","port":80}]}]}]}`,
		"namespace of a Gateway", `{"httpRoutes":[{"name":"a","parentRefs":[{"name":"b","namespace":"NAME"}]}]}`,
		"name of a route", `{"httpRoutes":[{"name":"NAME","parentRefs":[{"name":"b"}]}]}`,
		"host of an Ingress", `{"ingress":{"hosts":[{"host":"NAME"}]}}`,
		"name in a certificate", `{"tls":[{"name":"a","secretName":"b","certificate":{"issuerRef":{"name":"c"},"dnsNames":["NAME"]}}]}`,
		"registry", `{"podTemplate":{"imagePullSecrets":[{"name":"NAME"}]}}`,
	) {
		for _, name := range []string{"other/secret", "../x", "kube-system:x", "x.kube-system.svc/", "/", "$(A)", "a b", "X"} {
			n++
			all = append(all, application("references", fmt.Sprintf("refer-%d", n), fmt.Sprintf("%s %q", what, name), fmt.Sprintf(replaced(field), name), refused("should match")))
		}
	}
	// The API server checks these names only for a pod, and no pod is created here.
	for what, field := range pairs(
		"variable of a Secret", `{"podTemplate":{"env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"NAME","key":"a"}}}]}}`,
		"variable of a ConfigMap", `{"podTemplate":{"env":[{"name":"A","valueFrom":{"configMapKeyRef":{"name":"NAME","key":"a"}}}]}}`,
		"volume of a Secret", `{"podTemplate":{"volumes":[{"name":"a","secret":{"secretName":"NAME"}}]}}`,
		"volume of a ConfigMap", `{"podTemplate":{"volumes":[{"name":"a","configMap":{"name":"NAME"}}]}}`,
		"volume of a claim", `{"podTemplate":{"volumes":[{"name":"a","persistentVolumeClaim":{"claimName":"NAME"}}]}}`,
	) {
		for _, name := range []string{"kube-system/token", "../../x"} {
			n++
			all = append(all, application("references", fmt.Sprintf("refer-%d", n), fmt.Sprintf("%s %q", what, name), fmt.Sprintf(replaced(field), name), Want{Either: true}))
		}
	}
	return append(all,
		application("references", "refer-rendered", "the configuration that the operator renders for itself", `{"config":{"configMap":{"name":"refer-rendered-config-next"}}}`, Want{Reason: "ConfigMapNotFound", Message: "refer-rendered-config-next"}),
		application("references", "refer-none", "what does not exist", `{"config":{"configMap":{"name":"none"}}}`, Want{Reason: "ConfigMapNotFound", Message: "ConfigMap none"}),
		application("references", "refer-ca", "the CA of the cluster as a configuration", `{"config":{"configMap":{"name":"kube-root-ca.crt"}}}`, Want{Reason: "ConfigMapNotFound", Message: "kube-root-ca.crt"}),
		application("references", "refer-revision", "a revision that there is not", `{"rollout":{"toRevision":9007199254740992}}`, Want{Reason: "RevisionNotFound", Message: "no such revision"}),
	)
}

// replaced returns a format string for a field with a quoted value.
func replaced(field string) string { return strings.Replace(field, `"NAME"`, "%q", 1) }
