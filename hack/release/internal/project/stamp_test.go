package project

import "testing"

func TestStamp(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"an image", "x.example.com/nginx-operator:0.4.0 .", "x.example.com/nginx-operator:1.2.3-rc.1 ."},
		{"files", "nginx-operator-0.4.0.tgz nginx-operator-bundle-0.4.0.oci.tar", "nginx-operator-1.2.3-rc.1.tgz nginx-operator-bundle-1.2.3-rc.1.oci.tar"},
		{"the plugin", "kubectl-nginx-0.4.0-linux-amd64.tar.gz", "kubectl-nginx-1.2.3-rc.1-linux-amd64.tar.gz"},
		{"a kustomization", "  newTag: 0.4.0\n", "  newTag: 1.2.3-rc.1\n"},
		{"an argument", "--build-arg VERSION=0.4.0 -t", "--build-arg VERSION=1.2.3-rc.1 -t"},
		{"another version", "since 0.3.0, newTag: 0.4.0", "since 0.3.0, newTag: 1.2.3-rc.1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := stamp([]byte(tt.text), "1.2.3-rc.1")
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if _, err := stamp([]byte("nothing"), "1.2.3"); err == nil {
		t.Error("a file without a version is accepted")
	}
}

func TestSetImage(t *testing.T) {
	p := &Project{Version: "1.2.3", Release: Release{Image: "example.com/nginx-operator"}}
	object := func(image string) Object {
		return Object{"kind": "Job", "metadata": map[string]any{"name": "x"}, "spec": map[string]any{"template": map[string]any{
			"spec": map[string]any{"containers": []any{map[string]any{"name": "a", "image": image}}}}}}
	}
	job := object("nginx-operator:0.1.0")
	if err := p.setImage([]Object{job, {"kind": "Secret"}}); err != nil {
		t.Fatal(err)
	}
	if got, _ := job.Get("spec.template.spec.containers.a.image"); got != "example.com/nginx-operator:1.2.3" {
		t.Errorf("the image is %v", got)
	}
	if err := p.setImage([]Object{object("busybox:1")}); err == nil {
		t.Error("an image that is not the operator's is replaced")
	}
}
