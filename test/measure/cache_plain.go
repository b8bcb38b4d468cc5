package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	plainName = "plain"
	// plainFront is an nginx in front of that.
	plainFront = "plain-front"
	plainPort  = 8080
	// plainWorkers is the number of processes in each pod.
	plainWorkers = 2
)

// plainConfig is that of an nginx which caches by itself. It logs as common images do, and as the pods of a cache do. Its
// answers have the header that the load reads.
const plainConfig = `worker_processes %d;
pid /tmp/nginx.pid;
error_log stderr;
events { worker_connections 1024; }
http {
    access_log /dev/stdout combined buffer=4k flush=1s;
    sendfile on;
    tcp_nopush on;
    client_body_temp_path /tmp/body;
    proxy_temp_path /tmp/proxy;
    fastcgi_temp_path /tmp/fastcgi;
    uwsgi_temp_path /tmp/uwsgi;
    scgi_temp_path /tmp/scgi;
    proxy_cache_path /var/cache/plain levels=1:2 keys_zone=plain:64m max_size=%s inactive=1d use_temp_path=off;
    map $upstream_cache_status $plain_status {
        default "fwd=uri-miss";
        HIT "hit";
    }
    upstream origin {
        server %s;
        keepalive 32;
    }
    server {
        listen %d;
        location / {
            proxy_pass http://origin;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $host;
            proxy_cache plain;
            proxy_cache_key $scheme://$host$request_uri;
            proxy_cache_lock on;
            add_header Cache-Status "$hostname; $plain_status" always;
        }
        location = /healthz { return 200; }
    }
}
`

// plainBench is a Deployment of nginx whose pods each have a cache on an emptyDir, behind one Service.
type plainBench struct {
	*bench
	deployment *appsv1.Deployment
}

// plainShape is what such Deployments differ in: origin is the address that they request objects from, and size that of the
// cache in nginx's notation.
type plainShape struct {
	name, origin, size string
	replicas           int32
	// node selects the nodes that the pods run on; nil: any.
	node map[string]string
}

// plainBench creates a Deployment in front of the origin, and waits until its pods are ready.
func (b *bench) plainBench(ctx context.Context, replicas int32, node map[string]string) (*plainBench, error) {
	return b.plainShaped(ctx, plainShape{name: plainName, origin: fmt.Sprintf("origin:%d", originPort), size: "1g", replicas: replicas, node: node})
}

func (b *bench) plainShaped(ctx context.Context, shape plainShape) (*plainBench, error) {
	p := &plainBench{bench: b, deployment: plainDeployment(b.namespace, b.newest(), shape)}
	meta := p.deployment.ObjectMeta
	text := fmt.Sprintf(plainConfig, plainWorkers, shape.size, shape.origin, plainPort)
	objects := []client.Object{
		&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"nginx.conf": text}},
		&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: plainLabels(shape.name), Ports: []corev1.ServicePort{{Port: plainPort}}}},
		p.deployment,
	}
	for _, object := range objects {
		if err := b.client.Create(ctx, object); err != nil {
			return nil, err
		}
	}
	return p, p.rolledOut(ctx)
}

func plainLabels(name string) map[string]string { return map[string]string{"app": name} }

// plainDeployment returns a Deployment as its users write it: pods are replaced when others are ready, and serve until no
// Service sends to them.
func plainDeployment(namespace, image string, shape plainShape) *appsv1.Deployment {
	labels := plainLabels(shape.name)
	no := false
	container := corev1.Container{
		Name: "nginx", Image: image,
		Command:   []string{"nginx", "-c", "/etc/plain/nginx.conf", "-g", "daemon off;"},
		Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sh", "-c", "sleep 3; nginx -c /etc/plain/nginx.conf -s quit; sleep 5"}}}},
		ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(plainPort)},
		}},
		SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
	}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
	template.Spec.NodeSelector = shape.node
	template.Spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot: new(true), RunAsUser: new(int64(65532)), FSGroup: new(int64(65532)),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	for name, mount := range map[string]string{"temp": "/tmp", "cache": "/var/cache/plain"} {
		template.Spec.Volumes = append(template.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: mount})
	}
	template.Spec.Volumes = append(template.Spec.Volumes, corev1.Volume{Name: "config", VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: shape.name}},
	}})
	container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: "config", MountPath: "/etc/plain"})
	template.Spec.Containers = []corev1.Container{container}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: shape.name},
		Spec:       appsv1.DeploymentSpec{Replicas: &shape.replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}
}

// rolledOut waits until all pods are the newest ones, and ready.
func (p *plainBench) rolledOut(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.patience, fmt.Errorf("the Deployment %s is not rolled out within %s", p.deployment.Name, p.patience))
	defer cancel()
	for {
		if err := p.client.Get(ctx, client.ObjectKeyFromObject(p.deployment), p.deployment); err != nil {
			return err
		}
		if rolledOut(p.deployment) {
			return nil
		}
		if err := pause(ctx, restartPoll); err != nil {
			return err
		}
	}
}

// restart does the same as `kubectl rollout restart`, and waits for its end.
func (p *plainBench) restart(ctx context.Context) error {
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`, time.Now().Format(time.RFC3339Nano))
	if err := p.client.Patch(ctx, p.deployment, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		return err
	}
	return p.rolledOut(ctx)
}

// podAddresses returns the addresses of all pods.
func (p *plainBench) podAddresses(ctx context.Context) ([]string, error) {
	pods := &corev1.PodList{}
	if err := p.client.List(ctx, pods, client.InNamespace(p.namespace), client.MatchingLabels(plainLabels(p.deployment.Name))); err != nil {
		return nil, err
	}
	var addresses []string
	for _, pod := range pods.Items {
		addresses = append(addresses, net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(plainPort)))
	}
	return addresses, nil
}
