package hostilearchive

import "strings"

// linkRules are links that lead out of the volume, and paths that lead through links.
var linkRules = []rule{
	{"link is absolute", `absolute path "/etc"`, added(link("content/0/x", "/etc"))},
	{"link goes up out of the volume", `leaves its volume`, added(link("content/0/x", "../../../etc"))},
	{"link goes to another volume", `leaves its volume`, added(link("content/0/x", "../1/x"))},
	{"link goes up by one", `leaves its volume`, added(link("content/0/x", ".."))},
	{"link deep down goes up too far", `leaves its volume`, added(directory("content/0/c"), directory("content/0/c/d"), link("content/0/c/d/x", "../../../x"))},
	{"link goes up through dots", `leaves its volume`, added(link("content/0/x", "./.././/../x"))},
	{"link goes up after a name", `after a name`, added(link("content/0/x", "a/link/../../../x"))},
	{"link to a link that together lead out", `after a name`, added(
		directory("content/0/c"), directory("content/0/c/d"), link("content/0/c/d/up", "../.."), link("content/0/x", "c/d/up/../../x"))},
	{"link without target", `without a target`, added(link("content/0/x", ""))},
	{"link to a path of Windows", `backslashes`, added(link("content/0/x", `..\..\x`))},
	{"link with control characters", `control characters`, added(link("content/0/x", "a\nb"))},
	{"link to a target without measure", `target is longer`, func(b *build) {
		p := link("content/0/x", "y")
		p.extensions = extension('x', record("linkpath", strings.Repeat("y", 5000)))
		b.add(p)
	}},
	{"file through a link", `not a directory that comes before it`, added(link("content/0/c", "a"), file("content/0/c/index.html", "x"))},
	{"file through a link out of the volume", `absolute path`, added(link("content/0/c", "/etc"), file("content/0/c/passwd", "x"))},
	{"directory through a link", `not a directory that comes before it`, added(link("content/0/c", "a"), directory("content/0/c/d"))},
	{"link and then a directory of its name", `twice`, added(link("content/0/c", "a"), directory("content/0/c"), file("content/0/c/x", "x"))},
	{"directory and then a link of its name", `twice`, added(directory("content/0/c"), link("content/0/c", "a"), file("content/0/c/x", "x"))},
	{"link and then a file of its name", `twice`, added(link("content/0/c", "a/index.html"), file("content/0/c", "x"))},
	{"link in place of a volume", `must be a directory`, func(b *build) {
		b.change("content/0/", func(p *part) { *p = link("content/0", "1") })
	}},
	{"link in place of a document", `must be a file`, func(b *build) {
		b.change("nginxoperator.yaml", func(p *part) { *p = link(p.name, "content/0/a/index.html") })
	}},
	{"link in place of a secret", `must be a file`, func(b *build) {
		b.change("secrets/tls.age", func(p *part) { *p = link(p.name, "../backup.json") })
	}},
	{"link with a body", `size`, func(b *build) {
		p := link("content/0/x", "b.html")
		p.body = []byte("x")
		b.add(p)
	}},
}
