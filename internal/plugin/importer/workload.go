package importer

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

// workload is an object whose pods run nginx.
type workload struct {
	*object
	meta     metav1.ObjectMeta
	pod      *corev1.PodSpec
	podMeta  metav1.ObjectMeta
	podPath  string
	metaPath string
	replicas *int32
	// nginx is the index of nginx's container.
	nginx int

	inputs *inputs
	review *Review
	app    *v1alpha2.NginxOperator
	// volumes are the names that the volumes have in the application.
	volumes map[string]string
}

// workloads returns the objects that run nginx.
func (s *inputs) workloads() (found []*workload) {
	for _, o := range s.objects {
		w := &workload{object: o, podPath: "spec.template.spec", metaPath: "spec.template.metadata", volumes: map[string]string{}}
		switch t := o.typed.(type) {
		case *appsv1.Deployment:
			w.meta, w.pod, w.podMeta, w.replicas = t.ObjectMeta, &t.Spec.Template.Spec, t.Spec.Template.ObjectMeta, t.Spec.Replicas
		case *appsv1.StatefulSet:
			w.meta, w.pod, w.podMeta, w.replicas = t.ObjectMeta, &t.Spec.Template.Spec, t.Spec.Template.ObjectMeta, t.Spec.Replicas
		case *appsv1.DaemonSet:
			w.meta, w.pod, w.podMeta = t.ObjectMeta, &t.Spec.Template.Spec, t.Spec.Template.ObjectMeta
		case *corev1.Pod:
			w.meta, w.pod, w.podMeta, w.podPath, w.metaPath = t.ObjectMeta, &t.Spec, metav1.ObjectMeta{}, "spec", "-"
		default:
			continue
		}
		if w.nginx = nginxContainer(w.pod.Containers); w.nginx >= 0 {
			found = append(found, w)
		}
	}
	return found
}

var nginxImage = regexp.MustCompile(`(^|[/_-])(nginx|openresty|angie|freenginx|tengine)`)

// nginxContainer returns the index of the container with nginx, or -1.
func nginxContainer(containers []corev1.Container) int {
	byImage := func(c corev1.Container) bool {
		name, _, _ := strings.Cut(c.Image[strings.LastIndex(c.Image, "/")+1:], "@")
		return nginxImage.MatchString(name) && !strings.Contains(name, "exporter")
	}
	if i := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == "nginx" }); i >= 0 {
		return i
	}
	if i := slices.IndexFunc(containers, byImage); i >= 0 {
		return i
	}
	// A Deployment that mounts files into /etc/nginx runs nginx, whatever its image is called.
	return slices.IndexFunc(containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return within(m.MountPath, configDirs) })
	})
}

func (s *inputs) importWorkloads(found []*workload) (*Result, error) {
	result, done := &Result{}, map[*object]bool{}
	for _, w := range found {
		w.inputs, w.review = s, &result.Review
		name := cmp.Or(s.options.Name, applicationName(w.meta.Name), "nginx")
		if len(found) > 1 {
			name = cmp.Or(applicationName(w.meta.Name), "nginx")
		}
		w.app = newApplication(name, cmp.Or(s.options.Namespace, w.meta.Namespace))
		files, err := w.run(done)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		done[w.object] = true
		w.object.review(w.review, "an NginxOperator has no such field: see the document of common needs")
		if err := result.add(w.app, files); err != nil {
			return nil, err
		}
	}
	s.reviewOthers(&result.Review, done)
	return result, nil
}

// run fills the application, and returns the files of its configuration.
func (w *workload) run(done map[*object]bool) (*fileSet, error) {
	w.app.Spec.PodTemplate = &v1alpha2.PodTemplate{}
	w.metadata()
	w.controller()
	w.copyPod()
	w.copyVolumes()
	files, ports, err := w.configuration(done)
	if err != nil {
		return nil, err
	}
	w.exposure(done, w.service(done, ports))
	w.copyContainer()
	w.sidecars()
	w.budget(done)
	w.policies()
	if isEmpty(w.app.Spec.PodTemplate) {
		w.app.Spec.PodTemplate = nil
	}
	return files, nil
}

// metadata copies names, labels and annotations.
func (w *workload) metadata() {
	w.take("metadata.name", Carried, "")
	w.take("metadata.namespace", Carried, "")
	w.app.Labels, w.app.Annotations = w.keepOwn("metadata.labels", w.meta.Labels), w.keepOwn("metadata.annotations", w.meta.Annotations)
	t := w.app.Spec.PodTemplate
	t.Labels, t.Annotations = w.keepOwn(w.metaPath+".labels", w.podMeta.Labels), w.keepOwn(w.metaPath+".annotations", w.podMeta.Annotations)
}

// operatorLabels are labels that the operator sets itself.
var operatorLabels = []string{"app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "app.kubernetes.io/component", "app.kubernetes.io/part-of", "pod-template-hash"}

// keepOwn returns labels or annotations without those of the operator and of the cluster.
func (w *workload) keepOwn(path string, all map[string]string) map[string]string {
	var own map[string]string
	for key, value := range all {
		at := childPath(path, key)
		switch {
		case slices.Contains(clusterFields, at):
			continue
		case slices.Contains(operatorLabels, key):
			w.take(at, NotCarried, "the operator sets the label")
			continue
		}
		if own == nil {
			own = map[string]string{}
		}
		own[key] = value
		w.take(at, Carried, "")
	}
	return own
}

// controller copies the fields of a Deployment about its pods as a whole.
func (w *workload) controller() {
	if w.replicas != nil {
		w.app.Spec.Replicas = w.replicas
		w.take("spec.replicas", Carried, "")
	}
	w.take("spec.selector", NotCarried, "the pods of an application have labels of the operator: change the selectors of other objects to app.kubernetes.io/instance: "+w.app.Name)
	w.take("spec.revisionHistoryLimit", NotCarried, "the operator keeps the revisions that it needs")
	w.take("spec.template.metadata.creationTimestamp", NotCarried, "the cluster sets it")
	switch t := w.typed.(type) {
	case *appsv1.Deployment:
		w.rollout(t)
	case *appsv1.StatefulSet:
		w.take("spec.serviceName", NotCarried, "the pods of an application have no names of their own")
		w.take("spec.volumeClaimTemplates", NotCarried, "the pods of an application share volumes: mount a claim with podTemplate.volumes")
		w.take("spec.updateStrategy", NotCarried, "a rollout starts new pods first")
		w.take("spec.podManagementPolicy", NotCarried, "the pods of an application start at once")
	case *appsv1.DaemonSet:
		w.take("spec.updateStrategy", NotCarried, "a rollout starts new pods first")
		w.review.step("Set spec.replicas of %s to the number of nodes: an application has a number of pods, and not one on each node.", w.app.Name)
	}
}

// rollout copies the strategy of a Deployment.
func (w *workload) rollout(d *appsv1.Deployment) {
	r := &v1alpha2.Rollout{ProgressDeadlineSeconds: d.Spec.ProgressDeadlineSeconds}
	if d.Spec.MinReadySeconds > 0 {
		r.MinReadySeconds = &d.Spec.MinReadySeconds
	}
	w.take("spec.minReadySeconds", Carried, "")
	w.take("spec.progressDeadlineSeconds", Carried, "")
	w.take("spec.strategy", Carried, "")
	switch {
	case d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		w.take("spec.strategy", NotCarried, "a rollout starts new pods first, so that requests are served meanwhile")
	case d.Spec.Strategy.RollingUpdate != nil:
		r.MaxSurge, r.MaxUnavailable = d.Spec.Strategy.RollingUpdate.MaxSurge, d.Spec.Strategy.RollingUpdate.MaxUnavailable
	}
	if !isEmpty(r) {
		w.app.Spec.Rollout = r
	}
}
