package revision

import (
	"cmp"
	"encoding/json"

	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/internal/nginx/podtemplate"
)

// AddChecksFile adds the checks of a spec to a configuration, if it has any.
func AddChecksFile(config nginxconf.Config, spec *v1alpha2.NginxOperatorSpec) nginxconf.Config {
	declared := instanceapi.Checks{IgnoreFirstAnswers: ptr.Deref(spec.Rollout, v1alpha2.Rollout{}).FirstAnswers == v1alpha2.FirstAnswersIgnore}
	for _, c := range spec.Checks {
		declared.Checks = append(declared.Checks, check(c, podtemplate.Ports(spec)))
	}
	if len(declared.Checks) == 0 && !declared.IgnoreFirstAnswers {
		return config
	}
	text, err := json.Marshal(declared)
	if err != nil {
		panic("revision: strings and numbers are always encoded: " + err.Error())
	}
	return config.With(instanceapi.FileChecks, string(text))
}

// check is a declared check with its defaults.
func check(c v1alpha2.Check, ports []v1alpha2.Port) instanceapi.Check {
	return instanceapi.Check{
		Scheme: cmp.Or(c.Scheme, "HTTP"), Host: ptr.Deref(c.Host, ""), Port: ptr.Deref(c.Port, firstTCP(ports)), Path: cmp.Or(c.Path, "/"),
		ProxyProtocol: ptr.Deref(c.ProxyProtocol, false), TimeoutSeconds: ptr.Deref(c.TimeoutSeconds, 1),
		ExpectStatus: int(ptr.Deref(c.ExpectStatus, 0)), ExpectBody: ptr.Deref(c.ExpectBody, ""),
	}
}

func firstTCP(ports []v1alpha2.Port) int32 {
	for _, p := range ports {
		if p.Protocol != "UDP" {
			return p.Port
		}
	}
	return 0
}
