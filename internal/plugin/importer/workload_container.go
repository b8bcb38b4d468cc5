package importer

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/nginx-operator/api/v1alpha2"
)

// copyContainer copies the fields of nginx's container.
func (w *workload) copyContainer() {
	c := w.pod.Containers[w.nginx]
	at := fmt.Sprintf("%s.containers[%d]", w.podPath, w.nginx)
	w.take(at+".name", Changed, "nginx")
	if c.Name == "nginx" {
		w.take(at+".name", Carried, "")
	}
	from := fields(c)
	w.copyAll(at, from, &w.app.Spec, "image", "resources")
	w.copyAll(at, from, w.app.Spec.PodTemplate, "imagePullPolicy", "env", "envFrom")
	for _, name := range []string{"command", "args"} {
		w.take(at+"."+name, NotCarried, "the instance manager starts nginx: prepare files with podTemplate.initContainers, or build them into the image")
	}
	if slices.Contains(append(c.Command, c.Args...), "daemon off;") {
		w.take(at+".command", Carried, "")
		w.take(at+".args", Carried, "")
	}
	w.take(at+".livenessProbe", NotCarried, "the instance manager answers the liveness probe, so that a slow backend restarts no pod")
	w.take(at+".startupProbe", NotCarried, "the instance manager knows when nginx has started")
	for _, name := range []string{"terminationMessagePath", "terminationMessagePolicy"} {
		w.take(at+"."+name, Carried, "")
	}
	w.take(at+".lifecycle", NotCarried, "the instance manager drains nginx: see spec.drain")
	w.readiness(at+".readinessProbe", c)
	w.preStop(at+".lifecycle.preStop", c.Lifecycle)
	w.containerSecurity(at+".securityContext", c.SecurityContext)
}

// containerSecurity copies the user and the group of nginx, which precede those of the pods.
func (w *workload) containerSecurity(path string, s *corev1.SecurityContext) {
	if s == nil {
		return
	}
	w.hardening(path, fields(s))
	into := v1alpha2.PodSecurityContext{}
	if w.app.Spec.PodTemplate.SecurityContext != nil {
		into = *w.app.Spec.PodTemplate.SecurityContext
	}
	switch {
	case s.RunAsUser == nil:
	case *s.RunAsUser == 0:
		w.take(path+".runAsUser", NotCarried, restricted+": nginx does not run as root, and ports below 1024 work")
	default:
		into.RunAsUser = s.RunAsUser
		w.take(path+".runAsUser", Carried, "")
	}
	if s.RunAsGroup != nil {
		into.RunAsGroup = s.RunAsGroup
		w.take(path+".runAsGroup", Carried, "")
	}
	if !isEmpty(&into) {
		w.app.Spec.PodTemplate.SecurityContext = &into
	}
}

// readiness turns a readiness probe into spec.readiness.
func (w *workload) readiness(path string, c corev1.Container) {
	p := c.ReadinessProbe
	switch {
	case p == nil:
		return
	case p.HTTPGet == nil:
		w.take(path, NotCarried, "a pod is ready when nginx serves its configuration; spec.readiness adds a request by HTTP")
		return
	}
	port := w.offered(containerPort(c, p.HTTPGet.Port))
	if port == 0 {
		w.take(path, NotCarried, "its port is none of the Service: set spec.readiness with one of spec.ports")
		return
	}
	r := &v1alpha2.Readiness{Path: p.HTTPGet.Path, Port: &port}
	if r.Path == "" {
		r.Path = "/"
	}
	if p.HTTPGet.Scheme != "" {
		r.Scheme = string(p.HTTPGet.Scheme)
	}
	for _, h := range p.HTTPGet.HTTPHeaders {
		if strings.EqualFold(h.Name, "Host") {
			r.Host = &h.Value
		}
	}
	r.PeriodSeconds, r.TimeoutSeconds, r.FailureThreshold = set(p.PeriodSeconds), set(p.TimeoutSeconds), set(p.FailureThreshold)
	w.app.Spec.Readiness = r
	w.take(path, Changed, "spec.readiness")
	w.take(path+".initialDelaySeconds", NotCarried, "the instance manager knows when nginx has started")
	w.take(path+".successThreshold", NotCarried, "one success makes a pod ready")
}

func set(value int32) *int32 {
	if value == 0 {
		return nil
	}
	return &value
}

// containerPort returns the number of a port of a container, or 0.
func containerPort(c corev1.Container, port intstr.IntOrString) int32 {
	if port.Type == intstr.Int {
		return port.IntVal
	}
	for _, p := range c.Ports {
		if p.Name == port.StrVal {
			return p.ContainerPort
		}
	}
	return 0
}

// offered returns the port of the Service for a port on which nginx listens, or 0.
func (w *workload) offered(listens int32) int32 {
	for _, p := range w.app.Spec.Ports {
		if p.TargetPort != nil && *p.TargetPort == listens || p.TargetPort == nil && p.Port == listens {
			return p.Port
		}
	}
	if len(w.app.Spec.Ports) == 0 && listens == 80 {
		return 80
	}
	return 0
}

var sleeps = regexp.MustCompile(`\bsleep\s+([0-9]+)\b`)

// preStop turns a pause before nginx stops into drain.delaySeconds.
func (w *workload) preStop(path string, l *corev1.Lifecycle) {
	if l == nil || l.PreStop == nil {
		return
	}
	seconds := 0
	switch h := l.PreStop; {
	case h.Sleep != nil:
		seconds = int(h.Sleep.Seconds)
	case h.Exec != nil:
		if found := sleeps.FindStringSubmatch(strings.Join(h.Exec.Command, " ")); found != nil {
			if n, err := strconv.Atoi(found[1]); err == nil {
				seconds = n
			}
		}
	}
	if seconds == 0 || seconds > 600 {
		return
	}
	delay := int32(seconds) //nolint:gosec // It is at most 600.
	w.drain().DelaySeconds = &delay
	w.take(path, Changed, fmt.Sprintf("drain.delaySeconds: %d; nginx then ends its requests by itself", delay))
}
