// Package crd embeds the generated CustomResourceDefinitions, so that programs have the same
// schemas as the API server.
package crd

import _ "embed"

// NginxOperators is the CustomResourceDefinition of NginxOperators, as YAML.
//
//go:embed operator.example.com_nginxoperators.yaml
var NginxOperators []byte

// NginxBackups is the CustomResourceDefinition of NginxBackups, as YAML.
//
//go:embed backup.operator.example.com_nginxbackups.yaml
var NginxBackups []byte

// NginxBackupPolicies is the CustomResourceDefinition of NginxBackupPolicies, as YAML.
//
//go:embed backup.operator.example.com_nginxbackuppolicies.yaml
var NginxBackupPolicies []byte

// NginxRestores is the CustomResourceDefinition of NginxRestores, as YAML.
//
//go:embed backup.operator.example.com_nginxrestores.yaml
var NginxRestores []byte
