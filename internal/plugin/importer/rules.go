package importer

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// rule decides what becomes of a directive. A directive without a rule is carried over as it is.
type rule func(c *conf, v visit) (Outcome, string)

// rules are the directives that need a decision, by name.
var rules map[string]rule

func init() {
	rules = map[string]rule{}
	for _, table := range []map[string]rule{processRules, logRules, pathRules, fileRules(), certificateRules(), serverRules, backendRules} {
		maps.Copy(rules, table)
	}
}

// processRules are for directives about nginx's processes, which the instance manager starts.
var processRules = map[string]rule{
	"user":              removed("nginx runs as user 101: for an image whose files only another user can read, set podTemplate.securityContext.runAsUser"),
	"daemon":            removed("the instance manager runs nginx in the foreground"),
	"master_process":    removed("nginx is reloaded by its master process"),
	"pid":               removed("the instance manager sets the path"),
	"lock_file":         removed("the file system of the pods is read-only, and nginx needs no lock file on Linux"),
	"working_directory": removed("the pods keep no core dumps"),
	"worker_priority":   removed("the pods may not raise priorities: set resources and podTemplate.priorityClassName"),
	"worker_processes": func(_ *conf, v visit) (Outcome, string) {
		if v.arg(0) == "auto" {
			return Carried, ""
		}
		return Carried, "with auto it would be the number of CPUs of resources.limits"
	},
	"load_module": func(_ *conf, _ visit) (Outcome, string) {
		return Carried, "spec.image needs this module"
	},
	"env": func(_ *conf, v visit) (Outcome, string) {
		if strings.Contains(v.arg(0), "=") {
			return Carried, ""
		}
		return Carried, "set the variable in podTemplate.env"
	},
	"resolver": resolver,
}

// removed returns the rule for a directive that the pods do without. Nothing that nginx answers depends on it.
func removed(why string) rule {
	return func(_ *conf, v visit) (Outcome, string) {
		v.replace("")
		return NotCarried, why
	}
}

// clusterResolver is the name of the cluster's DNS service, whatever its address is.
const clusterResolver = "kube-dns.kube-system.svc.cluster.local"

// resolver replaces name servers that only the previous machine had.
func resolver(c *conf, v visit) (Outcome, string) {
	changed := false
	for i, address := range v.Args {
		if !isLoopback(strings.TrimSuffix(address, ":53")) {
			continue
		}
		v.replaceArg(i, clusterResolver)
		changed = true
	}
	if !changed {
		return Carried, ""
	}
	c.review.step("The name server of the pods is %s, unless your cluster's DNS service has another name: %s:%d.", clusterResolver, shown(v.file.path), v.Line)
	return Changed, "no name server runs beside nginx: resolver " + clusterResolver
}

// logRules send logs to the output of the container, where kubectl logs finds them.
var logRules = map[string]rule{
	"access_log": func(c *conf, v visit) (Outcome, string) {
		target := v.arg(0)
		if keptLog(target) || c.inPod(target) {
			return Carried, ""
		}
		v.replaceArg(0, "/dev/stdout")
		c.dropCompression(v)
		return Changed, "the log is the output of the container: access_log /dev/stdout"
	},
	"error_log": func(c *conf, v visit) (Outcome, string) {
		if keptLog(v.arg(0)) && v.arg(0) != "off" || c.inPod(v.arg(0)) {
			return Carried, ""
		}
		v.replaceArg(0, "stderr")
		return Changed, "the log is the output of the container: error_log stderr"
	},
}

func keptLog(target string) bool {
	return slices.Contains([]string{"off", "stderr", "/dev/stdout", "/dev/stderr"}, target) ||
		strings.HasPrefix(target, "syslog:") || strings.HasPrefix(target, "memory:")
}

// dropCompression removes gzip from an access log: nobody could read the output of the container.
func (c *conf) dropCompression(v visit) {
	words := v.file.words(v.Directive)
	for i, arg := range v.Args {
		if (arg == "gzip" || strings.HasPrefix(arg, "gzip=")) && i+1 < len(words) {
			v.file.replace(words[i+1], "")
		}
	}
}

// writable are the folders in which nginx can write. They are empty when a pod starts.
var writable = []string{"/tmp", "/run", "/var/run", "/var/cache/nginx", "/var/lib/nginx"}

// creates reports whether nginx can create a file or a folder: it creates no folders around one.
func creates(name string) bool { return slices.Contains(writable, path.Dir(path.Clean(name))) }

func within(name string, folders []string) bool {
	return slices.ContainsFunc(folders, func(dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") })
}

// pathRules are for directives with folders.
var pathRules = map[string]rule{
	"root": content, "alias": content,
	"proxy_store": stores, "fastcgi_store": stores, "uwsgi_store": stores, "scgi_store": stores, "dav_methods": stores,
	"client_body_temp_path": scratch, "proxy_temp_path": scratch, "fastcgi_temp_path": scratch, "uwsgi_temp_path": scratch, "scgi_temp_path": scratch,
	"proxy_cache_path": scratch, "fastcgi_cache_path": scratch, "uwsgi_cache_path": scratch, "scgi_cache_path": scratch,
}

// scratch moves folders that nginx writes to where it can.
func scratch(c *conf, v visit) (Outcome, string) {
	dir := v.arg(0)
	if creates(dir) || slices.Contains(writable, path.Clean(dir)) || c.inPod(dir) {
		return Carried, ""
	}
	moved := "/var/cache/nginx/" + flatName(path.Clean(dir))
	v.replaceArg(0, moved)
	return Changed, "nginx writes to a volume of the pod, which ends with it: " + v.Name + " " + moved
}

// imageRoots are folders of content that common images have.
var imageRoots = []string{"/usr/share/nginx/html", "/var/www/html"}

// content names the folders whose files the pods need.
func content(c *conf, v visit) (Outcome, string) {
	dir := v.arg(0)
	fixed, _, _ := strings.Cut(dir, "$")
	switch {
	case c.inPod(fixed) || within(path.Clean(dir), writable):
		return Carried, ""
	case within(path.Clean(dir), imageRoots[:1]):
		return Carried, "the image has its own files there"
	case fixed == "" || !path.IsAbs(dir):
		return Carried, "the path is relative to the prefix of the image's nginx: use an absolute one"
	}
	if !c.roots[dir] {
		c.roots[dir] = true
		c.review.step("Provide the files of %s: build them into spec.image, or mount them there with spec.content (a ConfigMap, a claim or an image).", dir)
	}
	return Carried, "provide the files with spec.content or spec.image"
}

func stores(_ *conf, v visit) (Outcome, string) {
	if v.arg(0) == "off" {
		return Carried, ""
	}
	return Carried, "nginx writes files: mount a volume with podTemplate.volumes"
}
