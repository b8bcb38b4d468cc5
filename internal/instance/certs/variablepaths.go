package certs

import (
	"path/filepath"
	"strings"

	"example.com/nginx-operator/internal/instance/syntax"
	"example.com/nginx-operator/internal/instanceapi"
)

// PerHandshake returns a problem for each certificate that workers would load at every handshake because its path has
// variables: workers cannot read the key. dir is where nginx finds certificates. shown converts a file's path to the
// name that users know.
func PerHandshake(tree syntax.Tree, main, dir string, shown func(file string) string) []instanceapi.Problem {
	var found []instanceapi.Problem
	variable := false
	tree.Walk(main, func(v syntax.Visit) {
		switch {
		case len(v.Args) != 1:
		case strings.HasSuffix(v.Name, "ssl_certificate"), strings.HasSuffix(v.Name, "ssl_certificate_key"):
			variable = variable || strings.Contains(v.Args[0], "$")
		}
	})
	if !variable {
		return nil
	}
	tree.Walk(main, func(v syntax.Visit) {
		if len(v.Args) != 1 || !loadedPerHandshake(v) || !isKeyPath(v.Args[0], dir) {
			return
		}
		found = append(found, instanceapi.Problem{File: shown(v.File), Line: v.Line, Message: "nginx would load this private key at every handshake, because a path of the certificate has variables, " +
			"but only nginx's master process can read the keys of spec.tls: name the files without variables, or mount the Secret by podTemplate.volumes at another path"})
	})
	return found
}

// loadedPerHandshake reports whether workers load the key that a directive names, or that a map returns for a variable.
// They do if the path of the certificate or of the key contains a variable.
func loadedPerHandshake(v syntax.Visit) bool {
	block := v.Block()
	if block != nil && block.Name == "map" {
		return true
	}
	if !strings.HasSuffix(v.Name, "ssl_certificate_key") {
		return false
	}
	certificate := strings.TrimSuffix(v.Name, "_key")
	if strings.Contains(v.Args[0], "$") || block == nil {
		return true
	}
	for _, sibling := range block.Block {
		if sibling.Name == certificate && len(sibling.Args) == 1 && strings.Contains(sibling.Args[0], "$") {
			return true
		}
	}
	return false
}

// isKeyPath reports whether a path, with or without variables, is a key below dir.
func isKeyPath(path, dir string) bool {
	return strings.HasPrefix(filepath.Clean(path), dir+"/") && holdsKey(path, "")
}
