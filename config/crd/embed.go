// Package crd embeds the generated CustomResourceDefinitions, so that programs know the
// schemas that the API server was given.
package crd

import _ "embed"

// NginxOperators is the CustomResourceDefinition of NginxOperators, as YAML.
//
//go:embed operator.example.com_nginxoperators.yaml
var NginxOperators []byte

// NginxBackups is that of NginxBackups.
//
//go:embed backup.operator.example.com_nginxbackups.yaml
var NginxBackups []byte

// NginxBackupPolicies is that of NginxBackupPolicies.
//
//go:embed backup.operator.example.com_nginxbackuppolicies.yaml
var NginxBackupPolicies []byte

// NginxRestores is that of NginxRestores.
//
//go:embed backup.operator.example.com_nginxrestores.yaml
var NginxRestores []byte
