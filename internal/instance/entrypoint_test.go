package instance

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestUnprocessed(t *testing.T) {
	stock := []string{"docker-entrypoint.sh", "etc/nginx/conf.d/default.conf"}
	for _, name := range stockScripts {
		stock = append(stock, "docker-entrypoint.d/"+name)
	}
	for name, tt := range map[string]struct {
		files []string
		env   map[string]string
		want  []string
	}{
		"no entrypoint":      {nil, nil, nil},
		"the official image": {stock, nil, nil},
		"own scripts": {
			append(stock, "docker-entrypoint.d/40-own.sh", "docker-entrypoint.d/05-own.envsh", "docker-entrypoint.d/README.md"), nil,
			[]string{"/docker-entrypoint.d/05-own.envsh", "/docker-entrypoint.d/40-own.sh"},
		},
		"templates": {
			append(stock, "etc/nginx/templates/a.conf.template", "etc/nginx/templates/deep/b.conf.template", "etc/nginx/templates/c.stream-template", "etc/nginx/templates/d.conf"), nil,
			[]string{"/etc/nginx/templates/a.conf.template", "/etc/nginx/templates/c.stream-template", "/etc/nginx/templates/deep/b.conf.template"},
		},
		"templates elsewhere": {
			[]string{"srv/templates/a.tmpl", "srv/templates/b.template", "etc/nginx/templates/c.template"},
			map[string]string{"NGINX_ENVSUBST_TEMPLATE_DIR": "/srv/templates/", "NGINX_ENVSUBST_TEMPLATE_SUFFIX": ".tmpl"},
			[]string{"/srv/templates/a.tmpl"},
		},
		"a mounted ConfigMap": {
			[]string{"etc/nginx/templates/..2026/a.template", "etc/nginx/templates/..data/a.template", "etc/nginx/templates/a.template"}, nil,
			[]string{"/etc/nginx/templates/a.template"},
		},
		"bitnami": {[]string{"docker-entrypoint-initdb.d/init.sh", "docker-entrypoint-initdb.d/data.sql"}, nil, []string{"/docker-entrypoint-initdb.d/init.sh"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{}
			for _, file := range tt.files {
				root[file] = &fstest.MapFile{}
			}
			if diff := cmp.Diff(tt.want, unprocessed(root, func(name string) string { return tt.env[name] }), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
