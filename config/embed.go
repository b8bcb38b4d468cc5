// Package config embeds the manifests that install the operator, so that the kubectl plugin applies those of its release.
package config

import "embed"

// Default has the kustomization default, and those that it refers to.
//
//go:embed default/*.yaml crd/*.yaml rbac/*.yaml webhook/*.yaml manager/*.yaml
var Default embed.FS
