// Package crd embeds the generated CustomResourceDefinition, so that programs know
// the schema that the API server was given.
package crd

import _ "embed"

// NginxOperators is the CustomResourceDefinition, as YAML.
//
//go:embed operator.example.com_nginxoperators.yaml
var NginxOperators []byte
