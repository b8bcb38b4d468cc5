package main

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// layers are the packages of internal/ in the order of docs/architecture.md, lowest first. A folder stands for the
// packages below it that are not listed themselves. The names without nginx/ or kube/, and those in the last list of
// a layer, are from releases before the packages were split by stage.
var layers = [][]string{
	{"nginx/naming", "nginx/application", "naming", "instanceapi", "boundedjson", "httpserver", "userinfo", "kube", "backup/internal", "plugin/encode", "oneline", "quantities", "webhookcert", "webhookserver", "golden"},
	{"nginx/nginxconf", "nginx/configenv", "nginx/conversion", "nginx/history", "nginx/poddiagnosis", "nginx/canary", "nginx/manifests", "nginx/external",
		"backup/archive", "backup/location",
		"nginxconf", "conversion", "history", "trouble", "canary"},
	{"nginx/observe", "nginx/rollout", "cache/cacheconf", "cache/handover", "cache/purge", "instance", "backup/snapshot", "backup/listing", "backup/store",
		"observe", "rollout"},
	{"nginx/revision", "nginx/podtemplate", "cache/tier", "backup/plan", "backup/restoration", "backup/declarations",
		"backup/handover"},
	{"nginx/desired", "backup/job",
		"desired"},
	{"nginx/apply", "nginx/status", "backup/progress", "backup/outcome", "backup/agent",
		"apply", "status"},
	{"nginx/pipeline", "nginx/migration", "cache/status", "backup/controller", "backup/metrics",
		"controller", "migration"},
	{"nginx/controller", "cache/controller", "cache/purgecontroller", "plugin/importer", "plugin/lint"},
	{"plugin/nginxtest"},
	{"manager", "plugin", "operator"},
}

// layerOf returns the layer of a package, relative to internal/, or -1 if it has none.
func layerOf(pkg string) int {
	for ; pkg != "."; pkg = path.Dir(pkg) {
		for i, layer := range layers {
			if slices.Contains(layer, pkg) {
				return i
			}
		}
	}
	return -1
}

// imports holds the imports within internal/: of each package, relative to internal/, those that it imports.
type imports map[string]map[string]bool

// add adds the imports of a file of a package.
func (i imports) add(module, pkg string, file *ast.File) error {
	if i[pkg] == nil {
		i[pkg] = map[string]bool{}
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		if inside, ok := strings.CutPrefix(imported, module+"/internal/"); ok {
			i[pkg][inside] = true
		}
	}
	return nil
}

// each calls do for every import, in order.
func (i imports) each(do func(from, to string)) {
	for _, from := range slices.Sorted(maps.Keys(i)) {
		for _, to := range slices.Sorted(maps.Keys(i[from])) {
			do(from, to)
		}
	}
}

// upward returns the imports from a lower to a higher layer, and the packages that have no layer.
func (i imports) upward() (found, unknown []string) {
	i.each(func(from, to string) {
		if low, high := layerOf(from), layerOf(to); low >= 0 && low < high {
			found = append(found, from+" → "+to)
		}
	})
	for _, pkg := range slices.Sorted(maps.Keys(i)) {
		if layerOf(pkg) < 0 {
			unknown = append(unknown, pkg)
		}
	}
	return found, unknown
}

// mutual returns the pairs of folders that import each other, directly or through other folders: the folders of
// internal/, and those of internal/backup, which are the stages of a backup.
func (i imports) mutual() []string {
	folders, stages := imports{}, imports{}
	i.each(func(from, to string) {
		folders.join(folderOf(from, 1), folderOf(to, 1))
		if folderOf(from, 1) == "backup" && folderOf(to, 1) == "backup" {
			stages.join(folderOf(from, 2), folderOf(to, 2))
		}
	})
	return append(folders.pairs(), stages.pairs()...)
}

// folderOf returns the first elements of a package's path.
func folderOf(pkg string, depth int) string {
	elements := strings.Split(pkg, "/")
	return strings.Join(elements[:min(depth, len(elements))], "/")
}

func (i imports) join(from, to string) {
	if from == to {
		return
	}
	if i[from] == nil {
		i[from] = map[string]bool{}
	}
	i[from][to] = true
}

// pairs returns the pairs that reach each other.
func (i imports) pairs() []string {
	var found []string
	for _, a := range slices.Sorted(maps.Keys(i)) {
		for b := range maps.Keys(i) {
			if a < b && i.reaches(a, b, map[string]bool{}) && i.reaches(b, a, map[string]bool{}) {
				found = append(found, a+" ↔ "+b)
			}
		}
	}
	slices.Sort(found)
	return found
}

func (i imports) reaches(from, to string, seen map[string]bool) bool {
	if seen[from] {
		return false
	}
	seen[from] = true
	for next := range i[from] {
		if next == to || i.reaches(next, to, seen) {
			return true
		}
	}
	return false
}

// counted returns the number of items, followed by the items.
func counted(items []string) string {
	if len(items) == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%s)", len(items), strings.Join(items, ", "))
}
