package importer

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instance/syntax"
)

// pairScope is where a certificate meets its key: in a block, for a prefix of the directives.
type pairScope struct {
	block  *syntax.Directive
	prefix string
}

// pair are the certificates and keys of a scope, each in the order of the configuration.
type pair struct{ certificates, keys []visit }

// certificateRules collect the certificates and their keys.
func certificateRules() map[string]rule {
	table := map[string]rule{}
	for _, prefix := range []string{"", "proxy_", "grpc_", "uwsgi_"} {
		table[prefix+"ssl_certificate"] = collect(prefix, func(p *pair, v visit) { p.certificates = append(p.certificates, v) })
		table[prefix+"ssl_certificate_key"] = collect(prefix, func(p *pair, v visit) { p.keys = append(p.keys, v) })
	}
	return table
}

func collect(prefix string, add func(*pair, visit)) rule {
	return func(c *conf, v visit) (Outcome, string) {
		scope := pairScope{v.block(), prefix}
		if c.pairs[scope] == nil {
			c.pairs[scope] = &pair{}
			c.pairOrder = append(c.pairOrder, scope)
		}
		add(c.pairs[scope], v)
		return Carried, ""
	}
}

// finishCertificates replaces the files of certificates by those of spec.tls.
func (c *conf) finishCertificates() {
	for _, scope := range c.pairOrder {
		p := c.pairs[scope]
		for i, v := range p.certificates {
			if i < len(p.keys) {
				c.finishPair(v, p.keys[i])
			} else {
				c.noteAlone(v, "its key is in another block")
			}
		}
		for i := len(p.certificates); i < len(p.keys); i++ {
			c.noteAlone(p.keys[i], "its certificate is in another block")
		}
	}
}

func (c *conf) noteAlone(v visit, why string) {
	c.note(v, NotCarried, why+": put both into the same block, and import again, or mount the files with spec.tls and change the path to /etc/nginx/tls/NAME/")
}

func (c *conf) finishPair(certificate, key visit) {
	for _, v := range []visit{certificate, key} {
		switch text := v.arg(0); {
		case strings.Contains(text, "$"):
			for _, both := range []visit{certificate, key} {
				c.note(both, NotCarried, "a path has variables, so workers would read the key: declare each certificate in spec.tls, in a server block of its own")
			}
			c.review.step("Give each certificate a server block of its own: the operator refuses the variables in %s:%d.", shown(v.file.path), v.Line)
			return
		case strings.HasPrefix(text, "data:") || strings.HasPrefix(text, "engine:") || strings.HasPrefix(text, "store:"):
			c.note(v, Carried, "it is no file")
			return
		}
	}
	entry := c.certificate(certificate.arg(0), key.arg(0))
	for v, name := range map[*visit]string{&certificate: "tls.crt", &key: "tls.key"} {
		inPod := "/etc/nginx/tls/" + entry.Name + "/" + name
		if v.arg(0) == inPod {
			c.note(*v, Carried, "spec.tls mounts the Secret "+entry.SecretName)
			continue
		}
		v.replaceArg(0, inPod)
		c.note(*v, Changed, "spec.tls mounts the Secret "+entry.SecretName+": "+inPod)
	}
}

// certificate returns the entry of spec.tls for the files of a certificate and its key.
func (c *conf) certificate(certificate, key string) v1alpha2.Certificate {
	id := locatePath(certificate) + "\n" + locatePath(key)
	if known, ok := c.certificates[id]; ok {
		return known
	}
	secret := c.secretOf(locatePath(certificate))
	name := certificateName(certificate)
	if secret != "" {
		name = certificateName(secret + ".crt")
	}
	for i := 2; c.hasCertificate(name); i++ {
		name = strings.TrimRight(name[:min(len(name), 36)], "-") + "-" + strconv.Itoa(i)
	}
	entry := v1alpha2.Certificate{Name: name, SecretName: secret}
	if entry.SecretName == "" {
		entry.SecretName = name + "-tls"
		c.review.step("Create the Secret of a certificate: kubectl create secret tls %s --cert=%s --key=%s", entry.SecretName, shellWord(certificate), shellWord(key))
	}
	c.certificates[id] = entry
	return entry
}

func (c *conf) hasCertificate(name string) bool {
	for _, known := range c.certificates {
		if known.Name == name {
			return true
		}
	}
	return false
}

var (
	// genericName matches names of files that say nothing about the certificate.
	genericName = regexp.MustCompile(`^(fullchain|cert|chain|tls|server|certificate|default|ssl|public|nginx)[0-9]*$`)
	notLabel    = regexp.MustCompile(`[^a-z0-9]+`)
)

// certificateName derives a name from the path of a certificate: from the file's, or from the folder's if that says nothing.
func certificateName(file string) string {
	base := strings.TrimSuffix(path.Base(file), path.Ext(file))
	if parent := path.Base(path.Dir(file)); genericName.MatchString(base) && parent != "." && parent != "/" {
		base = parent
	}
	name := strings.Trim(notLabel.ReplaceAllString(strings.ToLower(base), "-"), "-")
	name = strings.TrimRight(name[:min(len(name), 40)], "-")
	if name == "" {
		return "site"
	}
	return name
}

var safeWord = regexp.MustCompile(`^[-._/a-zA-Z0-9=@:+]+$`)

// shellWord returns a word as a shell reads it.
func shellWord(word string) string {
	if safeWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
