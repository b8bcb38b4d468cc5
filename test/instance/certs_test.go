//go:build instance

package instance_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// pair returns the files of a Secret with a certificate that has the serial number.
func pair(t *testing.T, serial int64) map[string]string {
	t.Helper()
	return lasting(t, serial, -time.Hour, time.Hour, "shop.example.com")
}

// lasting returns the files of a Secret with a certificate that is valid from a time to another, counted from now.
func lasting(t *testing.T, serial int64, from, to time.Duration, host string) map[string]string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: time.Now().Add(from), NotAfter: time.Now().Add(to),
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	return map[string]string{
		"tls.crt": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})),
		"tls.key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
	}
}

// served returns the serial number of the certificate that nginx presents.
func (p *Pod) served() int64 {
	p.t.Helper()
	return p.presented("").SerialNumber.Int64()
}

// presented returns the certificate that nginx presents to clients of a host.
func (p *Pod) presented(host string) *x509.Certificate {
	p.t.Helper()
	conn, err := p.container.Dial(p.t.Context(), "tcp", "127.0.0.1:443")
	must(p.t, err)
	defer func() { _ = conn.Close() }()
	client := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, ServerName: host})
	ctx, cancel := context.WithTimeout(p.t.Context(), 5*time.Second)
	defer cancel()
	must(p.t, client.HandshakeContext(ctx))
	return client.ConnectionState().PeerCertificates[0]
}

// withCertificate starts a TLS site whose Secret has the files.
func withCertificate(t *testing.T, image string, files map[string]string) *Pod {
	t.Helper()
	p := newPod(t, map[string]string{"site.conf": tlsSite})
	p.mount(shop, files)
	return p.start(image, "--port=https:443/TCP", "--certificate=shop")
}

const (
	shop    = instanceapi.DirSecrets + "/shop"
	tlsSite = `server { listen 443 ssl; ssl_certificate /etc/nginx/tls/shop/tls.crt; ssl_certificate_key /etc/nginx/tls/shop/tls.key; location / { return 200 ok; } }`
)

func first(s instanceapi.Status) instanceapi.Certificate { return s.Certificates[0] }

func TestCertificates(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := withCertificate(t, image, nil)
		missing := p.until("missing", func(s instanceapi.Status) bool { return len(s.Revisions) > 0 && first(s).Error != "" })
		if !strings.Contains(first(missing).Error, "tls.crt and tls.key") || missing.Ready {
			t.Errorf("without a Secret: %+v", missing)
		}

		p.mount(shop, pair(t, 1))
		status := p.until("appears", func(s instanceapi.Status) bool { return s.Ready && first(s).Serial == "1" })
		if got := first(status); p.served() != 1 || got.Error != "" || got.NotAfter == nil || !slices.Equal(got.Listeners, []string{"0.0.0.0:443"}) {
			t.Errorf("certificate %+v", got)
		}

		start := time.Now()
		p.mount(shop, pair(t, 2))
		p.until("rotated", func(s instanceapi.Status) bool { return first(s).Serial == "2" && s.Reloads.Succeeded == 1 })
		t.Logf("rotated in %s", time.Since(start).Round(time.Millisecond))
		if p.served() != 2 {
			t.Error("nginx serves the old certificate")
		}
	})
}

func TestBadCertificateLeavesTheOldOne(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := withCertificate(t, image, pair(t, 2))
		p.until("good", func(s instanceapi.Status) bool { return s.Ready && first(s).Serial == "2" })
		stays := func(step string) {
			t.Helper()
			if p.served() != 2 {
				t.Errorf("%s: nginx serves another certificate than before", step)
			}
		}

		mixed := pair(t, 3)
		mixed["tls.key"] = pair(t, 4)["tls.key"]
		p.mount(shop, mixed)
		status := p.until("bad", func(s instanceapi.Status) bool { return first(s).Error != "" })
		if got := first(status); !status.Ready || got.Serial != "2" || !strings.Contains(got.Error, "match") {
			t.Errorf("with a bad pair: %+v", status)
		}
		stays("a bad pair")

		// A valid pair that nginx refuses: its key is too weak.
		p.mount(shop, weak(t))
		p.until("refused", func(s instanceapi.Status) bool { return strings.Contains(first(s).Error, "nginx refused it") })
		stays("a refused pair")

		p.mount(shop, pair(t, 5))
		p.until("good again", func(s instanceapi.Status) bool { return s.Ready && first(s).Serial == "5" && first(s).Error == "" })
		if p.served() != 5 {
			t.Error("nginx serves the old certificate")
		}
		if p.ready(); strings.Contains(p.output.String(), "PRIVATE KEY") {
			t.Error("a key is in the log")
		}
	})
}

// TestCertificateThatClientsReject: a pair that has expired, is not valid yet, or is for another host does not replace one
// that clients accept, also not after a restart of the container. The first pair is used in any case. What was not valid is
// used when it is, without any event, and what was for another host when the configuration has that host.
func TestCertificateThatClientsReject(t *testing.T) {
	const site = `server { listen 443 ssl; server_name %s; ssl_certificate /etc/nginx/tls/shop/tls.crt; ssl_certificate_key /etc/nginx/tls/shop/tls.key; location / { return 200 ok; } }`
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, map[string]string{"site.conf": fmt.Sprintf(site, "shop.example.com")})
		p.mount(shop, lasting(t, 1, -3*time.Hour, -2*time.Hour, "shop.example.com"))
		arguments := []string{"--port=https:443/TCP", "--certificate=shop"}
		p.start(image, arguments...)
		p.until("the first pair has expired", func(s instanceapi.Status) bool { return s.Ready && first(s).Serial == "1" && first(s).Error == "" })
		keeps := func(step string, serial int64, words string) {
			t.Helper()
			status := p.until(step, func(s instanceapi.Status) bool { return s.Ready && strings.Contains(first(s).Error, words) })
			if got := first(status); got.Serial != fmt.Sprint(serial) || p.served() != serial {
				t.Errorf("%s: nginx serves %d, and the report is %+v", step, p.served(), got)
			}
		}
		p.mount(shop, lasting(t, 2, -time.Hour, time.Hour, "shop.example.com"))
		p.until("a valid one", func(s instanceapi.Status) bool { return first(s).Serial == "2" && s.Ready })
		p.mount(shop, lasting(t, 3, -3*time.Hour, -2*time.Hour, "shop.example.com"))
		keeps("an expired one", 2, "the certificate expired on")
		p.mount(shop, lasting(t, 4, -time.Hour, time.Hour, "blog.example.com"))
		keeps("one of another host", 2, "is not for shop.example.com")
		p.crash()
		p.start(image, arguments...)
		keeps("after a restart", 2, "is not for shop.example.com")
		p.serves(p.roll(map[string]string{"site.conf": fmt.Sprintf(site, "blog.example.com")}))
		p.until("the configuration has the other host", func(s instanceapi.Status) bool { return first(s).Serial == "4" && first(s).Error == "" && s.Ready })
		begins := time.Now().Add(15 * time.Second)
		p.mount(shop, lasting(t, 5, time.Until(begins), time.Hour, "blog.example.com"))
		keeps("one that is not valid yet", 4, "is not valid before")
		time.Sleep(time.Until(begins))
		p.until("it is valid", func(s instanceapi.Status) bool { return first(s).Serial == "5" && first(s).Error == "" && s.Ready })
	})
}

// reportsOnlyShop fails the test unless the pair of shop is reported as good, and that of blog as bad.
func reportsOnlyShop(t *testing.T, step string, certificates []instanceapi.Certificate) {
	t.Helper()
	of := map[string]instanceapi.Certificate{}
	for _, c := range certificates {
		of[c.Name] = c
	}
	if of["blog"].Error == "" || of["blog"].NotAfter != nil || of["shop"].Error != "" || of["shop"].Serial != "7" {
		t.Errorf("%s: the certificates are %+v", step, certificates)
	}
}

// TestStartWithoutOneOfTheCertificates: a new pod whose Secret of one host is bad serves the other hosts. Clients reject the
// connections to the host until its Secret is good. A container that restarts meanwhile does the same.
func TestStartWithoutOneOfTheCertificates(t *testing.T) {
	const blog = instanceapi.DirSecrets + "/blog"
	const conf = `server { listen 443 ssl; server_name shop.example.com; ssl_certificate tls/shop/tls.crt; ssl_certificate_key tls/shop/tls.key; location / { return 200 shop; } }
server { listen 443 ssl; server_name blog.example.com; ssl_certificate tls/blog/tls.crt; ssl_certificate_key tls/blog/tls.key; location / { return 200 blog; }
  ssl_client_certificate tls/blog/ca.crt; ssl_trusted_certificate tls/blog/chain.pem; ssl_verify_client on; }
server { listen 80; location / { return 200 plain; } }`
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, map[string]string{"site.conf": conf})
		p.mount(shop, pair(t, 7))
		chain := pair(t, 9)["tls.crt"]
		p.mount(blog, map[string]string{"tls.crt": "no certificate", "tls.key": "no key", "chain.pem": chain})
		arguments := []string{"--port=https:443/TCP", "--port=http:80/TCP", "--certificate=shop", "--certificate=blog"}
		for _, step := range []string{"a new pod", "after a restart"} {
			p.start(image, arguments...)
			status := p.until(step, func(s instanceapi.Status) bool { return s.Ready })
			reportsOnlyShop(t, step, status.Certificates)
			if c := p.presented("shop.example.com"); c.SerialNumber.Int64() != 7 {
				t.Errorf("%s: shop presents %v", step, c.Subject)
			}
			if c := p.presented("blog.example.com"); time.Now().Before(c.NotAfter) || c.VerifyHostname("blog.example.com") == nil {
				t.Errorf("%s: clients may accept the certificate of blog: %v", step, c.Subject)
			}
			p.body(80, "plain")
			if step == "a new pod" {
				p.crash()
			}
		}
		renewed := lasting(t, 8, -time.Hour, time.Hour, "blog.example.com")
		renewed["ca.crt"], renewed["chain.pem"] = chain, chain
		p.mount(blog, renewed)
		p.until("the Secret is good", func(s instanceapi.Status) bool {
			return s.Certificates[0].Serial == "8" && s.Certificates[0].Error == ""
		})
		if c := p.presented("blog.example.com"); c.SerialNumber.Int64() != 8 {
			t.Errorf("blog presents %v", c.Subject)
		}
	})
}

// TestConnectionsSurviveRotation: a connection survives the rotation of a certificate.
func TestConnectionsSurviveRotation(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := withCertificate(t, image, pair(t, 1))
		p.ready()
		conn, err := p.container.Dial(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", "443"))
		must(t, err)
		defer func() { _ = conn.Close() }()
		client := tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
		must(t, client.HandshakeContext(t.Context()))
		_, err = client.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n"))
		must(t, err)
		p.mount(shop, pair(t, 2))
		p.until("rotated", func(s instanceapi.Status) bool { return s.Certificates[0].Serial == "2" && s.Reloads.Succeeded == 1 })
		_, err = client.Write([]byte("Connection: close\r\n\r\n"))
		must(t, err)
		answer := make([]byte, 12)
		if _, err := client.Read(answer); err != nil || string(answer) != "HTTP/1.1 200" {
			t.Errorf("a request that began before the rotation got %q (%v)", answer, err)
		}
	})
}
