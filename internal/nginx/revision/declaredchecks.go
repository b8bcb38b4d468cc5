package revision

import (
	"cmp"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/internal/nginx/podtemplate"
)

// AddChecksFile adds to a configuration how its spec verifies it, if it does. families are those of the Service.
func AddChecksFile(config nginxconf.Config, spec *v1alpha2.NginxOperatorSpec, families []corev1.IPFamily) nginxconf.Config {
	ports := podtemplate.Ports(spec)
	declared := instanceapi.Checks{
		IgnoreFirstAnswers: ptr.Deref(ptr.Deref(spec.Rollout, v1alpha2.Rollout{}).FirstAnswers, v1alpha2.FirstAnswersCompare) == v1alpha2.FirstAnswersIgnore,
		Readiness:          readiness(spec.Readiness, ports),
		Families:           exceptIPv4Alone(families),
	}
	for _, c := range spec.Checks {
		declared.Checks = append(declared.Checks, check(c, ports))
	}
	if apiequality.Semantic.DeepEqual(declared, instanceapi.Checks{}) {
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
		Scheme: cmp.Or(c.Scheme, "HTTP"), Host: ptr.Deref(c.Host, ""), Port: targetOf(c.Port, ports), Path: cmp.Or(c.Path, "/"),
		ProxyProtocol: ptr.Deref(c.ProxyProtocol, false), TimeoutSeconds: ptr.Deref(c.TimeoutSeconds, 1),
		ExpectStatus: int(ptr.Deref(c.ExpectStatus, 0)), ExpectBody: ptr.Deref(c.ExpectBody, ""),
	}
}

// readiness is the declared request with its defaults.
func readiness(r *v1alpha2.Readiness, ports []v1alpha2.Port) *instanceapi.Readiness {
	if r == nil {
		return nil
	}
	return &instanceapi.Readiness{
		Check: instanceapi.Check{
			Scheme: cmp.Or(r.Scheme, "HTTP"), Host: ptr.Deref(r.Host, ""), Port: targetOf(r.Port, ports), Path: r.Path,
			TimeoutSeconds: ptr.Deref(r.TimeoutSeconds, 1),
		},
		PeriodSeconds: ptr.Deref(r.PeriodSeconds, 5), FailureThreshold: ptr.Deref(r.FailureThreshold, 3),
	}
}

// targetOf returns the number that nginx listens on for a TCP port of the spec; nil: for the first one.
func targetOf(number *int32, ports []v1alpha2.Port) int32 {
	for _, p := range ports {
		if p.Protocol != corev1.ProtocolUDP && (number == nil || p.Port == *number) {
			return podtemplate.TargetPort(p)
		}
	}
	return ptr.Deref(number, 0)
}

// exceptIPv4Alone returns the families, or none for IPv4 alone, which is what instances assume. So most configurations keep
// the revision that they had before instances knew families.
func exceptIPv4Alone(families []corev1.IPFamily) []string {
	if slices.Equal(families, []corev1.IPFamily{corev1.IPv4Protocol}) {
		return nil
	}
	var names []string
	for _, f := range families {
		names = append(names, string(f))
	}
	return names
}
