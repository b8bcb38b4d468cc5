package importer

import (
	"fmt"
	"path"
	"strings"
)

// fileRules are for directives that name a file: by name, the argument and whether it is secret.
func fileRules() map[string]rule {
	table := map[string]rule{}
	for _, name := range []string{"auth_basic_user_file", "ssl_session_ticket_key", "proxy_ssl_password_file", "grpc_ssl_password_file",
		"uwsgi_ssl_password_file", "auth_jwt_key_file", "auth_digest_user_file"} {
		table[name] = dataFile(0, true)
	}
	for _, name := range []string{"ssl_trusted_certificate", "ssl_client_certificate", "ssl_crl", "ssl_dhparam", "ssl_stapling_file",
		"proxy_ssl_trusted_certificate", "proxy_ssl_crl", "grpc_ssl_trusted_certificate", "grpc_ssl_crl", "uwsgi_ssl_trusted_certificate", "uwsgi_ssl_crl",
		"lua_ssl_trusted_certificate", "xslt_stylesheet", "xml_entities",
		"content_by_lua_file", "access_by_lua_file", "rewrite_by_lua_file", "header_filter_by_lua_file", "body_filter_by_lua_file", "log_by_lua_file",
		"init_by_lua_file", "init_worker_by_lua_file", "server_rewrite_by_lua_file", "ssl_certificate_by_lua_file", "ssl_client_hello_by_lua_file",
		"balancer_by_lua_file", "preread_by_lua_file", "js_include", "js_fetch_trusted_certificate"} {
		table[name] = dataFile(0, false)
	}
	table["set_by_lua_file"] = dataFile(1, false)
	table["ssl_password_file"] = passphrases
	table["js_import"] = func(c *conf, v visit) (Outcome, string) {
		c.scripts = append(c.scripts, v)
		return Carried, ""
	}
	table["js_path"] = func(c *conf, v visit) (Outcome, string) {
		c.scriptDirs = append(c.scriptDirs, v.arg(0))
		return Carried, "the scripts of js_import that the input has are files of the configuration; other files have to be in spec.image or podTemplate.volumes"
	}
	for _, name := range []string{"geoip_country", "geoip_city", "geoip_org", "geoip2", "lua_package_path", "lua_package_cpath", "perl_modules", "perl_require",
		"modsecurity_rules_file", "passenger_root", "pagespeed"} {
		table[name] = func(c *conf, v visit) (Outcome, string) {
			if c.inPod(v.arg(0)) {
				return Carried, ""
			}
			return Carried, "spec.image or podTemplate.volumes has to have the files"
		}
	}
	return table
}

// passphrases removes the passphrases of keys: those of spec.tls have none.
func passphrases(c *conf, v visit) (Outcome, string) {
	v.replace("")
	c.review.step("Decrypt the keys that have a passphrase of %s, before you create their Secrets: openssl pkey -in KEY -out DECRYPTED.", v.arg(0))
	return NotCarried, "the keys of spec.tls have no passphrase: decrypt them"
}

// dataFile returns the rule for a directive that names a file in an argument.
func dataFile(arg int, secret bool) rule {
	return func(c *conf, v visit) (Outcome, string) {
		return c.dataFile(v.arg(arg), secret, func(word string) { v.replaceArg(arg, word) })
	}
}

// dataFile makes a file that is no secret a file of the application. The others come from a Secret. replace replaces the name
// in the configuration.
func (c *conf) dataFile(name string, secret bool, replace func(word string)) (Outcome, string) {
	located := locatePath(name)
	switch {
	case isNoFile(name):
		return Carried, ""
	case strings.Contains(name, "$"):
		return Carried, "the path has variables: mount its files with podTemplate.volumes"
	case c.inPod(located):
		if !path.IsAbs(name) {
			replace(located)
		}
		return Carried, "a mounted volume has the file"
	}
	f, err := c.plainFile(located, secret)
	switch {
	case err != nil:
		return NotCarried, err.Error()
	case f == nil:
		inPod := c.secretFile(name)
		replace(inPod)
		return Changed, "the file comes from a Secret: " + inPod
	case f.name == name:
		return Carried, "the file is one of the configuration"
	}
	replace(f.name)
	return Changed, "the file is one of the configuration: " + f.name
}

// isNoFile reports whether an argument that can name a file does not.
func isNoFile(name string) bool {
	return name == "" || name == "off" || strings.HasPrefix(name, "data:") || strings.HasPrefix(name, "engine:")
}

// plainFile adds a file of the input to the application. It returns nil for one that is secret, is no text or is not in the
// input.
func (c *conf) plainFile(located string, secret bool) (*file, error) {
	if secret {
		return nil, nil
	}
	if f := c.byPath[located]; f != nil {
		return f, nil
	}
	text, err := c.source.Read(located)
	if err != nil && !missing(err) {
		return nil, err
	}
	if err != nil || hasPrivateKey(text) || checkText(located, text) != nil {
		return nil, nil //nolint:nilerr // A Secret has what is no text, and the file that the input lacks.
	}
	if c.bytes += len(text); c.bytes > maxTotal {
		return nil, fmt.Errorf("the configuration has more than %d KiB, with %s", maxTotal>>10, shown(located))
	}
	f := c.newFile(located, text)
	f.plain = true
	return f, nil
}
