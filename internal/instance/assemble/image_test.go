package assemble

import (
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestImage: the configuration includes the files of the image where they are, and no module twice.
func TestImage(t *testing.T) {
	alpine := DefaultImage()
	alpine.OtherModules = []string{"/etc/nginx/modules/*.conf"}
	bitnami := Image{
		ConfigDir: "/opt/bitnami/nginx/conf", MimeTypes: "/opt/bitnami/nginx/conf/mime.types", EnabledModules: "/etc/nginx/modules-enabled/*.conf",
	}
	bare := DefaultImage()
	bare.MimeTypes = ""
	const (
		types, enabled, other = "/etc/nginx/mime.types", "/etc/nginx/modules-enabled/*.conf", "/etc/nginx/modules/*.conf"
		site                  = "server { listen 80; }\n"
	)
	include := regexp.MustCompile(`(?m)^\s*include (/[^;]*);`)
	for name, tt := range map[string]struct {
		image Image
		user  map[string]string
		want  []string
	}{
		"debian":                      {DefaultImage(), map[string]string{"a.conf": site}, []string{enabled, types}},
		"alpine":                      {alpine, map[string]string{"a.conf": site}, []string{enabled, other, types}},
		"alpine, own modules":         {alpine, map[string]string{"a.conf": site, "m.main.conf": "load_module a.so;\n"}, []string{enabled, types}},
		"alpine, the image's include": {alpine, map[string]string{"nginx.conf": "include modules/*.conf;\nevents {}\nhttp { server { listen 80; } }\n"}, nil},
		"whole, own modules":          {alpine, map[string]string{"nginx.conf": "load_module a.so;\nevents {}\nhttp { server { listen 80; } }\n"}, nil},
		"bitnami":                     {bitnami, map[string]string{"a.conf": site}, []string{enabled, "/opt/bitnami/nginx/conf/mime.types"}},
		"no types":                    {bare, map[string]string{"a.conf": site}, []string{enabled}},
		"own types":                   {DefaultImage(), map[string]string{"a.conf": "types {}\n" + site}, []string{enabled}},
	} {
		t.Run(name, func(t *testing.T) {
			s := settings
			s.Image = tt.image
			files := Files(tt.user, s).Files
			var got []string
			for _, found := range slices.Concat(include.FindAllStringSubmatch(files[MainFile], -1), include.FindAllStringSubmatch(files[httpFile], -1)) {
				got = append(got, found[1])
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("includes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSitesOfOtherImages: a whole configuration of another image finds the user's files where it includes its sites.
func TestSitesOfOtherImages(t *testing.T) {
	for _, dir := range []string{"/etc/angie/http.d", "/opt/bitnami/nginx/conf/server_blocks", "/etc/nginx/conf.d"} {
		user := map[string]string{"nginx.conf": "events {}\nhttp {\n  include \"" + dir + "/*.conf\";\n}\n", "a.conf": "server { listen 80; }\n"}
		if got := Files(user, settings).Files["nginx.conf"]; !regexp.MustCompile(`include a\.conf;`).MatchString(got) {
			t.Errorf("%s: a.conf is not included:\n%s", dir, got)
		}
	}
}

// TestStockPIDs: the process ID files of the images' own configurations are ignored.
func TestStockPIDs(t *testing.T) {
	for _, path := range stockPIDs {
		got := Files(map[string]string{"nginx.conf": "pid \"" + path + "\";\nevents {}\nhttp { server { listen 80; } }\n"}, settings)
		if len(got.Problems) > 0 {
			t.Errorf("%s: %v", path, got.Problems)
		}
	}
}
