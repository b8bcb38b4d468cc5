package api

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
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

		{name: "name too long", object: "a" + strings.Repeat("b", 38), spec: origins + "," + shards, want: "at most 38 characters"},
		{name: "name starts with a digit", object: "1web", spec: origins + "," + shards, want: "start with a letter"},
		{name: "no origin", spec: `origins: [],` + shards, want: "should have at least 1 items"},
		{name: "no storage", spec: origins + `, shards: {}`, want: "storage: Required"},
		{name: "two origins for all hosts", spec: `origins: [{name: a, service: {name: a}}, {name: b, service: {name: b}}],` + shards, want: "only one origin can be without hosts"},
		{name: "a host twice", spec: `origins: [{name: a, hosts: [x.y], service: {name: a}}, {name: b, hosts: [x.y], service: {name: b}}],` + shards, want: "two origins have the same host"},
		{name: "an origin that is nowhere", spec: `origins: [{name: a}],` + shards, want: "exactly one of service and url"},
		{name: "a URL with a path", spec: `origins: [{name: a, url: "http://a.example.com/x"}],` + shards, want: "such as https://origin.example.com"},
		{name: "a URL that ends a directive", spec: `origins: [{name: a, url: "http://a;evil"}],` + shards, want: "such as https://origin.example.com"},
		{name: "an upper case host", spec: `origins: [{name: a, hosts: [A.example.com], service: {name: a}}],` + shards, want: "should match"},
		{name: "a rule that matches nothing", spec: origins + "," + shards + `, rules: [{match: {}, ttl: 1d}]`, want: "at least 1 properties"},
		{name: "two paths", spec: origins + "," + shards + `, rules: [{match: {pathPrefix: /a, pathRegularExpression: b}}]`, want: "at most one of pathPrefix and pathRegularExpression"},
		{name: "a relative path", spec: origins + "," + shards + `, rules: [{match: {pathPrefix: a}}]`, want: "must start with '/'"},
		{name: "a bypass that stores", spec: origins + "," + shards + `, rules: [{match: {pathPrefix: /a}, bypass: true, ttl: 1d}]`, want: "cannot have ttl or key"},
		{name: "a duration of Go", spec: origins + "," + shards + `, defaults: {ttl: 1h30m}`, want: "should match"},
		{name: "a parameter that is a variable", spec: origins + "," + shards + `, rules: [{match: {pathPrefix: /a}, key: {queryParameters: {include: ["a$host"]}}}]`, want: "should match"},
		{name: "no edge", spec: origins + "," + shards + `, edge: {replicas: 0}`, want: "greater than or equal to 1"},
		{name: "a quantity of any size", spec: origins + `, shards: {storage: {size: "1e99999999999"}}`, want: "should match"},
		{name: "an unknown field", spec: origins + "," + shards + `, purge: true`, want: "unknown field"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			obj := &unstructured.Unstructured{}
			must(t, yaml.Unmarshal([]byte(`{apiVersion: cache.operator.example.com/v1alpha1, kind: NginxCache, spec: {`+tt.spec+`}}`), obj))
			obj.SetNamespace(namespace)
			obj.SetName("web")
			if tt.object != "" {
				obj.SetName(tt.object)
			}
			err := kube.Create(t.Context(), obj, client.DryRunAll, client.FieldValidation("Strict"))
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.want != "" && err == nil:
				t.Errorf("accepted, want an error that says %q", tt.want)
			case tt.want != "" && !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
				t.Errorf("error is not about the input: %v", err)
			case tt.want != "" && !strings.Contains(err.Error(), tt.want):
				t.Errorf("error does not say %q: %v", tt.want, err)
			}
		})
	}
}
