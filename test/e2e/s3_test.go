//go:build e2e

package e2e

import (
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/nginx-operator/internal/backup/location"
)

const (
	s3Port      = 7070
	s3AccessKey = "AKIDE2ETESTS"
	s3SecretKey = "secret-of-the-e2e-tests"
	s3Region    = "us-east-1"
)

// s3Server is an S3 server for one test. Its objects are lost when it ends.
type s3Server struct{ pod *corev1.Pod }

// startS3 starts a server as a pod and a Service named s3, and waits until it responds.
func startS3(t *testing.T, namespace string) *s3Server {
	t.Helper()
	labels := map[string]string{"app.kubernetes.io/name": "s3"}
	must(t, kube.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "s3"},
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: s3Port}}},
	}))
	pod := restrictedPod(namespace, "s3", s3Image)
	pod.Labels = labels
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	c := &pod.Spec.Containers[0]
	c.Args = []string{"--port", fmt.Sprintf(":%d", s3Port), "posix", "/data"}
	c.Env = []corev1.EnvVar{{Name: "ROOT_ACCESS_KEY", Value: s3AccessKey}, {Name: "ROOT_SECRET_KEY", Value: s3SecretKey}}
	c.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	c.ReadinessProbe = &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(s3Port)}},
		PeriodSeconds: 1,
	}
	must(t, kube.Create(t.Context(), pod))
	eventually(t, "the S3 server is ready", func() error {
		if err := get(t, pod); err != nil {
			return err
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("it is %s", pod.Status.Phase)
	})
	return &s3Server{pod: pod}
}

// location returns the URL of a folder for pods.
func (s *s3Server) location(bucket, folder string) string {
	return fmt.Sprintf("s3://%s/%s?endpoint=http://s3.%s.svc:%d&use_path_style=true", bucket, folder, s.pod.Namespace, s3Port)
}

// secret creates the Secret with the server's credentials.
func (s *s3Server) secret(t *testing.T, namespace, name string) {
	t.Helper()
	must(t, kube.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		StringData: map[string]string{"AWS_ACCESS_KEY_ID": s3AccessKey, "AWS_SECRET_ACCESS_KEY": s3SecretKey},
	}))
}

func (s *s3Server) makeBucket(t *testing.T, name string) {
	t.Helper()
	eventually(t, "the bucket is made", func() error {
		_, err := s.do(t.Context(), http.MethodPut, name, nil, nil)
		return err
	})
}

// keys returns the sorted keys of a bucket that have a prefix.
func (s *s3Server) keys(t *testing.T, bucket, prefix string) []string {
	t.Helper()
	query := url.Values{"list-type": {"2"}, "prefix": {prefix}}
	var keys []string
	for {
		text, err := s.do(t.Context(), http.MethodGet, bucket, query, nil)
		must(t, err)
		var page struct {
			Contents []struct{ Key string }
			Next     string `xml:"NextContinuationToken"`
		}
		must(t, xml.Unmarshal(text, &page))
		for _, o := range page.Contents {
			keys = append(keys, o.Key)
		}
		if page.Next == "" {
			slices.Sort(keys)
			return keys
		}
		query.Set("continuation-token", page.Next)
	}
}

// read returns the content of an object.
func (s *s3Server) read(t *testing.T, bucket, key string) []byte {
	t.Helper()
	data, err := s.do(t.Context(), http.MethodGet, bucket+"/"+key, nil, nil)
	must(t, err)
	return data
}

// write creates or overwrites an object.
func (s *s3Server) write(t *testing.T, bucket, key string, data []byte) {
	t.Helper()
	_, err := s.do(t.Context(), http.MethodPut, bucket+"/"+key, nil, data)
	must(t, err)
}

// remove deletes an object.
func (s *s3Server) remove(t *testing.T, bucket, key string) {
	t.Helper()
	_, err := s.do(t.Context(), http.MethodDelete, bucket+"/"+key, nil, nil)
	must(t, err)
}

// do sends a request through the API server. The API server keeps the header with a signature to
// itself and passes on the host name under which it was called. Therefore the signature is in the
// query, for that host.
func (s *s3Server) do(ctx context.Context, verb, path string, query url.Values, body []byte) ([]byte, error) {
	request := clientset.CoreV1().RESTClient().Verb(verb).Namespace(s.pod.Namespace).Resource("pods").
		Name(fmt.Sprintf("%s:%d", s.pod.Name, s3Port)).SubResource("proxy").Suffix(path)
	plain := &url.URL{Scheme: "http", Host: request.URL().Host, Path: "/" + path, RawQuery: query.Encode()}
	r, err := http.NewRequestWithContext(ctx, verb, plain.String(), nil)
	if err != nil {
		return nil, err
	}
	values := r.URL.Query()
	values.Set("X-Amz-Expires", "300")
	r.URL.RawQuery = values.Encode()
	credentials := aws.Credentials{AccessKeyID: s3AccessKey, SecretAccessKey: s3SecretKey}
	signed, _, err := v4.NewSigner().PresignHTTP(ctx, credentials, r, "UNSIGNED-PAYLOAD", "s3", s3Region, time.Now(),
		func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	if err != nil {
		return nil, err
	}
	to, err := url.Parse(signed)
	if err != nil {
		return nil, err
	}
	for name, all := range to.Query() {
		for _, value := range all {
			request.Param(name, value)
		}
	}
	if body != nil {
		request.Body(body).SetHeader("Content-Type", "application/octet-stream")
	}
	data, err := request.Do(ctx).Raw()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", verb, path, err, strings.TrimSpace(string(data)))
	}
	return data, nil
}

// restrictedPod returns a pod under the restricted Pod Security Standard, with the user of nginx.
func restrictedPod(namespace, name, image string) *corev1.Pod {
	user := int64(101)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			AutomountServiceAccountToken:  new(false),
			TerminationGracePeriodSeconds: new(int64(1)),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), RunAsUser: &user, RunAsGroup: &user, FSGroup: &user,
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: name, Image: image, ImagePullPolicy: corev1.PullIfNotPresent,
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}

// TestS3Server: the S3 server that the backup tests use works.
func TestS3Server(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	s := startS3(t, namespace)
	s.secret(t, namespace, "store")
	if _, err := location.Parse(s.location("backups", "web")); err != nil {
		t.Error(err)
	}
	s.makeBucket(t, "backups")
	if got := s.keys(t, "backups", ""); len(got) != 0 {
		t.Errorf("a new bucket has %v", got)
	}
	s.write(t, "backups", "web/a.tar", []byte("hello"))
	s.write(t, "backups", "other/b.tar", nil)
	if got := s.keys(t, "backups", "web/"); !slices.Equal(got, []string{"web/a.tar"}) {
		t.Errorf("it has %v", got)
	}
	if got := string(s.read(t, "backups", "web/a.tar")); got != "hello" {
		t.Errorf("the object holds %q", got)
	}
	s.remove(t, "backups", "web/a.tar")
	if got := s.keys(t, "backups", ""); !slices.Equal(got, []string{"other/b.tar"}) {
		t.Errorf("it has %v", got)
	}
}
