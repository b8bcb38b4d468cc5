package hurtful

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// BackendPort is where the good configuration's backend listens, inside of the pod.
const BackendPort = 8081

// site is the good configuration with texts at each level. Clients are answered by a backend,
// as in most applications, which is another server of the same nginx.
type site struct {
	main, events, http, stream string
	// listen is instead of "listen 8080;", location instead of all of the server's locations,
	// and pass instead of the location's proxy_pass.
	listen, location, pass string
	// server is in the server, in is in its location.
	server, in string
	// backend is instead of what the backend answers with.
	backend string
	// alone leaves the server out.
	alone bool
	// more files, which the texts include. Each *.conf is included in the http context.
	more map[string]string
}

// files renders the site as files for each context, or as a whole nginx.conf.
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

// context is what stands in the http context.
func (s site) context() string {
	var b strings.Builder
	if s.http != "" {
		b.WriteString(s.http + "\n")
	}
	if !s.alone {
		b.WriteString(s.frontend())
	}
	answer := orElse(s.backend, `return 200 "served $request_method\n";`)
	b.WriteString(block("server", fmt.Sprintf("listen 127.0.0.1:%d;\n%s", BackendPort, answer)))
	return b.String()
}

func (s site) frontend() string {
	listen := orElse(s.listen, fmt.Sprintf("listen %d;", Port))
	location := s.location
	if location == "" {
		pass := orElse(s.pass, fmt.Sprintf("proxy_pass http://127.0.0.1:%d;", BackendPort))
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

func orElse(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}

// maxFileBytes is less than what the API lets a file have.
const maxFileBytes = 250_000

// many makes n lines and spreads them over as many files as are needed, named name-0 and so
// on with an extension.
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

// includes are the statements that include all of the files.
func includes(files map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "include %s;\n", name)
	}
	return b.String()
}

// repeat makes n lines.
func repeat(n int, line func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(line(i))
	}
	return b.String()
}
