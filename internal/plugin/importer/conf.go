package importer

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instance/syntax"
)

// Config imports a configuration. main are its files that no other file includes: one that has the http block, or
// several that belong into it. Each path begins with /etc/nginx.
func Config(source Source, main []string, o Options) (*Result, error) {
	c := newConf(source, o)
	if err := c.run(main); err != nil {
		return nil, err
	}
	app := c.application(cmp.Or(o.Name, "nginx"))
	result := &Result{Review: c.review}
	return result, result.add(app, c.files())
}

// conf is the import of a configuration.
type conf struct {
	source  Source
	options Options
	review  Review
	// whole is set if a main file is a whole configuration.
	whole bool
	// inPod are the paths that the pods have anyway, such as those of mounted volumes, and keepImage is set if the files of
	// the image are those of the input.
	inPod     func(path string) bool
	keepImage bool
	// secretOf returns the Secret that has a certificate's file, if it is known.
	secretOf func(certificate string) string

	byPath map[string]*file
	names  map[string]bool
	// reviewed holds the item of each directive: a file may be included several times.
	reviewed map[place]int
	// visits counts directives, and bytes the length of files, each time that they are read.
	visits, bytes int

	servers      []*server
	serverOf     map[*syntax.Directive]*server
	pairs        map[pairScope]*pair
	pairOrder    []pairScope
	certificates map[string]v1alpha2.Certificate
	backends     []backend
	upstreams    map[string]bool
	secretFiles  map[string]string
	roots        map[string]bool
	// scripts are the js_import directives, and scriptDirs the folders of js_path.
	scripts    []visit
	scriptDirs []string
	ports      []v1alpha2.Port
}

type place struct {
	file  *file
	start int
}

func newConf(source Source, o Options) *conf {
	return &conf{
		source: source, options: o,
		inPod: func(string) bool { return false }, secretOf: func(string) string { return "" },
		byPath: map[string]*file{}, names: map[string]bool{}, reviewed: map[place]int{},
		serverOf: map[*syntax.Directive]*server{}, pairs: map[pairScope]*pair{}, certificates: map[string]v1alpha2.Certificate{},
		upstreams: map[string]bool{}, secretFiles: map[string]string{}, roots: map[string]bool{},
	}
}

func (c *conf) run(main []string) error {
	for _, path := range main {
		if err := c.runFile(path, main); err != nil {
			return err
		}
	}
	if len(c.byPath) == 0 {
		return fmt.Errorf("%w: %s", ErrNothing, strings.Join(main, ", "))
	}
	c.finishScripts()
	c.finishCertificates()
	c.finishServers()
	c.finishBackends()
	return nil
}

// skip leaves out a file that belongs to none of the contexts of an application.
func (c *conf) skip(f *file, why error) {
	delete(c.byPath, f.path)
	delete(c.names, f.name)
	c.review.add(Item{Source: shown(f.path), Subject: "the whole file", Kind: KindFile, Outcome: NotCarried, Note: why.Error()})
}

// runFile imports one of the main files.
func (c *conf) runFile(path string, main []string) error {
	f, err := c.open(path)
	if err != nil {
		return err
	}
	kind, err := kindOf(f)
	if err != nil && len(main) == 1 {
		return err
	}
	if err != nil {
		c.skip(f, err)
		return nil
	}
	var context []*syntax.Directive
	switch kind {
	case wholeFile:
		if len(c.byPath) > 1 {
			return fmt.Errorf("%s is a whole configuration, and so there can be no other file besides those that it includes", shown(path))
		}
		c.whole = true
		c.rename(f, "nginx.conf")
	case streamFile:
		c.rename(f, strings.TrimSuffix(siteName(f), ".stream")+".stream.conf")
		context = []*syntax.Directive{{Name: "stream", Opens: true}}
	default:
		c.rename(f, siteName(f)+".conf")
		context = []*syntax.Directive{{Name: "http", Opens: true}}
	}
	return c.walk(f, nil, context)
}

// siteName returns the name of a file of a folder of sites, without the folder and its ending.
func siteName(f *file) string {
	name := f.name
	for _, folder := range []string{"conf.d-", "http.d-", "sites-enabled-", "server_blocks-", "templates-"} {
		name = strings.TrimPrefix(name, folder)
	}
	return strings.TrimSuffix(strings.TrimSuffix(name, ".template"), ".conf")
}

// maxTotal bounds all files of a configuration together, in bytes.
const maxTotal = 16 << 20

// open reads and scans a file.
func (c *conf) open(path string) (*file, error) {
	if f := c.byPath[path]; f != nil && !f.plain {
		return f, nil
	}
	text, err := c.source.Read(path)
	if err != nil {
		return nil, err
	}
	if c.bytes += len(text); c.bytes > maxTotal {
		return nil, fmt.Errorf("the configuration has more than %d KiB, with %s", maxTotal>>10, shown(path))
	}
	if hasPrivateKey(text) {
		return nil, fmt.Errorf("%s contains a private key: a configuration is not secret; move the key to a file of its own", shown(path))
	}
	if err := checkText(path, text); err != nil {
		return nil, err
	}
	if bad := syntax.Check(text); bad != nil {
		return nil, fmt.Errorf("%s:%d: %s", shown(path), bad.Line, bad.Message)
	}
	f := c.byPath[path]
	if f == nil {
		f = c.newFile(path, text)
	}
	f.plain, f.directives = false, syntax.Scan(text)
	return f, nil
}

// newFile adds a file to the application.
func (c *conf) newFile(path, text string) *file {
	f := &file{path: path, text: text}
	c.byPath[path] = f
	c.rename(f, flatName(path))
	return f
}

// rename gives a file a name that no other file has.
func (c *conf) rename(f *file, name string) {
	delete(c.names, f.name)
	f.name = name
	for i := 2; c.names[f.name]; i++ {
		f.name = fmt.Sprintf("%d-%s", i, name)
	}
	c.names[f.name] = true
}

// files returns the files of the application.
func (c *conf) files() *fileSet {
	files := newFiles()
	for _, f := range c.byPath {
		if f.plain {
			files.add(f.name, f.text)
			continue
		}
		files.add(f.name, tidy(f.result()))
	}
	return files
}

// visit reviews a directive.
func (c *conf) visit(v visit, reading []*file) error {
	if v.isEntry() {
		c.note(v, Carried, "")
		return nil
	}
	if v.Name == "include" {
		return c.include(v, reading)
	}
	outcome, note := Carried, ""
	if apply := rules[v.Name]; apply != nil {
		outcome, note = apply(c, v)
	}
	c.note(v, outcome, note)
	return nil
}

// note records what becomes of a directive. Of several visits, the worst outcome counts.
func (c *conf) note(v visit, outcome Outcome, note string) {
	at := place{v.file, v.Start}
	i, known := c.reviewed[at]
	if !known {
		c.reviewed[at] = len(c.review.Items)
		c.review.add(Item{Source: shown(v.file.path), Line: v.Line, Subject: v.text(), Kind: KindDirective, Outcome: outcome, Note: note})
		return
	}
	if item := &c.review.Items[i]; outcome > item.Outcome || outcome == item.Outcome && item.Note == "" {
		item.Outcome, item.Note = outcome, note
	}
}

// fileKind is where a main file belongs.
type fileKind int

const (
	httpFile fileKind = iota
	streamFile
	wholeFile
)

// kindOf returns where a main file belongs, from its directives.
func kindOf(f *file) (fileKind, error) {
	if len(f.directives) == 0 {
		return httpFile, fmt.Errorf("%s has no directives", shown(f.path))
	}
	kind := httpFile
	for _, d := range f.directives {
		switch {
		case slices.Contains(mainDirectives, d.Name):
			return wholeFile, nil
		case slices.Contains(serverDirectives, d.Name):
			return httpFile, fmt.Errorf("%s:%d: %q belongs into a server block, and there is none: pass the nginx.conf that includes this file, or its folder", shown(f.path), d.Line, d.Name)
		case d.Name == "server" && d.Opens && isStream(d):
			kind = streamFile
		}
	}
	return kind, nil
}

// mainDirectives are directives that only a whole configuration has.
var mainDirectives = []string{"http", "events", "stream", "mail", "user", "worker_processes", "pid", "load_module", "daemon", "master_process"}

// serverDirectives are directives that belong into a server block.
var serverDirectives = []string{"location", "listen", "server_name", "if", "return", "rewrite"}

// isStream reports whether a server block belongs into the stream context: it passes on connections itself.
func isStream(server *syntax.Directive) bool {
	passes := false
	for _, d := range server.Block {
		if d.Name == "location" || d.Name == "server_name" || d.Name == "root" {
			return false
		}
		passes = passes || d.Name == "proxy_pass"
	}
	return passes
}

// ErrNothing is returned for input without anything to import.
var ErrNothing = errors.New("there is no configuration to import")

// application returns the NginxOperator of the configuration, without its files.
func (c *conf) application(name string) *v1alpha2.NginxOperator {
	app := newApplication(name, c.options.Namespace)
	app.Spec.Ports = c.ports
	for _, name := range slices.Sorted(maps.Keys(c.certificates)) {
		app.Spec.TLS = append(app.Spec.TLS, c.certificates[name])
	}
	c.mountSecretFiles(app)
	return app
}
