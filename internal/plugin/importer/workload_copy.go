package importer

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"

	"example.com/nginx-operator/api/v1alpha2"
)

func isEmpty[T any](value *T) bool { return reflect.ValueOf(value).Elem().IsZero() }

// fields returns the fields of a value as in its manifest.
func fields(value any) map[string]any {
	text, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	found := map[string]any{}
	if err := json.Unmarshal(text, &found); err != nil {
		return nil
	}
	return found
}

// copyField copies a field of a name into a value that has one with the same meaning. It fails if the value cannot hold it.
func copyField(from map[string]any, name string, into any) error {
	text, err := json.Marshal(map[string]any{name: from[name]})
	if err != nil {
		return err
	}
	strict, err := kjson.UnmarshalStrict(text, into)
	if err == nil && len(strict) > 0 {
		err = strict[0]
	}
	return err
}

// copyAll copies fields with the same names, and reviews them.
func (w *workload) copyAll(path string, from map[string]any, into any, names ...string) {
	for _, name := range names {
		if value, isMap := from[name].(map[string]any); from[name] == nil || isMap && len(value) == 0 {
			continue
		}
		if err := copyField(from, name, into); err != nil {
			w.take(path+"."+name, NotCarried, "an application has no such value: "+err.Error())
			continue
		}
		w.take(path+"."+name, Carried, "")
	}
}

// podFields are the fields of a pod that podTemplate has, too.
var podFields = []string{"nodeSelector", "affinity", "tolerations", "topologySpreadConstraints", "priorityClassName", "runtimeClassName", "schedulerName",
	"dnsConfig", "hostAliases", "imagePullSecrets"}

const restricted = "the pods keep the restricted Pod Security Standard"

// copyPod copies the fields of the pods.
func (w *workload) copyPod() {
	from := fields(w.pod)
	w.copyAll(w.podPath, from, w.app.Spec.PodTemplate, podFields...)
	w.app.Spec.ImagePullSecrets, w.app.Spec.PodTemplate.ImagePullSecrets = w.app.Spec.PodTemplate.ImagePullSecrets, nil
	if w.pod.DNSPolicy == corev1.DNSClusterFirstWithHostNet {
		w.take(w.podPath+".dnsPolicy", NotCarried, "it is for pods in the network of their node")
	} else {
		w.copyAll(w.podPath, from, w.app.Spec.PodTemplate, "dnsPolicy")
	}
	if name := w.pod.ServiceAccountName; name != "" {
		w.app.Spec.ServiceAccount = &v1alpha2.ServiceAccount{Name: &name}
		w.take(w.podPath+".serviceAccountName", Carried, "")
		w.take(w.podPath+".serviceAccount", Carried, "")
	}
	w.take(w.podPath+".automountServiceAccountToken", Carried, "")
	if w.pod.AutomountServiceAccountToken != nil && *w.pod.AutomountServiceAccountToken {
		w.take(w.podPath+".automountServiceAccountToken", NotCarried, "nginx needs no credentials of Kubernetes: run a sidecar that does in a Deployment of its own")
	}
	w.take(w.podPath+".restartPolicy", Carried, "")
	w.take(w.podPath+".enableServiceLinks", NotCarried, "the variables of Services are not set")
	for _, name := range []string{"hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers", "os"} {
		w.take(w.podPath+"."+name, NotCarried, restricted)
	}
	w.grace()
	w.podSecurity(fields(w.pod.SecurityContext))
}

// grace turns the time that a pod has to end into the times of spec.drain.
func (w *workload) grace() {
	const standard, delay, least = 30, 5, 2
	seconds := w.pod.TerminationGracePeriodSeconds
	path := w.podPath + ".terminationGracePeriodSeconds"
	switch {
	case seconds == nil:
	case *seconds == standard:
		w.take(path, Carried, "")
	default:
		timeout := int32(min(max(*seconds-delay, least), 3600))
		w.drain().TimeoutSeconds = &timeout
		w.take(path, Changed, "drain.timeoutSeconds: "+strconv.Itoa(int(timeout)))
	}
}

func (w *workload) drain() *v1alpha2.Drain {
	if w.app.Spec.Drain == nil {
		w.app.Spec.Drain = &v1alpha2.Drain{}
	}
	return w.app.Spec.Drain
}

// podSecurity copies the user and the groups of the pods.
func (w *workload) podSecurity(from map[string]any) {
	path := w.podPath + ".securityContext"
	w.take(path, NotCarried, restricted)
	into := &v1alpha2.PodSecurityContext{}
	for _, name := range []string{"runAsUser", "runAsGroup"} {
		if from[name] == float64(0) && name == "runAsUser" {
			w.take(path+"."+name, NotCarried, restricted+": nginx does not run as root, and ports below 1024 work")
			continue
		}
		w.copyAll(path, from, into, name)
	}
	w.copyAll(path, from, into, "fsGroup", "fsGroupChangePolicy", "supplementalGroups")
	w.hardening(path, from)
	if !isEmpty(into) {
		w.app.Spec.PodTemplate.SecurityContext = into
	}
}

// hardening reviews the fields that the operator always sets.
func (w *workload) hardening(path string, from map[string]any) {
	w.take(path, NotCarried, restricted)
	always := map[string]any{"runAsNonRoot": true, "readOnlyRootFilesystem": true, "allowPrivilegeEscalation": false, "privileged": false}
	for name, value := range always {
		switch from[name] {
		case nil:
		case value:
			w.take(path+"."+name, Carried, "")
		default:
			w.take(path+"."+name, NotCarried, restricted+"; mount an emptyDir where nginx has to write")
		}
	}
	w.take(path+".seccompProfile", Carried, "")
	w.take(path+".capabilities.drop", Carried, "")
	w.take(path+".capabilities.add", NotCarried, restricted+"; ports below 1024 work without NET_BIND_SERVICE")
}

// containerFields are the fields of a container that those of an application have, too.
var containerFields = []string{"name", "image", "imagePullPolicy", "command", "args", "env", "envFrom", "workingDir", "resources",
	"livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "restartPolicy"}

// sidecars copies the other containers.
func (w *workload) sidecars() {
	t := w.app.Spec.PodTemplate
	for i, c := range w.pod.InitContainers {
		if into, ok := w.sidecar(fmt.Sprintf("%s.initContainers[%d]", w.podPath, i), c); ok {
			t.InitContainers = append(t.InitContainers, into)
		}
	}
	for i, c := range w.pod.Containers {
		if i == w.nginx {
			continue
		}
		if into, ok := w.sidecar(fmt.Sprintf("%s.containers[%d]", w.podPath, i), c); ok {
			t.Containers = append(t.Containers, into)
			w.review.step("Check that the container %s can start before nginx: an application starts its other containers first.", c.Name)
		}
	}
}

// sidecar copies a container. It returns false if an application cannot have it.
func (w *workload) sidecar(path string, c corev1.Container) (into v1alpha2.Container, ok bool) {
	if c.Name == "nginx" || strings.HasPrefix(c.Name, "nginx-operator-") {
		w.take(path, NotCarried, "the name of the container is reserved for the operator: rename it")
		return into, false
	}
	from := fields(c)
	w.copyAll(path, from, &into, containerFields...)
	for i, p := range c.Ports {
		at := fmt.Sprintf("%s.ports[%d]", path, i)
		name := p.Name
		if name == "" {
			name = fmt.Sprintf("port-%d", p.ContainerPort)
		}
		into.Ports = append(into.Ports, v1alpha2.ContainerPort{Name: name, ContainerPort: p.ContainerPort, Protocol: p.Protocol})
		w.take(at, Carried, "")
		if p.HostPort != 0 {
			w.take(at+".hostPort", NotCarried, restricted)
		}
	}
	for i, m := range c.VolumeMounts {
		at := fmt.Sprintf("%s.volumeMounts[%d]", path, i)
		if mount, ok := w.mount(at, m); ok {
			into.VolumeMounts = append(into.VolumeMounts, mount)
		}
	}
	w.hardening(path+".securityContext", fields(c.SecurityContext))
	if user := c.SecurityContext; user != nil && user.RunAsUser != nil && *user.RunAsUser > 0 {
		into.RunAsUser = user.RunAsUser
		w.take(path+".securityContext.runAsUser", Carried, "")
	}
	return into, true
}
