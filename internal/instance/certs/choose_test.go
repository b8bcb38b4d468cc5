package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/nginx-operator/internal/instance/keypipe"
	"example.com/nginx-operator/internal/instance/proc"
	"example.com/nginx-operator/internal/instance/volumes"
	"example.com/nginx-operator/test/golden"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// lasting returns a certificate that is valid from a number of hours to another, counted from noon.
func lasting(from, to int, names ...string) *x509.Certificate {
	return &x509.Certificate{NotBefore: noon.Add(time.Duration(from) * time.Hour), NotAfter: noon.Add(time.Duration(to) * time.Hour), DNSNames: names}
}

// TestReasonToKeep: nginx keeps a pair that clients accept as long as they reject the new one.
func TestReasonToKeep(t *testing.T) {
	good, gone, goneLonger, coming, comingLater := lasting(-9, 9), lasting(-9, -1), lasting(-9, -2), lasting(1, 9), lasting(2, 9)
	const shop, blog, all = "shop.example.com", "blog.example.com", "*.example.com"
	tests := []struct {
		name       string
		used, next *x509.Certificate
		hosts      string
		want       string
	}{
		{"the first pair is valid", nil, good, "", ""},
		{"the first pair has expired", nil, gone, "", ""},
		{"the first pair is not valid yet", nil, coming, "", ""},
		{"the first pair is for another host", nil, lasting(-9, 9, blog), shop, ""},
		{"valid after valid", good, lasting(-1, 3), "", ""},
		{"expired after valid", good, gone, "", "expired on 2026-11-21 11:00:00 UTC: nginx keeps using the previous one, which is valid until 2026-11-21 21:00:00 UTC"},
		{"not yet valid after valid", good, coming, "", "is not valid before 2026-11-21 13:00:00 UTC: nginx keeps"},
		{"valid after expired", gone, good, "", ""},
		{"not yet valid after expired", gone, coming, "", ""},
		{"expired after expired earlier", goneLonger, gone, "", ""},
		{"expired after expired later", gone, goneLonger, "", "which expired on 2026-11-21 11:00:00 UTC"},
		{"expired at the same time", gone, lasting(-3, -1), "", ""},
		{"valid after not yet valid", coming, good, "", ""},
		{"expired after not yet valid", coming, gone, "", "which becomes valid on 2026-11-21 13:00:00 UTC"},
		{"not yet valid after not yet valid", coming, comingLater, "", ""},
		{"valid from now on", good, lasting(0, 9), "", ""},
		{"valid until now", good, lasting(-9, 0), "", ""},

		{"another name that no server has", lasting(-9, 9, shop), lasting(-9, 9, blog), "", ""},
		{"a name that only the new one has", lasting(-9, 9, shop), lasting(-9, 9, shop, blog), shop + " " + blog, ""},
		{"another name than the server's", lasting(-9, 9, shop), lasting(-9, 9, blog), shop, "is not for shop.example.com"},
		{"a name less", lasting(-9, 9, shop, blog), lasting(-9, 9, blog), shop + " " + blog + " " + shop, "is not for shop.example.com, which"},
		{"many names less", lasting(-9, 9, all), lasting(-9, 9, "x.org"), "a.example.com b.example.com c.example.com d.example.com e.example.com", "c.example.com and 2 more"},
		{"a name that neither has", lasting(-9, 9, shop), lasting(-9, 9, blog), "other.org", ""},
		{"a wildcard instead of the name", lasting(-9, 9, shop), lasting(-9, 9, all), shop, ""},
		{"a name instead of the wildcard", lasting(-9, 9, all), lasting(-9, 9, shop), all + " " + shop, "is not for *.example.com"},
		{"a domain with its subdomains", lasting(-9, 9, all, "example.com"), lasting(-9, 9, all), ".example.com", "is not for .example.com"},
		{"upper case", lasting(-9, 9, shop), lasting(-9, 9, "SHOP.example.com"), "Shop.Example.com.", ""},
		{"names that are no host", lasting(-9, 9, shop), lasting(-9, 9, blog), `_ ~^shop\. $hostname www.example.*`, ""},
		{"other names once the used one has expired", lasting(-9, -1, shop), lasting(-9, 9, blog), shop, ""},
		{"an address", &x509.Certificate{NotBefore: noon, NotAfter: noon, IPAddresses: []net.IP{net.ParseIP("2001:db8::1")}}, good, "[2001:db8:0::1]", "is not for [2001:db8:0::1]"},
	}
	var messages golden.Messages
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := reasonToKeep(tt.used, tt.next, strings.Fields(tt.hosts), noon)
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if got != "" {
				messages.Add("certificate not used by an instance", got)
			}
		})
	}
	messages.Compare(t, "keep.txt")
}

// issueLasting returns a Secret with a self-signed certificate.
func issueLasting(t *testing.T, serial int64, like *x509.Certificate) map[string]string {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := *like
	template.SerialNumber = big.NewInt(serial)
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{certFile: encode("CERTIFICATE", der), keyFile: encode("PRIVATE KEY", pkcs8)}
}

// mount replaces the files of a Secret as a kubelet does.
func mount(t *testing.T, secrets, version string, files map[string]string) {
	t.Helper()
	dir := filepath.Join(secrets, "shop")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(dir, version), 0o700))
	for name, content := range files {
		must(os.WriteFile(filepath.Join(dir, version, name), []byte(content), 0o600))
	}
	must(os.Symlink(version, filepath.Join(dir, "next")))
	must(os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "..data")))
	for name := range files {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
}

// TestFillGaps: nginx gets a placeholder for a pair that it has none of if it has another pair. The placeholder is never
// reported, does not survive a restart of the container, and gives way to any pair.
func TestFillGaps(t *testing.T) {
	secrets, dir := t.TempDir(), t.TempDir()
	open := func(names ...string) *Keeper {
		t.Helper()
		k, err := NewKeeper(secrets, dir, names, &keypipe.Readers{Proc: proc.Root, Started: func(int) bool { return true }})
		if err != nil {
			t.Fatal(err)
		}
		k.Refresh(noon, func(string, *x509.Certificate) []string { return nil })
		return k
	}
	fills := func(k *Keeper, want bool) {
		t.Helper()
		if filled, err := k.FillGaps(); filled != want || err != nil {
			t.Errorf("filled is %v, %v, want %v", filled, err, want)
		}
	}
	fills(open("shop"), false)
	fills(open("blog", "shop"), false)
	mount(t, secrets, "1", issueLasting(t, 1, lasting(-9, -5)))
	fills(open("shop"), false)
	for range 2 {
		k := open("blog", "shop")
		fills(k, true)
		fills(k, false)
		publishPairs(t, k)
		checkPlaceholder(t, filepath.Join(dir, "blog", certFile))
		if r := k.Report(nil); r[0].Error == "" || r[0].NotAfter != nil || r[1].Serial != "1" {
			t.Errorf("it reports %+v", r)
		}
	}
	// The Secret becomes good while nginx runs with the placeholder.
	k := open("blog", "shop")
	fills(k, true)
	if err := os.Symlink("shop", filepath.Join(secrets, "blog")); err != nil {
		t.Fatal(err)
	}
	k.Refresh(noon, func(string, *x509.Certificate) []string { return []string{"blog.example.com"} })
	publishPairs(t, k)
	if r := k.Report(nil)[0]; r.Serial != "1" || r.Error != "" {
		t.Errorf("with a good Secret, it reports %+v", r)
	}
}

// TestPlaceholderFiles: a placeholder has the other files of the Secret, so that nginx accepts a configuration that names
// them. It never has the bad key. Without authorities, it accepts no client.
func TestPlaceholderFiles(t *testing.T) {
	const users, other = "a:b", "-----BEGIN PRIVATE KEY-----\nb3RoZXI=\n-----END PRIVATE KEY-----\n"
	bad, good := issueLasting(t, 1, lasting(-9, 9)), issueLasting(t, 2, lasting(-9, 9))
	again := map[string]string{keyFile: bad[keyFile] + "\n", "a.pem": good[certFile] + bad[keyFile]}
	stores := map[string]string{keyFile: bad[keyFile], "a.p12": "\x00", "b.jks": "", "c.der": ""}
	for name, tt := range map[string]struct {
		secret map[string]string
		// same are files that the placeholder copies, and filled those in whose place it has its own certificate.
		same, filled string
	}{
		"no Secret":       {nil, "", "ca.crt"},
		"no authorities":  {map[string]string{certFile: "no certificate", keyFile: bad[keyFile], "users": users}, "users", "ca.crt"},
		"no certificate":  {map[string]string{certFile: bad[certFile], keyFile: good[keyFile], "ca.crt": "nothing"}, "", "ca.crt"},
		"authorities":     {map[string]string{keyFile: bad[keyFile], "ca.crt": good[certFile]}, "ca.crt", ""},
		"another key":     {map[string]string{keyFile: bad[keyFile], "client.key": other}, "client.key", "ca.crt"},
		"no key":          {map[string]string{certFile: good[certFile], "client.key": other}, "client.key", "ca.crt"},
		"the key again":   {again, "", "ca.crt a.pem"},
		"key stores":      {stores, "", "ca.crt a.p12 b.jks c.der"},
		"a file too much": {map[string]string{keyFile: bad[keyFile], "a": strings.Repeat("a", 3<<20)}, "", "ca.crt"},
	} {
		t.Run(name, func(t *testing.T) {
			secrets, dir := t.TempDir(), t.TempDir()
			mount(t, secrets, "1", good)
			writeFiles(t, filepath.Join(secrets, "blog"), tt.secret)
			files := fillBlog(t, secrets, dir)
			for name := range strings.FieldsSeq(tt.same) {
				if files[name] != tt.secret[name] {
					t.Errorf("%s is %q", name, files[name])
				}
			}
			for _, name := range append(strings.Fields(tt.filled), certFile) {
				if !strings.HasPrefix(files[name], files[certFile]) {
					t.Errorf("%s is %q", name, files[name])
				}
			}
			for name, content := range files {
				if key := strings.TrimSpace(tt.secret[keyFile]); key != "" && strings.Contains(content, key) {
					t.Errorf("%s has the bad key", name)
				}
			}
			if want := 2 + len(strings.Fields(tt.same+" "+tt.filled)); len(files) != want {
				t.Errorf("there are %d files, want %d", len(files), want)
			}
			checkPlaceholder(t, filepath.Join(dir, "blog", certFile))
		})
	}
}

// fillBlog fills the gap of blog, and returns all files of its placeholder.
func fillBlog(t *testing.T, secrets, dir string) map[string]string {
	t.Helper()
	readers := &keypipe.Readers{Proc: proc.Root, Started: func(int) bool { return true }}
	k, err := NewKeeper(secrets, dir, []string{"blog", "shop"}, readers)
	if err != nil {
		t.Fatal(err)
	}
	k.Refresh(noon, func(string, *x509.Certificate) []string { return nil })
	if filled, err := k.FillGaps(); !filled || err != nil {
		t.Fatalf("filled is %v, %v", filled, err)
	}
	files, err := volumes.Read(filepath.Join(dir, "blog"))
	if err != nil {
		t.Fatal(err)
	}
	private, err := k.keys.read("blog-" + placeholder)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(files, private)
	return files
}

// writeFiles writes files into a new folder, if there are any.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// publishPairs publishes the pairs, as if nginx had loaded them.
func publishPairs(t *testing.T, k *Keeper) {
	t.Helper()
	_, done, err := k.Publish()
	if err != nil {
		t.Fatal(err)
	}
	done()
}

// checkPlaceholder fails the test if clients may accept the certificate in a file.
func checkPlaceholder(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil || !c.NotAfter.Before(noon) || len(c.DNSNames) > 0 {
		t.Errorf("clients may accept the placeholder: %+v, %v", c, err)
	}
}

// TestKeeperWaits: a pair that is not valid yet is due when it is, without any change of the Secret. A container that
// restarts meanwhile uses the pair that it used before.
func TestKeeperWaits(t *testing.T) {
	secrets, dir := t.TempDir(), t.TempDir()
	open := func() *Keeper {
		t.Helper()
		k, err := NewKeeper(secrets, dir, []string{"shop"}, &keypipe.Readers{Proc: proc.Root, Started: func(int) bool { return true }})
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	noHosts := func(string, *x509.Certificate) []string { return nil }
	check := func(k *Keeper, step string, hours int, serial, words string) {
		t.Helper()
		k.Refresh(noon.Add(time.Duration(hours)*time.Hour), noHosts)
		if k.HasUnpublished() {
			_, done, err := k.Publish()
			if err != nil {
				t.Fatal(err)
			}
			done()
		}
		got := k.Report(nil)[0]
		if got.Serial != serial || (got.Error == "") != (words == "") || !strings.Contains(got.Error, words) {
			t.Errorf("%s: it uses %s and says %q, want %s and %q", step, got.Serial, got.Error, serial, words)
		}
	}
	k := open()
	mount(t, secrets, "1", issueLasting(t, 1, lasting(-9, -5)))
	check(k, "the first pair has expired", 0, "1", "")
	good := issueLasting(t, 2, lasting(-9, 6))
	mount(t, secrets, "2", good)
	check(k, "a valid pair", 0, "2", "")
	mount(t, secrets, "3", issueLasting(t, 3, lasting(2, 9)))
	check(k, "a pair that is not valid yet", 0, "2", "not valid before")
	check(k, "it is not valid yet", 1, "2", "not valid before")
	k = open()
	check(k, "after a restart", 1, "2", "not valid before")
	mount(t, secrets, "4", maps.Clone(good))
	check(k, "the used pair again", 1, "2", "")
	mount(t, secrets, "5", issueLasting(t, 5, lasting(2, 9)))
	check(k, "another one that is not valid yet", 1, "2", "not valid before")
	mount(t, secrets, "6", map[string]string{certFile: "no certificate", keyFile: "no key"})
	check(k, "no pair", 3, "2", "no valid certificate")
	mount(t, secrets, "7", issueLasting(t, 7, lasting(2, 9)))
	check(k, "it is valid by now", 3, "7", "")
	mount(t, secrets, "8", issueLasting(t, 8, lasting(-9, -5)))
	check(k, "a pair that has expired", 3, "7", "expired on")
	check(k, "both have expired", 10, "7", "which expired on")
}
