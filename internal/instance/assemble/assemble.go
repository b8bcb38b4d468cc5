// Package assemble combines a user's files with the directives that the instance needs into the configuration that
// nginx starts with. It does no I/O.
//
// It adds a main file, nginx-operator.conf, and a file for the http context. If the user has an nginx.conf, that file
// is the whole configuration and the main file includes it. Otherwise the main file includes each of the user's files
// in the context that its name selects:
//
//	*.main.conf    at the top level
//	*.stream.conf  in the stream context
//	*.conf         in the http context, in the order of the names
//
// A directive that belongs inside a user's file is added to an existing line, so that the line numbers in nginx's
// messages always match the user's files.
package assemble

import (
	"bytes"
	"embed"
	"maps"
	"slices"
	"strings"
	"text/template"
	"time"

	"example.com/nginx-operator/internal/instance/syntax"
	"example.com/nginx-operator/internal/instanceapi"
)

// Names of the generated files.
const (
	MainFile  = "nginx-operator.conf"
	httpFile  = "nginx-operator-http.conf"
	wholeFile = "nginx.conf"
)

// Generated reports whether a file was added by this package rather than by the user.
func Generated(name string) bool { return name == MainFile || name == httpFile }

//go:embed templates/*.tmpl
var templateFiles embed.FS

var templates = template.Must(template.ParseFS(templateFiles, "templates/*.tmpl"))

// Settings holds everything apart from the user's files that the assembled configuration depends on.
type Settings struct {
	// StateDir is the folder of the sockets and the pid file.
	StateDir string
	// New workers report Revision and Generation when the instance queries what they serve.
	Revision   string
	Generation int64
	// Workers is the number of worker processes if worker_processes is `auto` or absent.
	Workers int
	// DrainDelay is how long nginx keeps serving after the signal to stop. DrainTimeout is how long old workers
	// may take to finish.
	DrainDelay, DrainTimeout time.Duration
	// KeepaliveMinTimeout and KeepaliveTime report whether this nginx supports the directives.
	KeepaliveMinTimeout, KeepaliveTime bool
	RequestMetrics                     bool
	// CacheMetrics adds to the log what the configuration of a cache says of each request.
	CacheMetrics bool
	// NameServers are the IP addresses of the pod's name servers.
	NameServers []string
	// DryRun is true if the configuration is for a second nginx that runs beside the serving one.
	// It has one worker process, and its own folder for the sockets and the pid file.
	DryRun bool
	// RequestLog is the file that nginx logs requests to for the request metrics.
	RequestLog string
	// Image is where the image has files.
	Image Image
}

// ownDir returns the folder of this nginx's pid file and sockets.
func (s Settings) ownDir() string {
	if s.DryRun {
		return DryRunDir(s.StateDir)
	}
	return s.StateDir
}

// DryRunDir returns the folder of a dry run's sockets and pid file.
func DryRunDir(stateDir string) string { return stateDir + "/dry-run" }

// Assembled is a configuration that nginx can test.
type Assembled struct {
	// Files maps names to contents. nginx is started with MainFile.
	Files map[string]string
	// Problems were found without nginx. If there are any, nginx must not be started.
	Problems []instanceapi.Problem
	// Demand is what the configuration requires of the container.
	Demand Demand
}

// Files assembles a configuration from the user's files.
func Files(user map[string]string, settings Settings) Assembled {
	layout := newLayout(user)
	if layout.whole {
		user = includeDeclared(user)
	}
	found := survey(user, layout)
	result := Assembled{Problems: append(layout.problems, found.problems...), Demand: found.resourceDemand(settings, layout.whole)}
	result.Files = edit(user, found.edits(settings))
	result.Files[MainFile] = render("main.conf.tmpl", map[string]any{
		"PID":            settings.ownDir() + "/nginx.pid",
		"Defaults":       mainDefaults(layout, found, settings),
		"Includes":       layout.main,
		"Events":         !layout.whole && !found.main.has("events"),
		"Connections":    settings.addedConnections(),
		"HTTP":           len(layout.http) > 0 || found.http == nil,
		"HTTPFile":       httpFile,
		"HTTPIncludes":   layout.http,
		"StreamIncludes": layout.stream,
	})
	format, log := "", ""
	if settings.RequestMetrics {
		format, log = found.logFormat(settings), accessLog(settings)
	}
	result.Files[httpFile] = render("http.conf.tmpl", map[string]any{
		"Defaults":     httpDefaults(layout, found, settings),
		"LogFormat":    format,
		"AccessLog":    log,
		"StatusSocket": StatusSocket(settings.ownDir()),
		"Revision":     settings.Revision,
		"Generation":   settings.Generation,
	})
	return result
}

// layout lists the user's files by the context that includes them.
type layout struct {
	whole              bool
	main, http, stream []string
	problems           []instanceapi.Problem
}

func newLayout(user map[string]string) layout {
	var l layout
	_, l.whole = user[wholeFile]
	for _, name := range slices.Sorted(maps.Keys(user)) {
		switch {
		case name == MainFile || name == httpFile:
			l.problems = append(l.problems, instanceapi.Problem{File: name, Message: "this file name is reserved for nginx-operator: rename the file"})
		case l.whole:
		case strings.HasSuffix(name, ".main.conf"):
			l.main = append(l.main, name)
		case strings.HasSuffix(name, ".stream.conf"):
			l.stream = append(l.stream, name)
		case strings.HasSuffix(name, ".conf"):
			l.http = append(l.http, name)
		}
	}
	if l.whole {
		l.main = []string{wholeFile}
	}
	return l
}

// walk visits every directive of the user in the order in which nginx reads them.
func (l layout) walk(user map[string]string, visit func(syntax.Visit)) {
	files := maps.Clone(user)
	const root = "/"
	var text strings.Builder
	include := func(names []string) {
		for _, name := range names {
			text.WriteString("include " + name + ";")
		}
	}
	include(l.main)
	text.WriteString("http {")
	include(l.http)
	text.WriteString("} stream {")
	include(l.stream)
	text.WriteString("}")
	files[root] = text.String()
	syntax.NewTree("", files).Walk(root, func(v syntax.Visit) {
		if v.File != root {
			visit(v)
		}
	})
}

func render(name string, data any) string {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		panic("assemble: the embedded template is right: " + err.Error())
	}
	return b.String()
}
