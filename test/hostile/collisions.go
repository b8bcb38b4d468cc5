package hostile

import "fmt"

// collisions tries names that other objects have, and names of applications that look like derived
// names.
func collisions() []Case {
	var all []Case
	for i, name := range []string{"pair", "pair-config", "pair-config-next", "pair-nginx", "pair-config-config", "pair-nginx-nginx", "pair-0123456789"} {
		all = append(all, application("collisions", name, fmt.Sprintf("%d: %s beside the others", i+1, name), `{}`, Want{}))
	}
	foreign := func(kind, path, name, rest string, want Want) {
		short := fmt.Sprintf("foreign-%d", len(all))
		c := application("collisions", short, "somebody's "+kind, `{"replicas":2}`, want)
		c.Before = []Object{{path, fmt.Sprintf(`{"metadata":{"name":%q}%s}`, fmt.Sprintf(name, short), rest)}}
		all = append(all, c)
	}
	conflict := func(kind string) Want {
		return Want{Reason: "NameConflict", Message: kind + " "}
	}
	foreign("ConfigMap", "api/v1 configmaps", "%s-config", `,"data":{"a":"b"}`, conflict("ConfigMap"))
	foreign("ConfigMap for what is next", "api/v1 configmaps", "%s-config-next", `,"data":{"a":"b"}`, conflict("ConfigMap"))
	foreign("ServiceAccount", "api/v1 serviceaccounts", "%s-nginx", ``, conflict("ServiceAccount"))
	foreign("Service", "api/v1 services", "%s", `,"spec":{"ports":[{"port":1}]}`, conflict("Service"))
	foreign("PodDisruptionBudget", "apis/policy/v1 poddisruptionbudgets", "%s", `,"spec":{"maxUnavailable":1}`, conflict("PodDisruptionBudget"))
	const template = `"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"b"}]}}`
	foreign("Deployment", "apis/apps/v1 deployments", "%s", `,"spec":{"replicas":0,"selector":{"matchLabels":{"a":"b"}},`+template+`}`, conflict("Deployment"))
	// An object with the operator's label looks like one that the operator owns.
	labelled := func(kind, path, name, rest string, want Want) {
		short := fmt.Sprintf("foreign-%d", len(all))
		c := application("collisions", short, "somebody's "+kind+" with the operator's label", `{"replicas":2}`, want)
		c.Before = []Object{{path, fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"operator.example.com/nginxoperator":%q}}%s}`, fmt.Sprintf(name, short), short, rest)}}
		all = append(all, c)
	}
	labelled("ConfigMap", "api/v1 configmaps", "%s-config", `,"data":{"nginx.conf":"daemon on;"}`, conflict("ConfigMap"))
	labelled("Service", "api/v1 services", "%s", `,"spec":{"ports":[{"port":1}]}`, conflict("Service"))
	labelled("ControllerRevision", "apis/apps/v1 controllerrevisions", "%s-0123456789", `,"revision":9223372036854775807,"data":{"format":1}`, Want{})
	labelled("Pod", "api/v1 pods", "%s-x", `,"spec":{"containers":[{"name":"nginx","image":"a","securityContext":`+hardened+`}],"securityContext":{"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}}}`, Want{})
	return all
}

const hardened = `{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}`
