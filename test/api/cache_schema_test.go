package api

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "example.com/nginx-operator/api/cache/v1alpha1"
)

// TestCacheSchema: what the schema of NginxCaches accepts, and the message for what it does not.
func TestCacheSchema(t *testing.T) {
	namespace := newNamespace(t)
	const (
		origins = `origins: [{name: app, service: {name: app}}]`
		shards  = `shards: {storage: {size: 1Gi}}`
	)
	for _, tt := range []struct {
		name, object, spec string
		// want is part of the error message. If empty, the object is accepted.
		want string
	}{
		{name: "least", spec: origins + "," + shards},
		{name: "longest name", object: "a" + strings.Repeat("b", 37), spec: origins + "," + shards},
		{name: "several origins", spec: `origins: [{name: a, hosts: [a.example.com], url: "https://a.example.org"}, {name: b, service: {name: b, port: 8080}}],` + shards},
		{name: "rules", spec: origins + "," + shards + `, rules: [{match: {pathPrefix: /static/}, ttl: 1d, key: {queryParameters: {include: [v]}}}, {match: {hosts: [a.example.com], pathRegularExpression: "\\.png$"}, bypass: true}]`},
		{name: "an NginxOperator", spec: `origins: [{name: a, nginxOperator: {name: hello}}],` + shards},
		{name: "certificates", spec: origins + "," + shards + `, tls: [{name: a, secretName: a, hosts: [a.example.com, "*.b.example.com"]}, {name: b, secretName: b.c}]`},
		{name: "extra configuration", spec: origins + `, shards: {storage: {size: 1Gi}, config: {files: {a.conf: ""}}}, edge: {config: {files: {a.conf: "", b.server: x}}}`},
		{name: "sizes", spec: origins + "," + shards + `, rules: [{match: {pathPrefix: /a}, slice: 0}], defaults: {slice: 1Mi, maxObjectSize: 10Gi}`},

		{name: "name too long", object: "a" + strings.Repeat("b", 38), spec: origins + "," + shards, want: "at most 38 characters"},
		{name: "name starts with a digit", object: "1web", spec: origins + "," + shards, want: "start with a letter"},
		{name: "no origin", spec: `origins: [],` + shards, want: "should have at least 1 items"},
		{name: "no storage", spec: origins + `, shards: {}`, want: "storage: Required"},
		{name: "two origins for all hosts", spec: `origins: [{name: a, service: {name: a}}, {name: b, service: {name: b}}],` + shards, want: "only one origin can be without hosts"},
		{name: "a host twice", spec: `origins: [{name: a, hosts: [x.y], service: {name: a}}, {name: b, hosts: [x.y], service: {name: b}}],` + shards, want: "two origins have the same host"},
		{name: "an origin that is nowhere", spec: `origins: [{name: a}],` + shards, want: "exactly one of service, nginxOperator and url"},
		{name: "an origin that is in two places", spec: `origins: [{name: a, nginxOperator: {name: a}, service: {name: a}}],` + shards, want: "exactly one of service, nginxOperator and url"},
		{name: "a URL with a path", spec: `origins: [{name: a, url: "http://a.example.com/x"}],` + shards, want: "such as https://origin.example.com"},
		{name: "a URL that ends a directive", spec: `origins: [{name: a, url: "http://a;evil"}],` + shards, want: "such as https://origin.example.com"},
		{name: "an upper case host", spec: `origins: [{name: a, hosts: [A.example.com], service: {name: a}}],` + shards, want: "should match"},
		{name: "a rule that matches nothing", spec: origins + "," + shards + `, rules: [{match: {}, ttl: 1d}]`, want: "at least 1 properties"},
		{name: "two paths", spec: origins + "," + shards + `, rules: [{match: {pathPrefix: /a, pathRegularExpression: b}}]`, want: "at most one of pathPrefix and pathRegularExpression"},
		{name: "a relative path", spec: origins + "," + shards + `, rules: [{match: {pathPrefix: a}}]`, want: "must start with '/'"},
		{name: "a bypass that stores", spec: origins + "," + shards + `, rules: [{match: {pathPrefix: /a}, bypass: true, ttl: 1d}]`, want: "cannot have ttl, key, slice or requestHeaders"},
		{name: "a bypass in slices", spec: origins + "," + shards + `, rules: [{match: {pathPrefix: /a}, bypass: true, slice: 1Mi}]`, want: "cannot have ttl, key, slice or requestHeaders"},
		{name: "two certificates for all hosts", spec: origins + "," + shards + `, tls: [{name: a, secretName: a}, {name: b, secretName: b}]`, want: "only one certificate can be without hosts"},
		{name: "two certificates for a host", spec: origins + "," + shards + `, tls: [{name: a, secretName: a, hosts: [x.y]}, {name: b, secretName: b, hosts: [x.y]}]`, want: "two certificates have the same host"},
		{name: "a regular expression of hosts", spec: origins + "," + shards + `, tls: [{name: a, secretName: a, hosts: ["~.*"]}]`, want: "should match"},
		{name: "no extra file", spec: origins + "," + shards + `, edge: {config: {files: {}}}`, want: "at least 1 properties"},
		{name: "a duration of Go", spec: origins + "," + shards + `, defaults: {ttl: 1h30m}`, want: "should match"},
		{name: "a parameter that is a variable", spec: origins + "," + shards + `, rules: [{match: {pathPrefix: /a}, key: {queryParameters: {include: ["a$host"]}}}]`, want: "should match"},
		{name: "no edge", spec: origins + "," + shards + `, edge: {replicas: 0}`, want: "greater than or equal to 1"},
		{name: "a quantity of any size", spec: origins + `, shards: {storage: {size: "1e99999999999"}}`, want: "should match"},
		{name: "an unknown field", spec: origins + "," + shards + `, purge: true`, want: "unknown field"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantCacheSchema(t, namespace, "NginxCache", cmp.Or(tt.object, "web"), tt.spec, tt.want)
		})
	}
}

// wantCacheSchema fails the test unless the API server accepts an object, or refuses it with a message that contains want.
func wantCacheSchema(t *testing.T, namespace, kind, name, spec, want string) {
	t.Helper()
	obj := &unstructured.Unstructured{}
	must(t, yaml.Unmarshal([]byte(`{apiVersion: cache.operator.example.com/v1alpha1, kind: `+kind+`, spec: {`+spec+`}}`), obj))
	obj.SetNamespace(namespace)
	obj.SetName(name)
	err := kube.Create(t.Context(), obj, client.DryRunAll, client.FieldValidation("Strict"))
	switch {
	case want == "" && err != nil:
		t.Errorf("it is refused: %v", err)
	case want != "" && (err == nil || !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), want)):
		t.Errorf("%v, want %q", err, want)
	}
}

// TestPurgeSchema: what the schema of NginxCachePurges accepts, and the message for what it does not.
func TestPurgeSchema(t *testing.T) {
	namespace := newNamespace(t)
	const cache = `cacheRef: {name: front},`
	many := strings.TrimSuffix(strings.Repeat(`"https://a/b",`, 101), ",")
	for _, tt := range []struct{ name, spec, want string }{
		{name: "URLs", spec: cache + `urls: ["https://a", "http://a.example.com:8080/b/%20?c=d/e&f", "https://[::1]/"]`},
		{name: "prefixes", spec: cache + `prefixes: ["https://a/", "http://a/1/2/3/4/5/6/"], ttlSecondsAfterFinished: 0`},
		{name: "all", spec: cache + `all: true`},
		{name: "tags", spec: cache + `tags: [product-12, "shelf:3/a", "!-~"], soft: true`},

		{name: "no cache", spec: `all: true`, want: "cacheRef: Required"},
		{name: "nothing", spec: `cacheRef: {name: front}`, want: "exactly one of urls, prefixes, tags and all"},
		{name: "two", spec: cache + `all: true, urls: ["https://a/"]`, want: "exactly one of urls, prefixes, tags and all"},
		{name: "not all", spec: cache + `all: false`, want: "Unsupported value: false"},
		{name: "no URL", spec: cache + `urls: []`, want: "should have at least 1 items"},
		{name: "too many URLs", spec: cache + `urls: [` + many + `]`, want: "must have at most 100 items"},
		{name: "a path", spec: cache + `urls: [/a]`, want: "such as https://shop.example.com/a?v=1"},
		{name: "a query without a path", spec: cache + `urls: ["https://a?b"]`, want: "such as https://shop.example.com/a?v=1"},
		{name: "a fragment", spec: cache + `urls: ["https://a/b#c"]`, want: "without a fragment"},
		{name: "another scheme", spec: cache + `urls: ["ftp://a/b"]`, want: "must be http:// or https://"},
		{name: "a prefix that is no folder", spec: cache + `prefixes: ["https://a/b"]`, want: "ends with a slash"},
		{name: "a prefix with a query string", spec: cache + `prefixes: ["https://a/?b/"]`, want: "such as https://shop.example.com/static/"},
		{name: "a prefix with too many folders", spec: cache + `prefixes: ["https://a/1/2/3/4/5/6/7/"]`, want: "at most 6 folders"},
		{name: "a negative time", spec: cache + `all: true, ttlSecondsAfterFinished: -1`, want: "greater than or equal to 0"},
		{name: "tags and something else", spec: cache + `tags: [a], all: true`, want: "exactly one of urls, prefixes, tags and all"},
		{name: "a tag with a comma", spec: cache + `tags: ["a,b"]`, want: "without spaces and commas"},
		{name: "a tag with a space", spec: cache + `tags: ["a b"]`, want: "without spaces and commas"},
		{name: "an empty tag", spec: cache + `tags: [""]`, want: "without spaces and commas"},
		{name: "an unknown field", spec: cache + `all: true, colour: red`, want: "unknown field"},
	} {
		t.Run(tt.name, func(t *testing.T) { wantCacheSchema(t, namespace, "NginxCachePurge", "purge", tt.spec, tt.want) })
	}
}

// TestPurgeIsImmutable: pods may have purged what a spec said before.
func TestPurgeIsImmutable(t *testing.T) {
	p := &cachev1alpha1.NginxCachePurge{ObjectMeta: metav1.ObjectMeta{Namespace: newNamespace(t), Name: "purge"}}
	p.Spec = cachev1alpha1.NginxCachePurgeSpec{CacheRef: cachev1alpha1.CacheReference{Name: "front"}, URLs: []string{"https://a/"}}
	must(t, kube.Create(t.Context(), p))
	p.Spec.URLs = []string{"https://b/"}
	if err := kube.Update(t.Context(), p); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "create another NginxCachePurge") {
		t.Errorf("%v", err)
	}
}

// TestCacheSamples: the samples of the cache kinds are accepted.
func TestCacheSamples(t *testing.T) {
	namespace := newNamespace(t)
	files, err := filepath.Glob("../../config/samples/cache_*.yaml")
	must(t, err)
	if len(files) < 2 {
		t.Fatalf("the samples are %v", files)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		obj := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal(text, obj))
		obj.SetNamespace(namespace)
		must(t, kube.Create(t.Context(), obj, client.DryRunAll, client.FieldValidation("Strict")))
	}
}
