package hostilearchive

import (
	"bytes"
	"compress/gzip"
	"math/rand/v2"
	"slices"
	"strings"

	"example.com/nginx-operator/internal/backup/archive"
)

// raw replaces the archive with other bytes, with a commit record that matches them.
func raw(text func() []byte) func(*build) {
	return func(b *build) { b.packed = func([]byte) []byte { return text() } }
}

func noise(size int) []byte {
	random := rand.NewChaCha8([32]byte{1})
	text := make([]byte, size)
	_, _ = random.Read(text) // it never fails
	return text
}

// bombRules are archives that are larger than they look.
var bombRules = []rule{
	{"content that is compressed too well", `compressed by a factor`, added(file("content/0/x", strings.Repeat("\x00", 4<<20)))},
	{"document that is too large", `at most 4194304 are allowed`, func(b *build) {
		b.change("nginxoperator.yaml", func(p *part) { p.body = noise(4<<20 + 1) })
	}},
	{"secret that is too large", `at most 4194304 are allowed`, func(b *build) {
		b.change("secrets/tls.age", func(p *part) { p.body = noise(4<<20 + 1) })
	}},
	{"backup.json that is too large", `at most 1048576 are allowed`, func(b *build) {
		b.change("backup.json", func(p *part) { p.body = noise(1<<20 + 1) })
	}},
	{"documents that are too many", `documents have more than`, func(b *build) {
		parts := make([]part, 33<<10)
		for i := range parts {
			parts[i] = file("config/served/"+strings.Repeat("x", 1+i/100%200)+"/"+string([]byte{'a' + byte(i/26%26), 'a' + byte(i%26)}), "")
		}
		slices.SortFunc(parts, func(a, b part) int { return strings.Compare(a.name, b.name) })
		parts = slices.CompactFunc(parts, func(a, b part) bool { return a.name == b.name })
		b.change("nginxoperator.yaml", func(p *part) { p.body = noise(3 << 20) })
		for i := range 4 {
			b.before("config/asked/nginx.conf", part{header: header{name: "configmaps/" + string(rune('a'+i)) + ".yaml", flag: '0', mode: 0o644}, body: noise(4 << 20)})
		}
		b.before("content/0/", parts...)
	}},
	{"more entries than the commit record says", `contains more than its commit record says`, func(b *build) {
		b.commit = func(c *archive.Commit) { c.Totals.Entries-- }
	}},
	{"more bytes than the commit record says", `contains more than its commit record says`, func(b *build) {
		b.commit = func(c *archive.Commit) { c.Totals.Bytes-- }
	}},
	{"commit record with more entries than are possible", `1000000 entries`, func(b *build) {
		b.commit = func(c *archive.Commit) { c.Totals.Entries = 1_000_001 }
	}},
	{"commit record with more bytes than are possible", `bytes that are allowed`, func(b *build) {
		b.commit = func(c *archive.Commit) { c.Totals.Bytes = 1<<40 + 1 }
	}},
	{"file that says it has more bytes than it has", `ends too early`, func(b *build) {
		b.tar = func(tar []byte) []byte { return tar[:len(tar)-3*block-1] }
	}},
}

// streamRules are about gzip and about the ends of both formats.
var streamRules = []rule{
	{"empty", `the impossible archive size 0`, raw(func() []byte { return nil })},
	{"not gzip", `damaged`, raw(func() []byte { return []byte("PK\x03\x04 this is a zip file") })},
	{"tar that is not compressed", `damaged`, func(b *build) {
		tar := []byte{}
		b.tar = func(t []byte) []byte { tar = t; return t }
		b.packed = func([]byte) []byte { return tar }
	}},
	{"gzip of noise", `damaged`, raw(func() []byte { return squeeze(gzip.BestSpeed, noise(100<<10)) })},
	{"gzip of text", `damaged`, raw(func() []byte { return squeeze(gzip.BestSpeed, bytes.Repeat([]byte("text "), 1000)) })},
	{"gzip of nothing", `without its end mark`, raw(func() []byte { return squeeze(gzip.BestSpeed, nil) })},
	{"tar of nothing", `no manifest.jsonl`, raw(func() []byte { return squeeze(gzip.BestSpeed, make([]byte, 2*block)) })},
	{"archive in an archive", `damaged`, func(b *build) {
		b.packed = func(text []byte) []byte { return squeeze(gzip.BestSpeed, text) }
	}},
	{"gzip with a name", `gzip header`, func(b *build) {
		b.packed = func(text []byte) []byte {
			text[3] |= 8
			return slices.Insert(text, 10, []byte("../x\x00")...)
		}
	}},
	{"second gzip stream", `after the end of the gzip stream`, func(b *build) {
		b.packed = func(text []byte) []byte { return slices.Concat(text, text) }
	}},
	{"empty second gzip stream", `after the end of the gzip stream`, func(b *build) {
		b.packed = func(text []byte) []byte { return append(text, squeeze(gzip.BestSpeed, nil)...) }
	}},
	{"garbage after the gzip stream", `after the end of the gzip stream`, func(b *build) {
		b.packed = func(text []byte) []byte { return append(text, "garbage"...) }
	}},
	{"zeros after the gzip stream", `after the end of the gzip stream`, func(b *build) {
		b.packed = func(text []byte) []byte { return append(text, 0) }
	}},
	{"garbage that the commit record does not know", `longer than`, func(b *build) {
		b.damage = func(text []byte) []byte { return append(text, "garbage"...) }
	}},
	{"garbage after the tar", `after the end of the tar`, func(b *build) { b.end = append(b.end, "garbage"...) }},
	{"zeros after the tar", `after the end of the tar`, func(b *build) { b.end = append(b.end, make([]byte, 8*block)...) }},
	{"another tar after the tar", `after the end of the tar`, func(b *build) {
		b.tar = func(tar []byte) []byte { return slices.Concat(tar, tar) }
	}},
	{"tar without end", `without its end mark`, func(b *build) { b.end = nil }},
	{"tar with half an end", `without its end mark`, func(b *build) { b.end = b.end[:block] }},
	{"gzip's checksum is wrong", `damaged`, func(b *build) {
		b.packed = func(text []byte) []byte { text[len(text)-8] ^= 1; return text }
	}},
	{"gzip's length is wrong", `damaged`, func(b *build) {
		b.packed = func(text []byte) []byte { text[len(text)-1] ^= 1; return text }
	}},
	{"gzip without its end", `ends too early`, func(b *build) {
		b.packed = func(text []byte) []byte { return text[:len(text)-8] }
	}},
}

// marks identify each part of an uncompressed archive.
var marks = []struct{ section, mark, want string }{
	{"gzip header", "\x1f\x8b", `damaged`},
	{"name of a file", "content/0/b.html", `damaged`},
	{"backup.json", `{"format":1,"name"`, `backup.json`},
	{"document", "kind: NginxOperator", `differs from the manifest`},
	{"content", "<h1>", `differs from the manifest`},
	{"target of a link", "index.html\x00", `damaged`},
	{"secret", "age-encryption.org", `differs from the manifest`},
	{"manifest", `{"path":"content/0/a"`, `manifest.jsonl`},
	{"manifest's totals", `{"totals"`, `manifest.jsonl`},
}

// flipRules flip one bit in each part after the commit record was written.
func flipRules() []rule {
	var rules []rule
	for _, m := range marks {
		rules = append(rules, rule{"flipped bit in " + m.section, m.want, func(b *build) {
			b.level = gzip.NoCompression
			b.damage = func(text []byte) []byte { text[bytes.Index(text, []byte(m.mark))] ^= 1; return text }
		}})
	}
	return append(rules, rule{"flipped bit that only the whole digest notices", `SHA-256`, func(b *build) {
		b.damage = func(text []byte) []byte { text[9] ^= 1; return text } // the operating system in the gzip header
	}})
}

// cutRules end in the middle of each part, both with and without a commit record that matches the
// cut archive.
func cutRules() []rule {
	var rules []rule
	for _, m := range marks[1:] {
		cut := func(text []byte) []byte { return text[:bytes.Index(text, []byte(m.mark))+2] }
		rules = append(rules, rule{"cut in " + m.section, `ends after`, func(b *build) {
			b.level, b.damage = gzip.NoCompression, cut
		}}, rule{"written cut in " + m.section, `ends too early`, func(b *build) {
			b.level, b.packed = gzip.NoCompression, cut
		}})
	}
	return rules
}
