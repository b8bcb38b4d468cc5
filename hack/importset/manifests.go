package main

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"

	"example.com/nginx-operator/internal/plugin/importer"
	"example.com/nginx-operator/internal/plugin/userfile"
)

var (
	manifestName = regexp.MustCompile(`\.(yaml|yml|json)$`)
	ingress      = regexp.MustCompile(`(?m)^\s*"?kind"?:\s*"?Ingress"?,?\s*$`)
	workload     = regexp.MustCompile(`(?m)^\s*"?kind"?:\s*"?(Deployment|DaemonSet|StatefulSet|Pod)"?,?\s*$`)
	nginx        = regexp.MustCompile(`image:\s*["']?\S*nginx`)
	annotation   = regexp.MustCompile(`(?m)^\s*"?nginx\.ingress\.kubernetes\.io/[a-z0-9-]+"?\s*:`)
)

// manifests imports the files below a folder that have an Ingress, or a workload of nginx.
func manifests(folder string, t *total) error {
	return filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !manifestName.MatchString(name) {
			return err
		}
		text, err := userfile.ReadFile(name, userfile.MaxBytes)
		if err != nil {
			return err
		}
		if isNginx := ingress.Match(text) || workload.Match(text) && nginx.Match(text); !isNginx {
			return nil
		}
		if bytes.Contains(text, []byte("{{")) {
			t.skipped++
			return nil
		}
		t.importManifest(name, text)
		return nil
	})
}

// importManifest imports a file with manifests.
func (t *total) importManifest(name string, text []byte) {
	result, err := importer.Manifests([]importer.Document{{Name: name, Text: text}}, importer.Options{})
	if errors.Is(err, importer.ErrNothing) {
		return
	}
	t.manifests++
	if err != nil {
		t.refuse(name, err)
		return
	}
	annotations := 0
	for _, i := range result.Review.Items {
		if i.Kind == importer.KindAnnotation {
			annotations++
		}
	}
	t.lost += max(len(annotation.FindAll(text, -1))-annotations, 0)
	t.add(name, result)
}
