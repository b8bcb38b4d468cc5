package apply

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWithoutUndeclared(t *testing.T) {
	const refused = "failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): "
	tests := []struct {
		name, body, err string
		// want is what is applied instead; empty: nothing.
		want string
	}{
		{
			name: "in an item of a list",
			body: `{"spec":{"volumes":[{"name":"other","emptyDir":{"mode":1}},{"name":"a.b","emptyDir":{"mode":448,"medium":"Memory"}}]}}`,
			err:  refused + `.spec.volumes[name="a.b"].emptyDir.mode: field not declared in schema`,
			want: `{"spec":{"volumes":[{"name":"other","emptyDir":{"mode":1}},{"name":"a.b","emptyDir":{"medium":"Memory"}}]}}`,
		},
		{
			name: "several",
			body: `{"spec":{"a":1,"b":{"c":2,"d":3}},"e":4}`,
			err:  refused + "errors:\n  .spec.a: field not declared in schema\n  .spec.b.d: field not declared in schema",
			want: `{"spec":{"b":{"c":2}},"e":4}`,
		},
		{
			name: "two keys, and one with signs",
			body: `{"ports":[{"containerPort":80,"name":"a","protocol":"TCP","later":1},{"containerPort":81,"later":1}],"mounts":[{"mountPath":"/a]: \"b","name":"a","later":1}]}`,
			err:  refused + "errors:\n  .ports[containerPort=80,protocol=\"TCP\"].later: field not declared in schema\n  .mounts[mountPath=\"/a]: \\\"b\"].later: field not declared in schema",
			want: `{"ports":[{"containerPort":80,"name":"a","protocol":"TCP"},{"containerPort":81,"later":1}],"mounts":[{"mountPath":"/a]: \"b","name":"a"}]}`,
		},
		{
			name: "by its index",
			body: `{"rules":[{"later":1},{"a":1,"later":1}]}`,
			err:  refused + `.rules[1].later: field not declared in schema`,
			want: `{"rules":[{"later":1},{"a":1}]}`,
		},
		{
			name: "the source of a volume",
			body: `{"volumes":[{"name":"pages","image":{"reference":"a"}}]}`,
			err:  refused + `.volumes[name="pages"].image: field not declared in schema`,
		},
		{name: "one that is not there", body: `{"a":1}`, err: refused + `.b: field not declared in schema`},
		{name: "another refusal", body: `{"a":1}`, err: "Internal error occurred: etcdserver: request timed out"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := withoutUndeclared([]byte(tt.body), errors.New(tt.err))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decoded(t, tt.want), decoded(t, string(got))); diff != "" {
				t.Errorf("applied instead (-want +got):\n%s", diff)
			}
		})
	}
}

func decoded(t *testing.T, text string) (value any) {
	t.Helper()
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}
