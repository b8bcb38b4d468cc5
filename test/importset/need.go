package importset

import (
	"path"
	"regexp"
	"strings"
)

// Kind is what a configuration needs of its machine.
type Kind string

// The kinds of needs.
const (
	// Host is a name that has to resolve, File one that an include reads, Folder one that nginx writes to.
	Host   Kind = "host"
	File   Kind = "file"
	Folder Kind = "folder"
	// Certificate, Key and Parameters are files of TLS.
	Certificate Kind = "certificate"
	Key         Kind = "key"
	Parameters  Kind = "parameters"
	// Statement is what another file of the http block has, with the whole statement as its name.
	Statement Kind = "statement"
	// NoResolver is that Resolver is not around a part, which has its own.
	NoResolver Kind = "no resolver"
)

// Resolver is around each part: many parts have names in variables, and the resolver in a file of their server.
const Resolver = "resolver 127.0.0.11;"

// Need is something that nginx misses.
type Need struct {
	Kind Kind
	Name string
}

// refusals are nginx's words for what it misses. The first group is the name.
var refusals = []struct {
	kind  Kind
	words *regexp.Regexp
}{
	{Host, regexp.MustCompile(`host not found in (?:upstream|resolver|set_real_ip_from) "([^":]+)`)},
	{Host, regexp.MustCompile(`host not found in "([^":]+)[^"]*" of the`)},
	{Host, regexp.MustCompile(`host not found in [a-z_ ]*"([^":]+)`)},
	{Key, regexp.MustCompile(`cannot load certificate key "([^"]+)": BIO_new_file`)},
	{Certificate, regexp.MustCompile(`cannot load certificate "([^"]+)": BIO_new_file`)},
	{Certificate, regexp.MustCompile(`SSL_CTX_load_verify_(?:locations|file)\("([^"]+)"\) failed`)},
	{Certificate, regexp.MustCompile(`SSL_load_client_CA_file\("([^"]+)"\) failed`)},
	{Parameters, regexp.MustCompile(`BIO_new_file\("([^"]+)"\) failed`)},
	{File, regexp.MustCompile(`open\(\) "([^"]+)" failed \(2: [^)]*\) in `)},
	{Folder, regexp.MustCompile(`(?:open|mkdir|bind|chmod)\(\) (?:to unix:)?"?([^" ]+)"? failed \((?:2|13|30): `)},
}

// statements are what the files around a part have, for nginx's words about it. The first group takes the place of NAME.
var statements = []struct {
	words     *regexp.Regexp
	statement string
}{
	{regexp.MustCompile(`no "ssl_certificate" is defined ()`), "ssl_certificate /etc/nginx/part.crt; ssl_certificate_key /etc/nginx/part.key;"},
	{regexp.MustCompile(`no port in upstream "([^"/:]+)"`), "upstream NAME { server 198.18.0.1:8080; }"},
	{regexp.MustCompile(`^unknown "([^"]+)" variable`), `map "" $NAME { default ""; }`},
	{regexp.MustCompile(`unknown log format "([^"]+)"`), `log_format NAME "$request";`},
	{regexp.MustCompile(`"(?:proxy_cache|fastcgi_cache)" zone "([^"]+)" is unknown`), "proxy_cache_path /tmp/NAME keys_zone=NAME:1m;"},
	{regexp.MustCompile(`zero size shared memory zone "([^"]+)"`), "limit_req_zone $binary_remote_addr zone=NAME:1m rate=1000r/s;"},
}

// MissingAround returns the statement around a part of a configuration that nginx misses, if it is known.
func MissingAround(refusal string) (Need, bool) {
	if strings.HasPrefix(refusal, `"resolver" directive is duplicate`) {
		return Need{Kind: NoResolver}, true
	}
	for _, s := range statements {
		if found := s.words.FindStringSubmatch(refusal); found != nil {
			return Need{Statement, strings.ReplaceAll(s.statement, "NAME", found[1])}, true
		}
	}
	return Need{}, false
}

// emergency matches the line that says why nginx refuses a configuration.
var emergency = regexp.MustCompile(`(?m)\[emerg\](?: \d+#\d+:)? (.*)$`)

// Refusal returns why nginx refuses a configuration, from its output.
func Refusal(output string) string {
	if found := emergency.FindStringSubmatch(output); found != nil {
		return found[1]
	}
	return strings.TrimSpace(output)
}

// Missing returns what would make nginx accept a configuration that it refuses with these words, if it is known.
func Missing(refusal string) (Need, bool) {
	for _, r := range refusals {
		found := r.words.FindStringSubmatch(refusal)
		if found == nil {
			continue
		}
		n := Need{r.kind, found[1]}
		if n.Kind == Folder {
			n.Name = path.Dir(n.Name)
		}
		return n, true
	}
	return Need{}, false
}

// location matches the file and the line at the end of nginx's words.
var location = regexp.MustCompile(` in /\S+:\d+$`)

// quotedWord matches a word of the configuration.
var quotedWord = regexp.MustCompile(`"[^"]*"`)

// Reason returns why a configuration cannot run here, without what is special about it, so that reasons can be counted.
func Reason(refusal string) string {
	refusal = location.ReplaceAllString(refusal, "")
	if strings.HasPrefix(refusal, "unknown directive") || strings.Contains(refusal, "is not allowed here") {
		return refusal
	}
	return quotedWord.ReplaceAllString(refusal, `"…"`)
}
