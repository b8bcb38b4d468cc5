// Package cache embeds the generated CustomResourceDefinitions of the cache operator, so that programs have the same
// schemas as the API server.
package cache

import _ "embed"

// NginxCaches is the CustomResourceDefinition of NginxCaches, as YAML.
//
//go:embed cache.operator.example.com_nginxcaches.yaml
var NginxCaches []byte

// NginxCachePurges is the CustomResourceDefinition of NginxCachePurges, as YAML.
//
//go:embed cache.operator.example.com_nginxcachepurges.yaml
var NginxCachePurges []byte
