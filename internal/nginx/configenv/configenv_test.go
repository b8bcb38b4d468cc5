package configenv

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

func of(secret, key string) *v1alpha2.ConfigEnvVarSource {
	return &v1alpha2.ConfigEnvVarSource{SecretKeyRef: &v1alpha2.KeyReference{Name: secret, Key: key}}
}

var spec = v1alpha2.NginxOperatorSpec{Config: &v1alpha2.Config{
	Env: []v1alpha2.ConfigEnvVar{
		{Name: "TOKEN", ValueFrom: of("shop", "token")},
		{Name: "AGAIN", ValueFrom: of("shop", "token")},
		{Name: "PORT", Value: new("80")},
		{Name: "KEY", ValueFrom: of("all", "key")},
		{Name: "HOST", ValueFrom: &v1alpha2.ConfigEnvVarSource{ConfigMapKeyRef: &v1alpha2.KeyReference{Name: "shop", Key: "host"}}},
	},
	EnvFrom: []v1alpha2.ConfigEnvFromSource{{Prefix: new("A_"), SecretRef: &v1alpha2.SecretReference{Name: "all"}}},
}}

// TestObjects: pods mount each object once, and of a Secret only the keys that they need.
func TestObjects(t *testing.T) {
	want := []Object{
		{instanceapi.VariableObject{Kind: ConfigMap, Object: "shop"}, []string{"host"}},
		{instanceapi.VariableObject{Kind: Secret, Object: "all"}, nil},
		{instanceapi.VariableObject{Kind: Secret, Object: "shop"}, []string{"token"}},
	}
	if diff := cmp.Diff(want, Objects(spec.Config)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := Objects(nil); len(got) > 0 {
		t.Errorf("without a configuration: %v", got)
	}
}

// TestAddFile: the file stays readable for pods of other releases.
func TestAddFile(t *testing.T) {
	config, err := nginxconf.New(nginxconf.Files{"a.conf": "server {}"})
	if err != nil {
		t.Fatal(err)
	}
	if got := AddFile(config, &v1alpha2.NginxOperatorSpec{Config: &v1alpha2.Config{}}); got.Revision != config.Revision {
		t.Errorf("without variables: %v", got)
	}
	const want = `{"variables":[{"name":"AGAIN","kind":"Secret","object":"shop","key":"token"},{"name":"HOST","kind":"ConfigMap","object":"shop","key":"host"},` +
		`{"name":"KEY","kind":"Secret","object":"all","key":"key"},{"name":"PORT","value":"80"},{"name":"TOKEN","kind":"Secret","object":"shop","key":"token"}],` +
		`"from":[{"prefix":"A_","kind":"Secret","object":"all"}]}`
	if diff := cmp.Diff(want, AddFile(config, &spec).Files[instanceapi.FileVariables]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
