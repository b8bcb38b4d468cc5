package nginx

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParseBuild has parts of the output of `nginx -V` that users of forks and distributions published. The last two
// are made up.
func TestParseBuild(t *testing.T) {
	for name, want := range map[string]Build{
		"debian":      {"nginx/1.22.1", Version{1, 22, 1}, "/usr/share/nginx", "/etc/nginx/nginx.conf", "/usr/lib/nginx/modules"},
		"official":    {"nginx/1.29.8", Version{1, 29, 8}, "/etc/nginx", "/etc/nginx/nginx.conf", "/usr/lib/nginx/modules"},
		"alpine":      {"nginx/1.28.0", Version{1, 28, 0}, "/var/lib/nginx", "/etc/nginx/nginx.conf", "/usr/lib/nginx/modules"},
		"bitnami":     {"nginx/1.25.1", Version{1, 25, 1}, "/opt/bitnami/nginx", "/opt/bitnami/nginx/conf/nginx.conf", "/opt/bitnami/nginx/modules"},
		"openresty":   {"openresty/1.15.8.1", Version{1, 15, 8}, "/usr/local/openresty/nginx", "/usr/local/openresty/nginx/conf/nginx.conf", "/usr/local/openresty/nginx/modules"},
		"angie":       {"Angie/1.10.3", Version{1, 27, 5}, "/etc/angie", "/etc/angie/angie.conf", "/usr/lib/angie/modules"},
		"freenginx":   {"freenginx/1.31.1", Version{1, 31, 1}, "/usr/share/nginx", "/tmp/nginx/nginx.conf", "/usr/share/nginx/modules"},
		"tengine":     {"Tengine/2.3.2", Version{1, 17, 3}, "/usr/local/tengine", "/usr/local/tengine/conf/nginx.conf", "/usr/local/tengine/modules"},
		"old-tengine": {"Tengine/2.2.2", Version{1, 8, 1}, "/usr/local/nginx", "/etc/nginx/nginx.conf", "/usr/local/nginx/modules"},
		"source":      {"nginx/1.31.2", Version{1, 31, 2}, "/usr/local/nginx", "/usr/local/nginx/conf/nginx.conf", "/usr/local/nginx/modules"},
		"quoted":      {"nginx/1.30.0", Version{1, 30, 0}, "/srv/nginx", "/srv/nginx/etc/nginx.conf", "/srv/nginx/modules"},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", "build", name+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := ParseBuild(string(text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if _, err := ParseBuild("Server version: Apache/2.4.62 (Debian)"); err == nil {
		t.Error("another program is accepted")
	}
}
