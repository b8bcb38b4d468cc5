package edits

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/podtemplate"
)

// annotationMaintenance holds what an application declares when its maintenance is over.
const annotationMaintenance = "operator.example.com/before-maintenance"

// maintenanceFile is the only file of the configuration meanwhile.
const maintenanceFile = "maintenance.conf"

// maxBefore bounds the annotation, in bytes: all annotations of an object together may have 256 KiB.
const maxBefore = 200 << 10

// maintenancePage is what clients get. Retry-After is in seconds.
const maintenancePage = `    location / {
        default_type text/html;
        add_header Retry-After 300 always;
        return 503 "<!doctype html><html lang=en><title>Maintenance</title><h1>Down for maintenance</h1><p>Please try again in a few minutes.</html>\n";
    }
`

// beforeMaintenance are the fields that a maintenance replaces.
type beforeMaintenance struct {
	Config       *v1alpha2.Config       `json:"config,omitempty"`
	Checks       []v1alpha2.Check       `json:"checks,omitempty"`
	Readiness    *v1alpha2.Readiness    `json:"readiness,omitempty"`
	FirstAnswers *v1alpha2.FirstAnswers `json:"firstAnswers,omitempty"`
	Canary       *v1alpha2.Canary       `json:"canary,omitempty"`
	Gates        []string               `json:"gates,omitempty"`
}

func maintenance(n Target, args []string) (string, error) {
	switch args[0] {
	case "on":
		return beginMaintenance(n)
	case "off":
		return endMaintenance(n)
	}
	return "", fmt.Errorf("the last argument is %q: set it to on or off", args[0])
}

// beginMaintenance makes all ports answer 503, as a change of the configuration: no pod is replaced.
func beginMaintenance(n Target) (string, error) {
	if n.Annotations[annotationMaintenance] != "" {
		return "", fmt.Errorf("%s is in maintenance already", n.Name)
	}
	before := beforeMaintenance{Config: n.Spec.Config, Checks: n.Spec.Checks, Readiness: n.Spec.Readiness}
	if r := n.Spec.Rollout; r != nil {
		before.FirstAnswers, before.Canary, before.Gates = r.FirstAnswers, r.Canary, r.Gates
	}
	encoded, err := json.Marshal(before)
	if err != nil {
		return "", err
	}
	if len(encoded) > maxBefore {
		return "", fmt.Errorf("the configuration of %s is too large to be kept in an annotation meanwhile: move it to a ConfigMap (spec.config.configMap)", n.Name)
	}
	page, err := maintenanceConfig(&n.Spec)
	if err != nil {
		return "", fmt.Errorf("%s cannot be put into maintenance: %w", n.Name, err)
	}
	n.annotate(annotationMaintenance, string(encoded))
	// The variables stay: the pods mount their values, and would be replaced.
	during := &v1alpha2.Config{}
	if n.Spec.Config != nil {
		during = n.Spec.Config.DeepCopy()
	}
	during.Files, during.ConfigMap = map[string]v1alpha2.ConfigFile{maintenanceFile: v1alpha2.ConfigFile(page)}, nil
	n.Spec.Config = during
	// All answers are 503 on purpose, and at once.
	n.Spec.Checks, n.Spec.Readiness = nil, nil
	if n.Spec.Rollout == nil {
		n.Spec.Rollout = &v1alpha2.Rollout{}
	}
	n.Spec.Rollout.FirstAnswers, n.Spec.Rollout.Canary, n.Spec.Rollout.Gates = ptr.To(v1alpha2.FirstAnswersIgnore), nil, nil
	return "in maintenance: every request is answered with 503", nil
}

func endMaintenance(n Target) (string, error) {
	text := n.Annotations[annotationMaintenance]
	if text == "" {
		return "", fmt.Errorf("%s is not in maintenance", n.Name)
	}
	if n.Spec.Config == nil || len(n.Spec.Config.Files) != 1 || n.Spec.Config.Files[maintenanceFile] == "" {
		return "", fmt.Errorf("spec.config of %s was changed during the maintenance, and would be lost: delete %s from spec.config.files, restore what you need of the annotation %s, and remove that", n.Name, maintenanceFile, annotationMaintenance)
	}
	var before beforeMaintenance
	if err := json.Unmarshal([]byte(text), &before); err != nil {
		return "", fmt.Errorf("the annotation %s cannot be read, so restore spec.config yourself: %w", annotationMaintenance, err)
	}
	delete(n.Annotations, annotationMaintenance)
	n.Spec.Config, n.Spec.Checks, n.Spec.Readiness = before.Config, before.Checks, before.Readiness
	if n.Spec.Rollout != nil {
		n.Spec.Rollout.FirstAnswers, n.Spec.Rollout.Canary, n.Spec.Rollout.Gates = before.FirstAnswers, before.Canary, before.Gates
		if reflect.ValueOf(*n.Spec.Rollout).IsZero() {
			n.Spec.Rollout = nil
		}
	}
	return "maintenance is over", nil
}

// maintenanceConfig returns a configuration that answers 503 on all ports, in the way in which they are served now.
func maintenanceConfig(spec *v1alpha2.NginxOperatorSpec) (string, error) {
	var listens, certificate string
	for _, p := range podtemplate.Ports(spec) {
		if p.Protocol == corev1.ProtocolUDP {
			return "", fmt.Errorf("port %s is UDP, which has no answer for it", p.Name)
		}
		parameters := " default_server"
		number := podtemplate.TargetPort(p)
		if servesTLS(spec, &p, number) {
			if len(spec.TLS) == 0 {
				return "", fmt.Errorf("port %s needs a certificate, and spec.tls has none", p.Name)
			}
			folder := "/etc/nginx/tls/" + spec.TLS[0].Name
			certificate = fmt.Sprintf("    ssl_certificate %s/tls.crt;\n    ssl_certificate_key %s/tls.key;\n", folder, folder)
			parameters += " ssl"
		}
		if listensWith(spec, number, "proxy_protocol") {
			parameters += " proxy_protocol"
		}
		listens += fmt.Sprintf("    listen %d%s;\n", number, parameters)
		if onIPv6(spec) {
			listens += fmt.Sprintf("    listen [::]:%d%s;\n", number, parameters)
		}
	}
	return "server {\n" + listens + certificate + maintenancePage + "}\n", nil
}

// servesTLS reports whether clients use TLS on a port: as the configuration says, or, if it is in a ConfigMap, as the port is called.
func servesTLS(spec *v1alpha2.NginxOperatorSpec, p *v1alpha2.Port, number int32) bool {
	if spec.Config != nil && spec.Config.ConfigMap != nil {
		return strings.Contains(p.Name, "https") || p.Port == 443
	}
	return listensWith(spec, number, "ssl")
}

// listensWith reports whether a listen directive of a port has a parameter.
func listensWith(spec *v1alpha2.NginxOperatorSpec, number int32, parameter string) bool {
	directive := regexp.MustCompile(fmt.Sprintf(`\blisten\s+(?:\S+:)?%d\s[^;]*\b%s\b`, number, parameter))
	return anyFile(spec, directive.MatchString)
}

// onIPv6 reports whether the configuration listens on IPv6.
func onIPv6(spec *v1alpha2.NginxOperatorSpec) bool {
	return anyFile(spec, regexp.MustCompile(`\blisten\s+\[`).MatchString)
}

func anyFile(spec *v1alpha2.NginxOperatorSpec, matches func(string) bool) bool {
	if spec.Config == nil {
		return false
	}
	for _, text := range spec.Config.Files {
		if matches(string(text)) {
			return true
		}
	}
	return false
}
