package hostilearchive

import (
	"strings"
)

func added(parts ...part) func(*build) { return func(b *build) { b.add(parts...) } }

// pathRules are paths that lead out of the volume, or that mean something else to another reader.
var pathRules = []rule{
	{"path goes up out of the archive", `leads out`, added(file("content/0/../../../../etc/cron.d/x", "x"))},
	{"path begins with two dots", `leads out`, added(file("../x", "x"))},
	{"path goes up within the archive", `leads out`, added(file("content/0/a/../x", "x"))},
	{"path ends with two dots", `leads out`, added(file("content/0/a/..", "x"))},
	{"path goes to another volume", `leads out`, added(file("content/0/../1/x", "x"))},
	{"path is two dots", `leads out`, added(file("..", "x"))},
	{"directory goes up", `leads out`, added(directory("content/0/.."))},
	{"path is absolute", `absolute`, added(file("/etc/passwd", "x"))},
	{"path is absolute with two slashes", `absolute`, added(file("//etc/passwd", "x"))},
	{"path is absolute through the prefix", `absolute`, func(b *build) {
		p := file("passwd", "x")
		p.prefix, p.said = "/etc", "/etc/passwd"
		b.add(p)
	}},
	{"path goes up through the prefix", `leads out`, func(b *build) {
		p := file("x", "x")
		p.prefix, p.said = "content/0/../..", "content/0/../../x"
		b.add(p)
	}},
	{"path goes up through an extension", `leads out`, added(long(file("content/0/../../x", "x")))},
	{"path has a dot", `shortest form`, added(file("content/0/./x", "x"))},
	{"path begins with a dot", `shortest form`, added(file("./content/0/x", "x"))},
	{"path has two slashes", `shortest form`, added(file("content/0//x", "x"))},
	{"file's path ends in a slash", `shortest form`, added(file("content/0/x/", "x"))},
	{"directory's path does not end in a slash", `does not end in a slash`, func(b *build) {
		b.change("content/0/a/", func(p *part) { p.name = "content/0/a" })
	}},
	{"path is empty", `path is empty`, added(file("", "x"))},
	{"path has backslashes", `backslash`, added(file(`content/0/..\..\x`, "x"))},
	{"path is one of Windows", `backslash`, added(file(`C:\x`, "x"))},
	{"path has a line feed", `control characters`, added(file("content/0/x\ny", "x"))},
	{"path has an escape sequence", `control characters`, added(file("content/0/x\x1b[2J", "x"))},
	{"path has a control character of Unicode", `control characters`, added(long(file("content/0/x\u0085y", "x")))},
	{"path has text after a NUL", `text after a NUL`, func(b *build) {
		b.change("content/0/b.html", func(p *part) { p.tail = "/../../x" })
	}},
	{"path in an extension has a NUL", `damaged`, added(long(file("content/0/x\x00y", "x")))},
	{"path is not UTF-8", `not UTF-8`, added(long(file("content/0/\xff\xfe", "x")))},
	{"path is overlong UTF-8 of dots", `not UTF-8`, added(long(file("content/0/\xc0\xae\xc0\xae/x", "x")))},
	{"path is of no section", `no such entry`, added(file("etc/passwd", "x"))},
	{"path is of no index", `not the index`, func(b *build) { b.before("content/0/", directory("content/-1")) }},
	{"index has a leading zero", `not the index`, added(directory("content/01"))},
	{"index is huge", `not the index`, added(directory("content/99999999999999999999"))},
	{"content without index", `not the index`, added(file("content/x", "x"))},
	{"revision is no number", `holds files <number>.yaml`, func(b *build) { b.before("content/0/", file("revisions/x.yaml", "x")) }},
	{"secret that is not encrypted", `holds files <name>.age`, added(file("secrets/tls.key", "x"))},
	{"secret in a folder", `holds files <name>.age`, added(file("secrets/a/tls.age", "x"))},
	{"document goes up", `leads out`, func(b *build) { b.before("content/0/", file("configmaps/../../x.yaml", "x")) }},
	{"file has the name of a file being restored", `reserved`, added(file("content/0/c/.nginx-operator-restore", "x"))},
}

// longRules are paths that are too long or too deep.
var longRules = []rule{
	{"path is longer than a path can be", `path has 5010 bytes`, added(long(file("content/0/"+strings.Repeat("x", 5000), "x")))},
	{"name is longer than a name can be", `name of 300 bytes`, added(long(file("content/0/"+strings.Repeat("x", 300), "x")))},
	{"directories are deep", `directories deep`, added(long(file("content/0"+strings.Repeat("/d", 500), "x")))},
}
