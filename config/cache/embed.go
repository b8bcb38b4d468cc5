// Package cache embeds the generated CustomResourceDefinition of the cache operator, so that programs have the same
// schema as the API server.
package cache

import _ "embed"

// NginxCaches is the CustomResourceDefinition of NginxCaches, as YAML.
//
//go:embed cache.operator.example.com_nginxcaches.yaml
var NginxCaches []byte
