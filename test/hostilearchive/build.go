package hostilearchive

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/nginx-operator/internal/backup/archive"
)

// block is the size of a tar block, in bytes.
const block = 512

// part is an entry of the tar.
type part struct {
	header
	body []byte
	// extensions are written before the header.
	extensions []byte
	// hidden parts are not in the manifest.
	hidden bool
	// said is the path in the manifest, if it differs from the name.
	said string
}

// header is the header of a part. Zero fields get valid values.
type header struct {
	name, link, prefix, owner string
	flag                      byte
	mode, uid, mtime, device  int64
	// size is the size as written. If empty, it is that of the body.
	size  string
	magic string
	// tail is written at the end of the name field, where only zeros are valid.
	tail string
}

// block returns the header as a tar block.
func (h header) block(size int) []byte {
	b := make([]byte, block)
	if h.size == "" {
		h.size = fmt.Sprintf("%011o", size)
	}
	if h.magic == "" {
		h.magic = "ustar\x0000"
	}
	copy(b[0:100], h.name)
	copy(b[100-len(h.tail):100], h.tail)
	copy(b[100:108], fmt.Sprintf("%07o", h.mode))
	copy(b[108:116], fmt.Sprintf("%07o", h.uid))
	copy(b[116:124], "0000000")
	copy(b[124:136], h.size)
	copy(b[136:148], fmt.Sprintf("%011o", h.mtime))
	b[156] = h.flag
	copy(b[157:257], h.link)
	copy(b[257:265], h.magic)
	copy(b[265:297], h.owner)
	copy(b[329:337], fmt.Sprintf("%07o", h.device))
	copy(b[337:345], "0000000")
	copy(b[345:500], h.prefix)
	sum := 8 * int(' ')
	for _, c := range b {
		sum += int(c)
	}
	copy(b[148:156], fmt.Sprintf("%06o\x00 ", sum))
	return b
}

func (p part) bytes() []byte {
	return slices.Concat(p.extensions, p.block(len(p.body)), padded(p.body))
}

func padded(body []byte) []byte {
	return slices.Concat(body, make([]byte, -len(body)&(block-1)))
}

// extension returns an extended header with records, of flag x or another flag that extends the
// next header.
func extension(flag byte, body []byte) []byte {
	return part{header: header{name: "PaxHeaders.0/x", flag: flag, mode: 0o644}, body: body}.bytes()
}

func record(key, value string) []byte {
	size := len(key) + len(value) + 3
	for size != len(fmt.Sprintf("%d %s=%s\n", size, key, value)) {
		size++
	}
	return fmt.Appendf(nil, "%d %s=%s\n", size, key, value)
}

func file(name, body string) part {
	return part{header: header{name: name, flag: '0', mode: 0o644}, body: []byte(body)}
}

func directory(name string) part {
	return part{header: header{name: name + "/", flag: '5', mode: 0o755}}
}

func link(name, target string) part {
	return part{header: header{name: name, link: target, flag: '2', mode: 0o777}}
}

// long moves the name of a part into an extension.
func long(p part) part {
	p.extensions = extension('x', record("path", p.name))
	p.said, p.name = p.name, "content/0/long"
	return p
}

// build is an archive under construction.
type build struct {
	info  archive.Info
	parts []part
	// manifest edits the lines of the manifest, and tar and packed the bytes, before the commit
	// record is created. damage edits the archive after that.
	manifest            func(lines []string) []string
	tar, packed, damage func([]byte) []byte
	commit              func(*archive.Commit)
	// level is the compression level. Without compression, parts can be found in the archive as
	// they are.
	level int
	// end is the end of the tar, and place is where the manifest is put.
	end   []byte
	place int
}

func same[T any](v T) T { return v }

// definition is the application of a namespace.
const definition = `apiVersion: operator.example.com/v1alpha2
kind: NginxOperator
metadata: {name: web, namespace: %s}
spec:
  content:
  - mountPath: /srv
    persistentVolumeClaim: {claimName: pages}
`

// base returns a valid archive of a namespace.
func base(namespace string) *build {
	return &build{
		info: archive.Info{
			Format: archive.Format, Name: "web-1", UID: "b1", Namespace: namespace,
			Application: archive.Application{Name: "web", UID: "a1", Generation: 7},
			TakenAt:     time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), Trigger: "Schedule", OperatorVersion: "1", Image: "nginx:1", ConfigRevision: "c1",
			Content: []archive.Volume{{Index: 0, Claim: "pages", MountPath: "/srv"}},
		},
		parts: []part{
			file("backup.json", ""), file("nginxoperator.yaml", fmt.Sprintf(definition, namespace)), file("config/asked/nginx.conf", "events {}\n"),
			directory("content/0"), directory("content/0/a"), file("content/0/a/index.html", "<h1>hello</h1>\n"),
			link("content/0/a/link", "index.html"), file("content/0/b.html", "<b>\n"), file("secrets/tls.age", "age-encryption.org/v1\n"),
		},
		manifest: same[[]string], tar: same[[]byte], packed: same[[]byte], damage: same[[]byte], commit: func(*archive.Commit) {},
		level: gzip.BestSpeed, end: make([]byte, 2*block), place: -1,
	}
}

// add puts parts at the end of the content.
func (b *build) add(parts ...part) { b.before("secrets/tls.age", parts...) }

func (b *build) find(name string) int {
	return slices.IndexFunc(b.parts, func(p part) bool { return p.name == name })
}

func (b *build) before(name string, parts ...part) {
	b.parts = slices.Insert(b.parts, b.find(name), parts...)
}

func (b *build) change(name string, edit func(*part)) { edit(&b.parts[b.find(name)]) }

func (b *build) remove(name string) { b.parts = slices.Delete(b.parts, b.find(name), b.find(name)+1) }

// archive returns the archive and its commit record.
func (b *build) archive() ([]byte, archive.Commit) {
	if at := b.find("backup.json"); at >= 0 && len(b.parts[at].body) == 0 {
		b.parts[at].body, _ = json.Marshal(b.info) // marshalling this type cannot fail
	}
	lines := b.manifest(b.lines())
	manifest := file("manifest.jsonl", strings.Join(lines, ""))
	tar := b.pack(manifest)
	text := b.packed(squeeze(b.level, b.tar(tar)))
	c := archive.Commit{
		Format: archive.Format, Archive: "shop/web/web-1.tar.gz", Size: int64(len(text)), SHA256: sum(text),
		ManifestSHA256: sum(manifest.body), Totals: b.totals(), Info: b.info,
	}
	b.commit(&c)
	return b.damage(text), c
}

func (b *build) pack(manifest part) []byte {
	parts := b.parts
	switch {
	case b.place >= 0:
		parts = slices.Insert(slices.Clone(parts), b.place, manifest)
	case len(manifest.body) > 0:
		parts = append(slices.Clone(parts), manifest)
	}
	var tar []byte
	for _, p := range parts {
		tar = append(tar, p.bytes()...)
	}
	return append(tar, b.end...)
}

func squeeze(level int, text []byte) []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, level)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // writing to memory cannot fail
	}
	return out.Bytes()
}

func sum(text []byte) string {
	s := sha256.Sum256(text)
	return hex.EncodeToString(s[:])
}

func (b *build) totals() archive.Totals {
	var t archive.Totals
	for _, p := range b.parts {
		t.Entries++
		if p.flag == '0' {
			t.Files++
			t.Bytes += int64(len(p.body))
		}
	}
	return t
}

// lines returns the lines of a valid manifest.
func (b *build) lines() []string {
	lines := []string{jsonLine(map[string]int{"format": archive.Format})}
	for _, p := range b.parts {
		if !p.hidden {
			lines = append(lines, jsonLine(p.entry()))
		}
	}
	return append(lines, jsonLine(map[string]archive.Totals{"totals": b.totals()}))
}

func jsonLine(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // marshalling these types cannot fail
	}
	return string(text) + "\n"
}

func (p part) entry() archive.Entry {
	e := archive.Entry{Path: strings.TrimSuffix(p.name, "/"), Type: archive.Regular, Size: int64(len(p.body)), Mode: archive.Mode(p.mode)}
	if p.said != "" {
		e.Path = strings.TrimSuffix(p.said, "/")
	}
	switch p.flag {
	case '5':
		e.Type = archive.Directory
	case '2':
		e.Type, e.Target = archive.Link, p.link
	default:
		e.SHA256 = sum(p.body)
	}
	return e
}
