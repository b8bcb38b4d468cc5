// Package assemble puts a user's files together with what the instance needs, to what
// nginx is started with. It is pure.
//
// A main file is added, nginx-operator.conf, and a file for the http context. A user's
// nginx.conf is the whole configuration, which the main file includes. Otherwise the
// main file includes the user's files, each where its name says:
//
//	*.main.conf    at the top level
//	*.stream.conf  in the stream context
//	*.conf         in the http context, in the order of the names
//
// Where something has to be said inside a user's file, it goes on a line that is there
// already: the line numbers of nginx's messages are always the user's.
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

// Names of the files that are added.
const (
	MainFile  = "nginx-operator.conf"
	httpFile  = "nginx-operator-http.conf"
	wholeFile = "nginx.conf"
)

// Generated tells whether a file is added, and not the user's.
func Generated(name string) bool { return name == MainFile || name == httpFile }

//go:embed templates/*.tmpl
var templateFiles embed.FS

var templates = template.Must(template.ParseFS(templateFiles, "templates/*.tmpl"))

// Settings are what the files depend on beside the user's.
type Settings struct {
	// StateDir is where the sockets and the pid file are.
	StateDir string
	// Revision and Generation are what the new workers answer with.
	Revision   string
	Generation int64
	// Workers is what `auto` and no worker_processes at all stand for.
	Workers int
	// DrainDelay is how long nginx goes on when the pod is to stop, DrainTimeout how long old
	// workers may take to finish.
	DrainDelay, DrainTimeout time.Duration
	// KeepaliveMinTimeout and KeepaliveTime tell whether this nginx knows the directives.
	KeepaliveMinTimeout, KeepaliveTime bool
	RequestMetrics                     bool
	// DryRun makes a configuration for a second nginx beside the one that serves: with one
	// worker process, and with its sockets and pid file in a folder of its own.
	DryRun bool
	// RequestLog is the file of the request metrics' log.
	RequestLog string
}

// ownDir is where this nginx has its pid file and sockets.
func (s Settings) ownDir() string {
	if s.DryRun {
		return DryRunDir(s.StateDir)
	}
	return s.StateDir
}

// DryRunDir is the folder of a dry run's sockets and pid file.
func DryRunDir(stateDir string) string { return stateDir + "/dry-run" }

// Assembled is a configuration that nginx can be asked about.
type Assembled struct {
	// Files by name; MainFile is the one to start nginx with.
	Files map[string]string
	// Problems that need no nginx to be found. With any, nginx must not be started.
	Problems []instanceapi.Problem
	// Demand is what the files ask of the container.
	Demand Demand
}

// Files assembles the user's files.
func Files(user map[string]string, settings Settings) Assembled {
	layout := newLayout(user)
	if layout.whole {
		user = includeDeclared(user)
	}
	found := survey(user, layout)
	result := Assembled{Problems: append(layout.problems, found.problems...), Demand: found.demand(settings.Workers, layout.whole)}
	result.Files = edit(user, found.edits(settings))
	result.Files[MainFile] = render("main.conf.tmpl", map[string]any{
		"PID":            settings.ownDir() + "/nginx.pid",
		"Defaults":       mainDefaults(layout, found, settings),
		"Includes":       layout.main,
		"Events":         !layout.whole && !found.main.has("events"),
		"HTTP":           len(layout.http) > 0 || found.http == nil,
		"HTTPFile":       httpFile,
		"HTTPIncludes":   layout.http,
		"StreamIncludes": layout.stream,
	})
	format, log := "", ""
	if settings.RequestMetrics {
		format, log = logFormat(settings), accessLog(settings)
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

// layout says where each of the user's files is included.
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
			l.problems = append(l.problems, instanceapi.Problem{File: name, Message: "this is the name of a file of nginx-operator's own: rename it"})
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

// walk visits everything that the user wrote where nginx would meet it.
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
