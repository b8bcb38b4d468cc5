package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/testenv"
)

// parameters is what the administrator of the tests allows.
var parameters = map[string]string{
	"images":             "registry.example.com/team/\nregistry.example.com:5000/nginx\nnginx\n",
	"secretPrefixes":     "secure-\nweb-\n",
	"claimPrefixes":      "web-",
	"tolerationKeys":     "dedicated\n",
	"priorityClasses":    "web",
	"serviceAnnotations": "example.com/team",
	"originURLs":         "https://origin.example.com",
	"backupURLs":         "pvc://nginx-backups\ns3://my-bucket/nginx?region=eu-central-1\n",
	"backupSecrets":      "backup-credentials",
	"ageRecipients":      recipient,
}

const (
	recipient        = "age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq"
	foreignRecipient = "age1zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"
)

// TestRestricted: config/policy/restricted refuses in a namespace with its label what the administrator does not allow,
// with a message that says what to change, and accepts everything else.
func TestRestricted(t *testing.T) {
	namespace := restrictedNamespace(t, parameters)
	const (
		cache  = `origins: [{name: app, service: {name: app}}], shards: {storage: {size: 1Gi}}`
		backup = `target: {name: web}, destination: {url: "pvc://nginx-backups"}`
	)
	for _, tt := range []struct {
		name, kind, spec string
		// want is part of the error message. If empty, the object is accepted.
		want string
	}{
		{name: "nothing declared"},
		{name: "an image by tag", spec: `image: "registry.example.com:5000/nginx:1.30"`},
		{name: "an image by digest", spec: `image: "nginx@sha256:0000"`},
		{name: "an image below a path", spec: `image: registry.example.com/team/sub/nginx`},
		{name: "another image", spec: `image: evil.example.com/nginx`, want: "the image evil.example.com/nginx is not allowed in this namespace: remove it or use one of: registry.example.com/team/, registry.example.com:5000/nginx, nginx"},
		{name: "a registry with a longer name", spec: `image: registry.example.com.evil.org/team/nginx`, want: "the image registry.example.com.evil.org/team/nginx is not"},
		{name: "a repository with a longer name", spec: `image: "registry.example.com:5000/nginx-evil:1"`, want: "the image registry.example.com:5000/nginx-evil:1 is not"},
		{name: "a registry that is called like an image", spec: `image: "nginx:5000/evil"`, want: "the image nginx:5000/evil is not"},
		{name: "an image as content", spec: `content: [{mountPath: /srv, image: {reference: evil/pages}}]`, want: "the image evil/pages is not"},
		{name: "an image as a volume", spec: `podTemplate: {volumes: [{name: a, image: {reference: evil/pages}}]}`, want: "the image evil/pages is not"},
		{name: "a container", spec: `podTemplate: {containers: [{name: a, image: nginx}]}`, want: "containers and initContainers are not allowed in this namespace: remove them"},
		{name: "an init container", spec: `podTemplate: {initContainers: [{name: a, image: nginx}]}`, want: "containers and initContainers are not allowed"},
		{name: "a Secret as a volume", spec: `podTemplate: {volumes: [{name: a, secret: {secretName: web-a}}]}`, want: "must not use a Secret in this namespace: name certificates in spec.tls"},
		{name: "a Secret as a variable", spec: `podTemplate: {env: [{name: A, value: a}, {name: B, valueFrom: {secretKeyRef: {name: web-a, key: b}}}]}`, want: "must not use a Secret"},
		{name: "a Secret as variables", spec: `podTemplate: {envFrom: [{configMapRef: {name: a}}, {secretRef: {name: web-a}}]}`, want: "must not use a Secret"},
		{name: "a volume around the operator's", spec: `podTemplate: {volumes: [{name: a, persistentVolumeClaim: {claimName: web-a}}], volumeMounts: [{name: a, mountPath: /etc/nginx/}]}`, want: "nothing can be mounted at /etc/nginx/ in this namespace"},
		{name: "content around the operator's", spec: `content: [{mountPath: /etc/nginx, persistentVolumeClaim: {claimName: web-a}}]`, want: "nothing can be mounted at /etc/nginx in this namespace"},
		{name: "a volume beside the operator's", spec: `podTemplate: {volumes: [{name: a, persistentVolumeClaim: {claimName: web-a}}], volumeMounts: [{name: a, mountPath: /etc/nginx/geo}]}`},
		{name: "a Secret in the configuration", spec: `config: {files: {a.conf: "return 200 ${B};"}, env: [{name: A, value: a}, {name: B, valueFrom: {secretKeyRef: {name: web-a, key: tls.key}}}]}`, want: "spec.config: env and envFrom must not use a Secret in this namespace"},
		{name: "Secrets in the configuration", spec: `config: {files: {a.conf: ""}, envFrom: [{secretRef: {name: web-a}}]}`, want: "spec.config: env and envFrom must not"},
		{name: "ConfigMaps in the configuration", spec: `config: {files: {a.conf: ""}, env: [{name: A, valueFrom: {configMapKeyRef: {name: a, key: b}}}], envFrom: [{configMapRef: {name: a}}]}`},
		{name: "an Ingress", spec: `ingress: {hosts: [{host: bank.example.com}]}`, want: "ingress and httpRoutes are not allowed in this namespace"},
		{name: "a route", spec: `httpRoutes: [{name: a, parentRefs: [{name: public}], hostnames: [bank.example.com]}]`, want: "ingress and httpRoutes are not"},
		{name: "an issued certificate", spec: `tls: [{name: site, secretName: web-site, certificate: {issuerRef: {name: a}, dnsNames: [bank.example.com]}}]`, want: "spec.tls: certificate is not allowed in this namespace"},
		{name: "ConfigMaps", spec: `podTemplate: {volumes: [{name: a, configMap: {name: a}}], envFrom: [{configMapRef: {name: a}}], env: [{name: B, valueFrom: {configMapKeyRef: {name: a, key: b}}}]}`},
		{name: "a certificate", spec: `tls: [{name: site, secretName: web-site}]`},
		{name: "another Secret as a certificate", spec: `tls: [{name: site, secretName: web-site}, {name: b, secretName: database}]`, want: "the Secret database is not allowed in this namespace: remove it or use one whose name begins with one of: secure-, web-"},
		{name: "another Secret for the registry", spec: `podTemplate: {imagePullSecrets: [{name: database}]}`, want: "the Secret database is not"},
		{name: "another Secret for all registries", spec: `imagePullSecrets: [{name: database}]`, want: "the Secret database is not"},
		{name: "a ServiceAccount", spec: `serviceAccount: {name: admin}`, want: "spec.serviceAccount is not allowed in this namespace, because cloud providers give its rights to the pods: remove it"},
		{name: "the identity of a cloud provider", spec: `serviceAccount: {annotations: {eks.amazonaws.com/role-arn: admin}}`, want: "spec.serviceAccount is not"},
		{name: "groups", spec: `podTemplate: {securityContext: {supplementalGroups: [5]}}`, want: "spec.podTemplate.securityContext is not allowed in this namespace, because its groups open volumes of others: remove it"},
		{name: "claims", spec: `content: [{mountPath: /srv, persistentVolumeClaim: {claimName: web-a}}], podTemplate: {volumes: [{name: a, persistentVolumeClaim: {claimName: web-b}}]}`},
		{name: "another claim as content", spec: `content: [{mountPath: /srv, persistentVolumeClaim: {claimName: database}}]`, want: "the PersistentVolumeClaim database is not allowed in this namespace: remove it or use one whose name begins with one of: web-"},
		{name: "another claim as a volume", spec: `podTemplate: {volumes: [{name: a, persistentVolumeClaim: {claimName: database}}]}`, want: "the PersistentVolumeClaim database is not"},
		{name: "a CSI volume", spec: `podTemplate: {volumes: [{name: a, csi: {driver: secrets-store.csi.k8s.io}}]}`, want: "csi is not allowed in this namespace: use a PersistentVolumeClaim"},
		{name: "a toleration", spec: `podTemplate: {tolerations: [{key: dedicated, operator: Exists}]}`},
		{name: "another toleration", spec: `podTemplate: {tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists}]}`, want: `the key "node-role.kubernetes.io/control-plane" is not allowed in this namespace: remove it or use one of: dedicated`},
		{name: "a toleration of everything", spec: `podTemplate: {tolerations: [{operator: Exists}]}`, want: `the key "" is not allowed`},
		{name: "a priority class", spec: `podTemplate: {priorityClassName: web}`},
		{name: "another priority class", spec: `podTemplate: {priorityClassName: system-node-critical}`, want: "system-node-critical is not allowed in this namespace: remove it or use one of: web"},
		{name: "a runtime class", spec: `podTemplate: {runtimeClassName: unconfined}`, want: "runtimeClassName and schedulerName are not allowed in this namespace: remove them"},
		{name: "a scheduler", spec: `podTemplate: {schedulerName: mine}`, want: "runtimeClassName and schedulerName are not"},
		{name: "a Service in the cluster", spec: `service: {type: ClusterIP, annotations: {example.com/team: shop}}`},
		{name: "a node port", spec: `service: {type: NodePort}`, want: "only ClusterIP is allowed in this namespace: publish the application"},
		{name: "a load balancer", spec: `service: {type: LoadBalancer}`, want: "only ClusterIP is allowed"},
		{name: "an annotation of the Service", spec: `service: {annotations: {external-dns.alpha.kubernetes.io/hostname: bank.example.com}}`, want: "external-dns.alpha.kubernetes.io/hostname is not allowed in this namespace: remove it or use one of: example.com/team"},

		{name: "a cache", kind: "NginxCache", spec: cache},
		{name: "the image of a cache", kind: "NginxCache", spec: cache + `, image: evil/nginx`, want: "the image evil/nginx is not"},
		{name: "the certificate of a cache", kind: "NginxCache", spec: cache + `, tls: [{name: a, secretName: database}]`, want: "the Secret database is not"},
		{name: "the pods of a cache", kind: "NginxCache", spec: cache + `, podTemplate: {containers: [{name: a, image: nginx}]}`, want: "containers and initContainers are not"},
		{name: "the Service of a cache", kind: "NginxCache", spec: cache + `, service: {type: LoadBalancer}`, want: "only ClusterIP is allowed"},
		{name: "an origin", kind: "NginxCache", spec: `origins: [{name: a, url: "https://origin.example.com"}], shards: {storage: {size: 1Gi}}`},
		{name: "another origin", kind: "NginxCache", spec: `origins: [{name: a, url: "http://169.254.169.254"}], shards: {storage: {size: 1Gi}}`, want: "the URL http://169.254.169.254 is not allowed in this namespace: use service or nginxOperator or one of: https://origin.example.com"},
		{name: "configuration of edges", kind: "NginxCache", spec: cache + `, edge: {config: {files: {a.conf: ""}}}`, want: "edge.config and shards.config are not allowed in this namespace: remove them"},
		{name: "configuration of shards", kind: "NginxCache", spec: `origins: [{name: app, service: {name: app}}], shards: {storage: {size: 1Gi}, config: {files: {a.conf: ""}}}`, want: "edge.config and shards.config are not"},

		{name: "a backup", kind: "NginxBackup", spec: backup},
		{name: "a backup with Secrets", kind: "NginxBackup", spec: backup + `, includeSecrets: {ageRecipients: [` + recipient + `]}`},
		{name: "a backup with a stranger's key", kind: "NginxBackup", spec: backup + `, includeSecrets: {ageRecipients: [` + recipient + `, ` + foreignRecipient + `]}`, want: "ageRecipients: a key is not allowed in this namespace: use keys that the administrator allows, or remove includeSecrets"},
		{name: "another bucket", kind: "NginxBackup", spec: `target: {name: web}, destination: {url: "s3://evil?region=eu-central-1"}`, want: "destination.url: s3://evil?region=eu-central-1 is not allowed in this namespace: use one of: pvc://nginx-backups, s3://my-bucket/nginx?region=eu-central-1"},
		{name: "another endpoint", kind: "NginxBackup", spec: `target: {name: web}, destination: {url: "s3://my-bucket/nginx?region=eu-central-1&endpoint=https://evil.example.com"}`, want: "is not allowed in this namespace: use one of: pvc"},
		{name: "another claim for backups", kind: "NginxBackup", spec: `target: {name: web}, destination: {url: "pvc://database"}`, want: "is not allowed in this namespace: use one of: pvc"},
		{name: "another Secret for the store", kind: "NginxBackup", spec: `target: {name: web}, destination: {url: "s3://my-bucket/nginx?region=eu-central-1", secret: {name: database}}`, want: "the Secret database is not allowed in this namespace: remove it or use one of: backup-credentials"},
		{name: "a policy", kind: "NginxBackupPolicy", spec: `selector: {}, triggers: {change: {}}, destination: {url: "pvc://nginx-backups"}`},
		{name: "a policy for another bucket", kind: "NginxBackupPolicy", spec: `selector: {}, triggers: {change: {}}, destination: {url: "s3://evil?region=eu-central-1"}`, want: "is not allowed in this namespace: use one of: pvc"},
		{name: "a restore", kind: "NginxRestore", spec: `backup: {name: web}, claims: [{from: films, to: web-films}]`},
		{name: "a restore from elsewhere", kind: "NginxRestore", spec: `location: {destination: {url: "s3://evil?region=eu-central-1"}, path: a/web/web-1a2b3c4d}`, want: "spec.location is not allowed in this namespace: name an NginxBackup in spec.backup"},
		{name: "a restore to another claim", kind: "NginxRestore", spec: `backup: {name: web}, claims: [{from: films, to: database}]`, want: "the PersistentVolumeClaim database is not allowed in this namespace: remove it or use one whose name begins with one of: web-"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantRestricted(t, object(t, namespace, tt.kind, tt.spec), tt.want)
		})
	}
}

// TestRestrictedSamples: with the same rules, the samples are accepted, apart from those that publish an application.
func TestRestrictedSamples(t *testing.T) {
	namespace := restrictedNamespace(t, parameters)
	samples, err := filepath.Glob(filepath.Join(testenv.Root(), "config", "samples", "*_*.yaml"))
	must(t, err)
	if len(samples) < 10 {
		t.Fatalf("the samples are only %v", samples)
	}
	for _, sample := range samples {
		t.Run(filepath.Base(sample), func(t *testing.T) {
			for _, obj := range readObjects(t, sample) {
				obj.SetNamespace(namespace)
				refused := map[string]string{"shop": "only ClusterIP is allowed", "exposed": "ingress and httpRoutes are not"}
				want := ""
				if obj.GetKind() == "NginxOperator" {
					want = refused[obj.GetName()]
				}
				wantRestricted(t, obj, want)
			}
		})
	}
}

// TestRestrictedConversion: a write as v1alpha1 cannot declare what a write as v1alpha2 cannot.
func TestRestrictedConversion(t *testing.T) {
	namespace := restrictedNamespace(t, parameters)
	old := asV1Alpha1(namespace, "old")
	old.Annotations = map[string]string{"operator.example.com/v1alpha2-spec": `{"service":{"type":"LoadBalancer"},"podTemplate":{"priorityClassName":"system-node-critical"}}`}
	err := kube.Create(t.Context(), old, client.DryRunAll)
	if err == nil || !strings.Contains(err.Error(), "not allowed in this namespace") {
		t.Errorf("the answer is %v", err)
	}
}

// TestRestrictedVolumes: an object from before the schema refused volumes of the operator cannot be changed as long as it
// uses one.
func TestRestrictedVolumes(t *testing.T) {
	namespace := newNamespace(t)
	nginx := object(t, namespace, "", `podTemplate: {volumeMounts: [{name: certificate-site, mountPath: /srv/keys}], env: [{name: A, valueFrom: {fileKeyRef: {volumeName: scratch, path: a, key: b}}}]}`)
	storeWithoutRules(t, nginx)
	application := asV1Alpha2(namespace, nginx.GetName())
	accepted := waitCondition(t, application, v1alpha2.ConditionAccepted, metav1.ConditionFalse, v1alpha2.ReasonInvalidSpec)
	if !strings.Contains(accepted.Message, "scratch, which spec.podTemplate.volumes does not declare") {
		t.Errorf("Accepted says %q", accepted.Message)
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: nginx.GetName()}}
	must(t, get(t, deployment))
	for _, mount := range deployment.Spec.Template.Spec.Containers[0].VolumeMounts {
		if mount.MountPath == "/srv/keys" {
			t.Error("the volume is mounted")
		}
	}
	restrict(t, namespace, parameters)
	must(t, get(t, nginx))

	must(t, kube.Patch(t.Context(), nginx, merge(`{"metadata":{"annotations":{"a":"b"}}}`)))
	err := kube.Patch(t.Context(), nginx, merge(`{"spec":{"replicas":2}}`))
	if err == nil || !strings.Contains(err.Error(), "the volume certificate-site is not declared in spec.podTemplate.volumes") {
		t.Errorf("a change of the spec: %v", err)
	}
	err = kube.Patch(t.Context(), nginx, merge(`{"spec":{"podTemplate":{"volumeMounts":null}}}`))
	if err == nil || !strings.Contains(err.Error(), "fileKeyRef") {
		t.Errorf("a variable: %v", err)
	}
	must(t, kube.Patch(t.Context(), nginx, merge(`{"spec":{"podTemplate":null}}`)))
}

// TestRestrictedUpdates: an object from before the label can be updated as long as its spec stays the same. In
// namespaces without the label nothing is refused.
func TestRestrictedUpdates(t *testing.T) {
	namespace := newNamespace(t)
	nginx := object(t, namespace, "", `image: evil.example.com/nginx`)
	must(t, kube.Create(t.Context(), nginx))
	restrict(t, namespace, parameters)

	must(t, kube.Patch(t.Context(), nginx, merge(`{"metadata":{"annotations":{"gate.operator.example.com/backup":"1"}}}`)))
	err := kube.Patch(t.Context(), nginx, merge(`{"spec":{"replicas":2}}`))
	if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
		t.Errorf("a change of the spec: %v", err)
	}
	must(t, kube.Patch(t.Context(), nginx, merge(`{"spec":{"replicas":2,"image":null}}`)))
	must(t, kube.Delete(t.Context(), nginx))
}

// TestRestrictedByDefault: the parameters of config/policy/restricted allow nothing but the operator's default image.
func TestRestrictedByDefault(t *testing.T) {
	namespace := restrictedNamespace(t, nil)
	wantRestricted(t, object(t, namespace, "", `replicas: 2`), "")
	for _, spec := range []string{
		`image: nginx`, `tls: [{name: a, secretName: a}]`, `content: [{mountPath: /srv, persistentVolumeClaim: {claimName: a}}]`,
		`podTemplate: {tolerations: [{key: a}]}`, `podTemplate: {priorityClassName: a}`, `service: {annotations: {a: b}}`,
	} {
		wantRestricted(t, object(t, namespace, "", spec), "not allowed in this namespace")
	}
	wantRestricted(t, object(t, namespace, "NginxCache", `origins: [{name: a, url: "http://a"}], shards: {storage: {size: 1Gi}}`), "not allowed in this namespace")
	wantRestricted(t, object(t, namespace, "NginxBackup", `target: {name: web}, destination: {url: "pvc://a"}`), "not allowed in this namespace")
	wantRestricted(t, object(t, namespace, "NginxRestore", `backup: {name: web}, claims: [{from: a, to: b}]`), "not allowed in this namespace")
}

// TestRestrictedLargeObject: the rules cost less than the API server allows, for an object of the largest size and long
// lists of what is allowed.
func TestRestrictedLargeObject(t *testing.T) {
	lists := map[string]string{}
	for key := range parameters {
		var text strings.Builder
		for i := range 100 {
			fmt.Fprintf(&text, "%s-%d.registry.example.com/a/long/path\n", key, i)
		}
		lists[key] = text.String() + "last\n"
	}
	namespace := restrictedNamespace(t, lists)
	repeat := func(count int, format string) string {
		var all []string
		for i := range count {
			all = append(all, fmt.Sprintf(format, i))
		}
		return "[" + strings.Join(all, ", ") + "]"
	}
	nginx := object(t, namespace, "", fmt.Sprintf(`image: "last:1", tls: %s, content: %s, service: {annotations: {last: b}}, podTemplate: {volumes: %s, env: %s, envFrom: %s, imagePullSecrets: %s, tolerations: %s}`,
		repeat(64, "{name: a%d, secretName: last}"),
		repeat(16, `{mountPath: "/srv/%d", image: {reference: "last/a"}}`),
		repeat(32, `{name: a%d, image: {reference: "last@a"}}`),
		repeat(128, "{name: A%d, value: a}"),
		repeat(32, "{configMapRef: {name: a%d}}"),
		repeat(16, "{name: last%d}"),
		repeat(64, "{key: last, value: a%d}")))
	files := map[string]any{}
	for i := range 4 {
		files[fmt.Sprintf("%d.conf", i)] = strings.Repeat("#", 250<<10)
	}
	must(t, unstructured.SetNestedMap(nginx.Object, files, "spec", "config", "files"))
	must(t, kube.Create(t.Context(), nginx))
	must(t, kube.Patch(t.Context(), nginx, merge(`{"metadata":{"annotations":{"a":"b"}}}`)))
	must(t, kube.Patch(t.Context(), nginx, merge(`{"spec":{"replicas":0}}`)))
	must(t, kube.Delete(t.Context(), nginx))
}

// object returns an object, by default an NginxOperator, with a name that the rules do not read.
func object(t *testing.T, namespace, kind, spec string) *unstructured.Unstructured {
	t.Helper()
	if kind == "" {
		kind = "NginxOperator"
	}
	group := map[string]string{"NginxOperator": "operator.example.com/v1alpha2", "NginxCache": "cache.operator.example.com/v1alpha1"}[kind]
	if group == "" {
		group = "backup.operator.example.com/v1alpha1"
	}
	obj := &unstructured.Unstructured{}
	must(t, yaml.Unmarshal([]byte(`{apiVersion: `+group+`, kind: `+kind+`, spec: {`+spec+`}}`), obj))
	obj.SetNamespace(namespace)
	obj.SetName("subject")
	return obj
}

// wantRestricted fails the test unless the API server accepts an object, or refuses it with a message that contains want.
func wantRestricted(t *testing.T, obj *unstructured.Unstructured, want string) {
	t.Helper()
	err := kube.Create(t.Context(), obj, client.DryRunAll, client.FieldValidation("Strict"))
	switch {
	case want == "" && err != nil:
		t.Errorf("%s is refused: %v", obj.GetKind(), err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: got %v, want %q", obj.GetKind(), err, want)
	}
}

// restrictedNamespace creates a namespace in which the policies apply.
func restrictedNamespace(t *testing.T, allowed map[string]string) string {
	t.Helper()
	namespace := newNamespace(t)
	restrict(t, namespace, allowed)
	return namespace
}

// restrict installs config/policy/restricted for a namespace, with the given parameters, or else its own, and waits
// until the API server evaluates all of it.
func restrict(t *testing.T, namespace string, allowed map[string]string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testenv.Root(), "config", "policy", "restricted", "*.yaml"))
	must(t, err)
	refused := "the image evil/" + namespace + " is not allowed in this namespace: remove it"
	if allowed != nil {
		// The API server reads the parameters some time after they were written.
		allowed = maps.Clone(allowed)
		allowed["images"] += namespace
		refused += " or use one of: " + strings.Join(strings.Split(allowed["images"], "\n"), ", ")
	}
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		for _, obj := range readObjects(t, file) {
			if obj.GetKind() == "ConfigMap" && allowed != nil {
				must(t, unstructured.SetNestedStringMap(obj.Object, allowed, "data"))
			}
			must(t, kube.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("administrator"), client.ForceOwnership))
		}
	}
	must(t, kube.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, merge(`{"metadata":{"labels":{"policy.operator.example.com/enforce":"restricted"}}}`)))
	probes := map[*unstructured.Unstructured]string{
		object(t, namespace, "", `image: evil/`+namespace):                                                              refused,
		object(t, namespace, "NginxCache", `origins: [{name: a, url: "http://probe"}], shards: {storage: {size: 1Gi}}`): "http://probe is not allowed",
		object(t, namespace, "NginxBackup", `target: {name: web}, destination: {url: "pvc://probe"}`):                   "pvc://probe is not allowed",
		object(t, namespace, "NginxRestore", `location: {destination: {url: "pvc://probe"}, path: a/b/c}`):              "spec.location is not allowed",
	}
	eventually(t, "the policies apply", func() error {
		var missing []error
		for probe, want := range probes {
			err := kube.Create(t.Context(), probe.DeepCopy(), client.DryRunAll)
			if err == nil || !strings.Contains(err.Error(), want) {
				missing = append(missing, fmt.Errorf("%s: got %w, want %q", probe.GetKind(), err, want))
			}
		}
		return errors.Join(missing...)
	})
}

func merge(patch string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(patch)) }

// readObjects reads the objects of a manifest.
func readObjects(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	var all []*unstructured.Unstructured
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		obj := &unstructured.Unstructured{}
		must(t, yaml.UnmarshalStrict([]byte(document), obj))
		all = append(all, obj)
	}
	return all
}

// storeWithoutRules creates an object while the rules of podTemplate are not in the CustomResourceDefinition, as an earlier
// release did.
func storeWithoutRules(t *testing.T, obj *unstructured.Unstructured) {
	t.Helper()
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "nginxoperators.operator.example.com"}}
	must(t, get(t, definition))
	rules := definition.Spec.DeepCopy()
	setRules := func(all apiextensionsv1.ValidationRules) {
		eventually(t, "write the rules", func() error {
			if err := kube.Get(context.WithoutCancel(t.Context()), client.ObjectKeyFromObject(definition), definition); err != nil {
				return err
			}
			for i := range definition.Spec.Versions {
				spec := definition.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties["spec"]
				if template, found := spec.Properties["podTemplate"]; found {
					template.XValidations = all
					spec.Properties["podTemplate"] = template
				}
			}
			return kube.Update(context.WithoutCancel(t.Context()), definition)
		})
	}
	before := podTemplateRules(rules)
	if len(before) < 6 {
		t.Fatalf("podTemplate has only %d rules", len(before))
	}
	setRules(nil)
	defer func() {
		setRules(before)
		refused := obj.DeepCopy()
		refused.SetName("refused")
		refused.SetResourceVersion("")
		eventually(t, "the rules apply again", func() error {
			if err := kube.Create(t.Context(), refused.DeepCopy(), client.DryRunAll); err == nil {
				return errors.New("the API server accepts the object")
			}
			return nil
		})
	}()
	eventually(t, "the object is stored", func() error { return kube.Create(t.Context(), obj) })
}

func podTemplateRules(spec *apiextensionsv1.CustomResourceDefinitionSpec) apiextensionsv1.ValidationRules {
	for _, version := range spec.Versions {
		if template, found := version.Schema.OpenAPIV3Schema.Properties["spec"].Properties["podTemplate"]; found {
			return template.XValidations
		}
	}
	return nil
}
