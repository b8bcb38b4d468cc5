package hurtful

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// BackendPort is where the good configuration's backend listens, inside the pod.
const BackendPort = 8081

// site is the good configuration with additional texts at each level. A backend answers the
// clients, as in most applications; it is another server of the same nginx.
type site struct {
	main, events, http, stream string
	// listen replaces "listen 8080;", location replaces all locations of the server, and pass
	// replaces the proxy_pass of the location.
	listen, location, pass string
	// server is added to the server, in to its location.
	server, in string
	// backend replaces the backend's response.
	backend string
	// alone leaves the server out.
	alone bool
	// more are additional files, which the texts include. Each *.conf is included in the http
	// context.
	more map[string]string
}

// files renders the site as files for each context, or as a complete nginx.conf.
func (s site) files(whole bool) map[string]string {
	files := maps.Clone(s.more)
	if files == nil {
		files = map[string]string{}
	}
	if whole {
		files["nginx.conf"] = s.whole()
		return files
	}
	top := s.main
	if s.events != "" {
		top += "\n" + block("events", s.events)
	}
	if top != "" {
		files["top.main.conf"] = top + "\n"
	}
	if s.stream != "" {
		files["tcp.stream.conf"] = s.stream + "\n"
	}
	files["site.conf"] = s.context()
	return files
}

func (s site) whole() string {
	text := s.main + "\n" + block("events", s.events)
	var http strings.Builder
	http.WriteString(s.context())
	for _, name := range slices.Sorted(maps.Keys(s.more)) {
		if strings.HasSuffix(name, ".conf") {
			http.WriteString("include " + name + ";\n")
		}
	}
	text += block("http", http.String())
	if s.stream != "" {
		text += block("stream", s.stream)
	}
	return text
}

// context returns the content of the http context.
func (s site) context() string {
	var b strings.Builder
	if s.http != "" {
		b.WriteString(s.http + "\n")
	}
	if !s.alone {
		b.WriteString(s.frontend())
	}
	answer := orDefault(s.backend, `return 200 "served $request_method\n";`)
	b.WriteString(block("server", fmt.Sprintf("listen 127.0.0.1:%d;\n%s", BackendPort, answer)))
	return b.String()
}

func (s site) frontend() string {
	listen := orDefault(s.listen, fmt.Sprintf("listen %d;", Port))
	location := s.location
	if location == "" {
		pass := orDefault(s.pass, fmt.Sprintf("proxy_pass http://127.0.0.1:%d;", BackendPort))
		location = block("location /", join(s.in, pass)) +
			block("location = /page", join(s.in, "root /usr/share/nginx/html;\ntry_files /index.html =404;"))
	}
	return block("server", join(listen, s.server, location))
}

func block(head, content string) string {
	var b strings.Builder
	b.WriteString(head + " {\n")
	for line := range strings.Lines(strings.TrimSpace(content)) {
		b.WriteString("    " + line)
	}
	return b.String() + "\n}\n"
}

func join(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "\n")
}

func orDefault(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}

// maxFileBytes is less than the API's limit for a file.
const maxFileBytes = 250_000

// many creates n lines and spreads them over as many files as necessary. The files are named name-0
// and so on, with an extension.
func many(name, extension string, n int, line func(i int) string) map[string]string {
	files := map[string]string{}
	var b strings.Builder
	flush := func() {
		files[fmt.Sprintf("%s-%d%s", name, len(files), extension)] = b.String()
		b.Reset()
	}
	for i := range n {
		text := line(i)
		if b.Len()+len(text) > maxFileBytes {
			flush()
		}
		b.WriteString(text)
	}
	flush()
	return files
}

// includes returns the directives that include all of the files.
func includes(files map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "include %s;\n", name)
	}
	return b.String()
}

// repeat returns n lines.
func repeat(n int, line func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(line(i))
	}
	return b.String()
}
