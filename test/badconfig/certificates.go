package badconfig

import (
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"strings"
	"time"
)

func certificates() []sort {
	return []sort{
		{"certificate-missing", missingCertificates()},
		{"certificate-without-key", certificatesWithoutKey()},
		{"certificate-not-matching", notMatching()},
		{"certificate-malformed", malformedCertificates()},
		{"invalid-tls", invalidTLS()},
	}
}

// pair returns a certificate and its key. They are the same for each call.
func pair(number byte) (certificate, key string) {
	private := ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune('a'+number)), ed25519.SeedSize)))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(int64(number) + 1),
		Subject:      pkix.Name{CommonName: "shop.test"},
		DNSNames:     []string{"shop.test"},
		NotBefore:    time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:     time.Date(2120, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	// An Ed25519 signature needs no random data.
	raw, err := x509.CreateCertificate(nil, template, template, private.Public(), private)
	if err != nil {
		panic("badconfig: the template of a certificate is good: " + err.Error())
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		panic("badconfig: the key is good: " + err.Error())
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

// secure returns a server with TLS and a healthy one. The certificates are flat files of the
// configuration; extra are more files of the case.
func secure(i int, certificate, key string, extra map[string]string) map[string]string {
	text := fmt.Sprintf("%sserver {\n    listen 8443 ssl;\n    ssl_certificate %s;\n    ssl_certificate_key %s;\n}\n", padding(i), certificate, key)
	files := map[string]string{fileNames[i%len(fileNames)]: text, "healthy.conf": healthy}
	maps.Copy(files, extra)
	return files
}

// missingCertificates: nginx names no line for a certificate that it cannot load.
func missingCertificates() []Case {
	certificate, key := pair(0)
	var cases []Case
	for i, path := range []string{"/etc/nginx/tls/shop/tls.crt", "missing.pem", "/etc/ssl/certs/missing.pem", "/no/such/folder/a.pem", "data:nonsense"} {
		cases = append(cases, found(secure(i, path, "shop.key", map[string]string{"shop.key": key}), "cannot load certificate"))
	}
	for i, path := range []string{"/etc/nginx/tls/shop/tls.key", "missing.key", "/no/such/folder/a.key", "engine:none:key", "/etc/ssl/private/a.key"} {
		cases = append(cases, found(secure(i, "shop.pem", path, map[string]string{"shop.pem": certificate}), "cannot load certificate key"))
	}
	return cases
}

// certificatesWithoutKey: nginx names the server, or no place.
func certificatesWithoutKey() []Case {
	const message = `no "ssl_certificate" is defined for the "listen ... ssl" directive`
	var cases []Case
	for i, listen := range []string{"8443 ssl", "127.0.0.1:8443 ssl", "8080 ssl", "[::]:8443 ssl", "8443 ssl default_server", "unix:/tmp/a.sock ssl"} {
		text := fmt.Sprintf("%s%sserver {\n    listen %s;\n}\n", padding(i), mark, listen)
		cases = append(cases, found(map[string]string{fileNames[i%len(fileNames)]: text}, message))
	}
	certificate, _ := pair(0)
	for i := range 3 {
		text := fmt.Sprintf("%sserver {\n    listen 8443 ssl;\n    ssl_certificate shop.pem;\n}\n", padding(3*i))
		cases = append(cases, found(map[string]string{fileNames[i]: text, "shop.pem": certificate, "healthy.conf": healthy}, `no "ssl_certificate_key" is defined`))
	}
	// Write both on one line, because versions of nginx name the one or the other.
	return append(cases, found(inStream(2, mark+"server { listen 9000 ssl;\n    return a;\n}"), message))
}

// notMatching: the key belongs to another certificate.
func notMatching() []Case {
	var cases []Case
	for i := range 10 {
		certificate, _ := pair(byte(i))
		_, key := pair(byte(i + 1))
		name := fmt.Sprintf("shop-%d", i)
		c := found(secure(i, name+".pem", name+".key", map[string]string{name + ".pem": certificate, name + ".key": key}), "key values mismatch")
		cases = append(cases, c)
	}
	return cases
}

func malformedCertificates() []Case {
	good, key := pair(0)
	cut := good[:len(good)/2]
	swapped := strings.ToLower(good[30:80])
	var cases []Case
	for i, text := range []string{"", "not PEM\n", cut, strings.Replace(good, good[30:80], swapped, 1), strings.ReplaceAll(good, "CERTIFICATE", "BANANA"), key, "-----BEGIN CERTIFICATE-----\n"} {
		cases = append(cases, found(secure(i, "shop.pem", "shop.key", map[string]string{"shop.pem": text, "shop.key": key}), "cannot load certificate \""))
	}
	for i, text := range []string{"", "not PEM\n", key[:len(key)/2], good, "-----BEGIN PRIVATE KEY-----\n"} {
		cases = append(cases, found(secure(i, "shop.pem", "shop.key", map[string]string{"shop.pem": good, "shop.key": text}), "cannot load certificate key"))
	}
	return cases
}

func invalidTLS() []Case {
	return append(each(inServer,
		fault{mark + "ssl_protocols TLSv9;", `invalid value "TLSv9"`}, fault{mark + "ssl_protocols ssl4 TLSv1.3;", `invalid value "ssl4"`},
		fault{mark + "ssl_session_cache shared;", "invalid session cache"}, fault{mark + "ssl_session_cache shared:a;", "invalid session cache"},
		fault{mark + "ssl_session_cache forever;", "invalid session cache"}, fault{mark + "ssl_verify_client perhaps;", `invalid value "perhaps"`},
		fault{mark + "ssl_prefer_server_ciphers yes;", `invalid value "yes"`}, fault{mark + "ssl_session_timeout long;", `"ssl_session_timeout" directive invalid value`},
		fault{mark + "ssl_session_cache shared:a:1k;", "is too small"}),
		each(inLocation, fault{mark + "proxy_ssl_protocols TLSv0;", `invalid value "TLSv0"`}, fault{mark + "proxy_ssl_verify 1;", `invalid value "1"`})...)
}
