//go:build e2e

package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/load/incluster"
	"example.com/nginx-operator/test/load/site"
)

// TestContainerBesideNginx: no request fails when pods are replaced whose nginx passes requests to
// a container in the same pod. That container ends at once when signalled, so it must not be
// signalled while nginx drains.
func TestContainerBesideNginx(t *testing.T) {
	namespace := newNamespace(t)
	const address = "127.0.0.1:8090"
	s := &shop{site: site.Site{Backend: address}}
	s.NginxOperator = createReady(t, namespace, "beside", v1alpha2.NginxOperatorSpec{
		Image: new(newestImage()), Replicas: new(int32(2)), Config: filesConfig(s.site.Files(s.revision())),
		Ports: []v1alpha2.Port{{Name: "http", Port: site.Port}},
		PodTemplate: &v1alpha2.PodTemplate{
			Volumes: []v1alpha2.Volume{{Name: "own", EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			Containers: []v1alpha2.Container{{
				Name: "backend", Image: loadImage, Args: []string{"echo"}, WorkingDir: new("/tmp"),
				Env:          []corev1.EnvVar{{Name: "LISTEN", Value: address}},
				VolumeMounts: []v1alpha2.VolumeMount{{Name: "own", MountPath: "/tmp"}},
			}},
		},
	})
	options := s.site.Options(e2eRate, serviceAddress(t, s.NginxOperator, site.Port))
	options.Revisions = []string{s.revision()}
	var err error
	s.load, err = incluster.Start(t.Context(), clientset, namespace, "load", loadImage, options)
	must(t, err)
	edit(t, s.NginxOperator, func(spec *v1alpha2.NginxOperatorSpec) { spec.ForceRedeploy = new("once") })
	waitReady(t, s.NginxOperator)
	s.stop(t)
}
