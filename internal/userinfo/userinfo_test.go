package userinfo

import "testing"

func TestHide(t *testing.T) {
	for text, want := range map[string]string{
		`invalid port in upstream "user:s3cr3t@host:99999"`: `invalid port in upstream "MASK@host:99999"`,
		`invalid port in upstream "user:pa/s:s@host"`:       `invalid port in upstream "MASK@host"`,
		`invalid port in upstream "user:/s3cr3t@host"`:      `invalid port in upstream "MASK@host"`,
		`invalid port in upstream "user://s3cr3t@host"`:     `invalid port in upstream "MASK@host"`,
		`invalid URL "http://user:/s3cr3t@host/x"`:          `invalid URL "http://MASK@host/x"`,
		`server user:/s3/cr3t@host;`:                        `server MASK@host;`,
		`invalid port in upstream ":/s3cr3t@host"`:          `invalid port in upstream "MASK@host"`,
		`proxy_pass http://host/a/@b;`:                      `proxy_pass http://host/a/@b;`,
		`proxy_pass http://host:80/a/@b;`:                   `proxy_pass http://MASK@b;`,
		`unix:/run/nginx.sock at line 3`:                    `unix:/run/nginx.sock at line 3`,
		`host not found in upstream "u:p@ss@host"`:          `host not found in upstream "MASK@host"`,
		`no host in upstream ":s3cr3t@"`:                    `no host in upstream "MASK@"`,
		`invalid URL "https://user:s3cr3t@host/x"`:          `invalid URL "https://MASK@host/x"`,
		`server user:s3cr3t@host;`:                          `server MASK@host;`,
		`proxy_pass http://MASK@host;`:                      `proxy_pass http://MASK@host;`,
		`error_page 404 = @fallback; at 10:00:00 by @x`:     `error_page 404 = @fallback; at 10:00:00 by @x`,
		`localhost:5000/nginx:1.30@sha256:9f86d081`:         `localhost:5000/nginx:1.30@sha256:9f86d081`,
		`nothing`: `nothing`,
	} {
		if got := Hide(text, "MASK"); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
