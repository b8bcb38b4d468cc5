package hostilearchive

import (
	"slices"
	"strings"
)

func typed(name string, flag byte) part {
	p := file(name, "")
	p.flag = flag
	return p
}

// changed edits the header of a file.
func changed(edit func(*part)) func(*build) {
	return func(b *build) { b.change("content/0/b.html", edit) }
}

func extended(records ...[]byte) func(*build) {
	return changed(func(p *part) { p.extensions = extension('x', slices.Concat(records...)) })
}

// typeRules are entries that are neither files, directories nor links.
var typeRules = []rule{
	{"hard link", `hard link`, func(b *build) {
		p := typed("content/0/x", '1')
		p.link = "content/0/b.html"
		b.add(p)
	}},
	{"hard link out of the volume", `hard link`, func(b *build) {
		p := typed("content/0/x", '1')
		p.link = "../../etc/shadow"
		b.add(p)
	}},
	{"character device", `device`, added(typed("content/0/x", '3'))},
	{"block device", `device`, added(typed("content/0/x", '4'))},
	{"fifo", `fifo`, added(typed("content/0/x", '6'))},
	{"contiguous file", `type '7'`, added(typed("content/0/x", '7'))},
	{"type of a vendor", `type 'V'`, added(typed("content/0/x", 'V'))},
	{"continued volume", `type 'M'`, added(typed("content/0/x", 'M'))},
	{"global header", `global header`, func(b *build) {
		b.change("content/0/", func(p *part) { p.extensions = extension('g', record("path", "content/0/../../x")) })
	}},
	{"sparse file", `sparse`, func(b *build) {
		p := typed("content/0/x", 'S')
		p.magic = "ustar  \x00"
		b.add(p)
	}},
	{"sparse file of an extension", `sparse`, extended(
		record("GNU.sparse.major", "0"), record("GNU.sparse.minor", "1"), record("GNU.sparse.size", "1000000000000"),
		record("GNU.sparse.numblocks", "1"), record("GNU.sparse.map", "0,4"))},
	{"setuid", `setuid`, changed(func(p *part) { p.mode = 0o4755 })},
	{"setgid", `setuid`, changed(func(p *part) { p.mode = 0o2755 })},
	{"sticky bit", `setuid`, changed(func(p *part) { p.mode = 0o1777 })},
	{"setgid directory", `setuid`, func(b *build) { b.change("content/0/a/", func(p *part) { p.mode = 0o2775 }) }},
	{"mode with the bits of a type", `setuid`, changed(func(p *part) { p.mode = 0o100644 })},
	{"directory in place of a document", `must be a file`, func(b *build) { b.before("content/0/", directory("revisions/1.yaml")) }},
	{"file in place of a volume", `must be a directory`, func(b *build) {
		b.change("content/0/", func(p *part) { *p = file("content/0", "x") })
	}},
}

// headerRules are header fields that a tar may have but this format does not allow.
var headerRules = []rule{
	{"owner", `owner`, changed(func(p *part) { p.uid = 1000 })},
	{"owner's name", `owner`, changed(func(p *part) { p.owner = "root" })},
	{"number of a device", `owner or a device`, changed(func(p *part) { p.device = 8 })},
	{"file with a target", `not a link`, changed(func(p *part) { p.link = "/etc/passwd" })},
	{"GNU header", `neither ustar nor pax`, changed(func(p *part) { p.magic = "ustar  \x00" })},
	{"GNU long name", `neither ustar nor pax`, changed(func(p *part) {
		p.extensions = part{header: header{name: "././@LongLink", flag: 'L', magic: "ustar  \x00"}, body: []byte("../../x\x00")}.bytes()
	})},
	{"old tar", `neither ustar nor pax`, changed(func(p *part) { p.magic = "\x00\x00\x00\x00\x00\x00\x00\x00" })},
	{"extended attributes", `SCHILY.xattr`, extended(record("SCHILY.xattr.security.capability", "x"))},
	{"access control list", `SCHILY.acl`, extended(record("SCHILY.acl.access", "user::rwx"))},
	{"comment", `extension "comment"`, extended(record("comment", "x"))},
	{"time of an extension", `extension "mtime"`, extended(record("mtime", "1.5"))},
	{"owner of an extension", `extension "uid"`, extended(record("uid", "0"))},
	{"extension that is none", `damaged`, extended([]byte("999 path=x\n"))},
	{"huge extension", `header after entry`, extended(record("path", strings.Repeat("x", 900<<10)))},
	{"endless extensions", `header after entry`, changed(func(p *part) {
		p.extensions = slices.Repeat(extension('x', record("path", "content/0/b.html")), 100)
	})},
	{"size of an extension that is negative", `damaged`, extended(record("size", "-1"))},
	{"size of an extension that is huge", `allowed`, extended(record("size", "9223372036854775807"))},
	{"size that is negative", `damaged`, changed(func(p *part) { p.size = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" })},
	{"size that is huge", `neither ustar nor pax`, changed(func(p *part) { p.size = "\x80\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff" })},
	{"size that is no number", `damaged`, changed(func(p *part) { p.size = "12x45" })},
	{"time that is far away", `neither ustar nor pax`, changed(func(p *part) { p.mtime = 1 << 40 })},
	{"checksum that is wrong", `damaged`, func(b *build) {
		b.tar = func(tar []byte) []byte { tar[148]++; return tar }
	}},
	{"text in the padding of a file", `zeros up to the next block`, func(b *build) {
		b.tar = func(tar []byte) []byte {
			return []byte(strings.Replace(string(tar), "<b>\n\x00", "<b>\nx", 1))
		}
	}},
}
