package hostilearchive

import (
	"slices"
	"strings"

	"example.com/nginx-operator/internal/backup/archive"
)

// orderRules are parts that are duplicated, missing or out of order.
var orderRules = []rule{
	{"file twice", `occurs twice`, added(file("content/0/b.html", "x"))},
	{"file twice in different spelling", `shortest form`, added(file("content/0/./b.html", "x"))},
	{"file twice with others in between", `duplicate or out of order`, added(file("content/0/c", "x"), file("content/0/b.html", "x"))},
	{"document twice", `twice`, func(b *build) { b.before("config/asked/nginx.conf", file("nginxoperator.yaml", "x")) }},
	{"backup.json twice", `twice`, func(b *build) { b.before("nginxoperator.yaml", file("backup.json", "{}")) }},
	{"directory twice", `twice`, func(b *build) { b.before("content/0/a/index.html", directory("content/0/a")) }},
	{"backup.json is missing", `backup.json must be the first file`, func(b *build) { b.remove("backup.json") }},
	{"backup.json is second", `backup.json must be the first file`, func(b *build) { b.parts[0], b.parts[1] = b.parts[1], b.parts[0] }},
	{"files out of order", `out of order`, added(file("content/0/d", "x"), file("content/0/c", "x"))},
	{"document after content", `out of order`, added(file("config/served/x", "x"))},
	{"content after secrets", `out of order`, func(b *build) { b.parts = append(b.parts, directory("content/1")) }},
	{"directory is missing", `not a directory that comes before it`, func(b *build) { b.remove("content/0/a/") }},
	{"volume is missing", `not a directory that comes before it`, func(b *build) { b.remove("content/0/") }},
	{"file beneath a file", `not a directory that comes before it`, added(file("content/0/c", "x"), file("content/0/c/x", "x"))},
	{"document beneath a document", `cannot contain this entry`, func(b *build) { b.before("content/0/", file("config/asked/nginx.conf/x", "x")) }},
	{"volume that backup.json does not name", `does not name this volume`, added(directory("content/1"))},
	{"volume that only backup.json names", `content volumes`, func(b *build) {
		b.info.Content = append(b.info.Content, archive.Volume{Index: 1, Claim: "x", MountPath: "/x"})
	}},
	{"backup.json is not JSON", `backup refused`, func(b *build) { b.change("backup.json", func(p *part) { p.body = []byte("format: 1\n") }) }},
	{"backup.json of a later version", `made by a later version: format 2, this one reads 1`, func(b *build) {
		b.change("backup.json", func(p *part) { p.body = []byte(`{"format":2}`) })
	}},
	{"backup.json of no version", `does not name its format`, func(b *build) { b.change("backup.json", func(p *part) { p.body = []byte(`{}`) }) }},
	{"backup.json of another backup", `differs from the info`, func(b *build) {
		b.commit = func(c *archive.Commit) { c.Info.UID = "b2" }
	}},
}

func lines(edit func([]string) []string) func(*build) {
	return func(b *build) { b.manifest = edit }
}

func replaced(old, with string) func(*build) {
	return lines(func(l []string) []string {
		for i := range l {
			l[i] = strings.Replace(l[i], old, with, 1)
		}
		return l
	})
}

// manifestRules are manifests that do not match the archive, with commit records that match the
// manifests.
var manifestRules = []rule{
	{"manifest is missing", `no manifest.jsonl`, lines(func([]string) []string { return nil })},
	{"manifest is first", `backup.json must be the first file`, func(b *build) { b.place = 0 }},
	{"manifest is in the middle", `out of order`, func(b *build) {
		b.place = 4
		before := func() archive.Totals { return (&build{parts: b.parts[:b.place]}).totals() }
		b.manifest = func(l []string) []string {
			return append(l[:5], jsonLine(map[string]archive.Totals{"totals": before()}))
		}
		b.commit = func(c *archive.Commit) { c.Totals = before() }
	}},
	{"manifest twice", `occurs twice`, func(b *build) {
		b.tar = func(tar []byte) []byte {
			manifest := file("manifest.jsonl", strings.Join(b.lines(), "")).bytes()
			return slices.Concat(tar[:len(tar)-2*block], manifest, b.end)
		}
	}},
	{"manifest is not JSON", `not valid JSON`, replaced(`"type"`, `type`)},
	{"manifest is one array", `not valid JSON`, lines(func(l []string) []string { return []string{"[" + strings.Join(l, ",") + "]\n"} })},
	{"manifest of a later version", `made by a later version: format 2, this one reads 1`, replaced(`{"format":1}`, `{"format":2}`)},
	{"manifest of no version", `does not name its format`, lines(func(l []string) []string { return l[1:] })},
	{"manifest with unknown fields", `not valid JSON`, replaced(`"size"`, `"run":"x","size"`)},
	{"manifest with two values on a line", `more than one value`, replaced(`"linkTarget":"index.html"}`, `"linkTarget":"index.html"} {}`)},
	{"manifest with a line without end", `line of more than`, replaced(`"path":"content/0/a"`, `"path":"`+strings.Repeat("x", 100<<10)+`"`)},
	{"manifest without totals", `without its totals`, lines(func(l []string) []string { return l[:len(l)-1] })},
	{"manifest goes on after its totals", `after its totals`, lines(func(l []string) []string { return append(l, l[1]) })},
	{"manifest's totals are wrong", `totals are`, replaced(`"files":6`, `"files":7`)},
	{"manifest without a file of the archive", `it differs from the manifest`, func(b *build) {
		b.change("content/0/b.html", func(p *part) { p.hidden = true })
	}},
	{"manifest without the last file", `it lists 8 of the archive's 9 entries`, func(b *build) {
		b.change("secrets/tls.age", func(p *part) { p.hidden = true })
	}},
	{"manifest with a file that is not there", `is not in the archive`, lines(func(l []string) []string {
		return slices.Insert(l, len(l)-1, l[len(l)-2])
	})},
	{"manifest in another order", `it differs from the manifest`, lines(func(l []string) []string {
		l[2], l[3] = l[3], l[2]
		return l
	})},
	{"manifest with a wrong digest", `entry "content/0/b.html": it differs from the manifest`, replaced(sum([]byte("<b>\n")), strings.Repeat("0", 64))},
	{"manifest with a wrong size", `it differs from the manifest`, replaced(`"size":15`, `"size":14`)},
	{"manifest with a wrong mode", `it differs from the manifest`, replaced(`"mode":"0755"`, `"mode":"0777"`)},
	{"manifest with a mode that is no number", `not valid JSON`, replaced(`"mode":"0755"`, `"mode":"rwx"`)},
	{"manifest with a wrong target", `it differs from the manifest`, replaced(`"linkTarget":"index.html"`, `"linkTarget":"../b.html"`)},
	{"manifest that skips what is no content", `does not belong to a volume`, lines(func(l []string) []string {
		return slices.Insert(l, 2, `{"path":"nginxoperator.yaml","skipped":"socket"}`+"\n")
	})},
	{"manifest that skips more than the commit record says", `commit record says`, lines(func(l []string) []string {
		l[len(l)-1] = strings.Replace(l[len(l)-1], `"skipped":0`, `"skipped":1`, 1)
		return slices.Insert(l, 5, `{"path":"content/0/x","skipped":"socket"}`+"\n")
	})},
}

func committed(edit func(*archive.Commit)) func(*build) {
	return func(b *build) { b.commit = edit }
}

// commitRules are commit records that do not match the archive.
var commitRules = []rule{
	{"commit record of another archive", `SHA-256`, committed(func(c *archive.Commit) { c.SHA256 = strings.Repeat("0", 64) })},
	{"commit record of another manifest", `manifest.jsonl`, committed(func(c *archive.Commit) { c.ManifestSHA256 = strings.Repeat("0", 64) })},
	{"commit record of a longer archive", `ends after`, committed(func(c *archive.Commit) { c.Size++ })},
	{"commit record of a shorter archive", `longer than`, committed(func(c *archive.Commit) { c.Size-- })},
	{"commit record with a negative size", `size -1`, committed(func(c *archive.Commit) { c.Size = -1 })},
	{"commit record of a later version", `made by a later version: format 2, this one reads 1`, committed(func(c *archive.Commit) { c.Format = 2 })},
	{"commit record of no version", `formats 0 and 1`, committed(func(c *archive.Commit) { c.Format = 0 })},
	{"commit record with a digest that is none", `hexadecimal`, committed(func(c *archive.Commit) { c.SHA256 = strings.Repeat("A", 64) })},
	{"commit record with a short digest", `hexadecimal`, committed(func(c *archive.Commit) { c.ManifestSHA256 = "ab" })},
	{"commit record whose key goes up", `not a valid key`, committed(func(c *archive.Commit) { c.Archive = "../other/web-1.tar.gz" })},
	{"commit record whose key is absolute", `not a valid key`, committed(func(c *archive.Commit) { c.Archive = "/etc/passwd" })},
	{"commit record whose key has a line feed", `not a valid key`, committed(func(c *archive.Commit) { c.Archive = "a\nb" })},
	{"commit record with impossible totals", `impossible`, committed(func(c *archive.Commit) { c.Totals.Files = -1 })},
	{"commit record with more than there is", `totals are`, committed(func(c *archive.Commit) { c.Totals.Entries++ })},
	{"commit record with a name that floods", `name is 10000 bytes`, committed(func(c *archive.Commit) { c.Info.Name = strings.Repeat("x", 10000) })},
	{"commit record with an escape sequence", `control characters`, committed(func(c *archive.Commit) { c.Info.Trigger = "\x1b[2J" })},
}
