//go:build instance && importset

package instance_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/nginx-operator/test/importset"
	"example.com/nginx-operator/test/standin/container"
)

// startEcho starts the backend of everything.
func (m *machine) startEcho() {
	m.t.Helper()
	text, key, err := importset.CertificateOf(1)
	must(m.t, err)
	certificate, err := tls.X509KeyPair([]byte(text), []byte(key))
	must(m.t, err)
	m.echo = importset.NewEcho(certificate)
	m.t.Cleanup(func() { must(m.t, m.echo.Close()) })
}

// serveSocket answers at a unix socket.
func (m *machine) serveSocket(socket string) {
	m.t.Helper()
	folder := path.Dir(socket)
	if !path.IsAbs(socket) || folder == "/" {
		return
	}
	m.makeWritable(folder)
	file := filepath.Join(m.writable[folder], path.Base(socket))
	if _, err := os.Stat(file); err == nil || len(file) > 100 {
		return
	}
	listener, err := net.Listen("unix", file)
	must(m.t, err)
	must(m.t, os.Chmod(file, 0o777))
	m.t.Cleanup(func() { _ = listener.Close() })
	go m.echo.Serve(listener)
	mount := container.Mount{From: m.writable[folder], To: folder}
	if !slices.Contains(m.sockets, mount) {
		m.sockets = append(m.sockets, mount)
	}
}

// The ports at which backends and the name server answer in a container.
const (
	echoPort = 61080
	namePort = 61053
)

// serveBackends lets every address that nginx connects to, and every name, be one of the echo. Addresses of the
// configuration itself stay.
func (m *machine) serveBackends(c *container.Container) {
	m.t.Helper()
	own := []string{"9113"}
	for _, port := range slices.Sorted(maps.Keys(m.listens)) {
		own = append(own, strconv.Itoa(port))
	}
	rules := fmt.Sprintf(`table ip backends {
  chain output {
    type nat hook output priority -100;
    meta skuid != %d return
    udp dport 53 redirect to :%d
    ip daddr 127.0.0.0/8 tcp dport { %s } return
    ip protocol tcp redirect to :%d
  }
}`, container.User, namePort, strings.Join(own, ", "), echoPort)
	m.setAddresses(c)
	must(m.t, c.Inside(func() error {
		if err := command(rules, "nft", "-f", "-"); err != nil {
			return err
		}
		listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", echoPort))
		if err != nil {
			return err
		}
		m.t.Cleanup(func() { _ = listener.Close() })
		go m.echo.Serve(listener)
		names, err := net.ListenPacket("udp4", fmt.Sprintf("127.0.0.1:%d", namePort))
		if err != nil {
			return err
		}
		m.t.Cleanup(func() { _ = names.Close() })
		go importset.ServeNames(names)
		return nil
	}))
}

// setAddresses gives a container every address.
func (m *machine) setAddresses(c *container.Container) {
	m.t.Helper()
	must(m.t, c.Inside(func() error {
		return errors.Join(command("", "ip", "link", "set", "lo", "up"), command("", "ip", "route", "replace", "local", "0.0.0.0/0", "dev", "lo"))
	}))
}

// command runs a program of this machine with an input.
func command(input, program string, arguments ...string) error {
	run := exec.Command(program, arguments...)
	run.Stdin = strings.NewReader(input)
	if output, err := run.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w: %s", program, arguments, err, output)
	}
	return nil
}

// waitFor waits until something listens at an address of a container.
func waitFor(c *container.Container, address string) error {
	deadline := time.Now().Add(patience)
	for {
		var conn net.Conn
		err := c.Inside(func() (err error) {
			conn, err = net.DialTimeout("tcp4", address, time.Second)
			return err
		})
		if err == nil {
			return conn.Close()
		}
		select {
		case <-c.Ended():
			return fmt.Errorf("it has ended: %v", c.State())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return err
		}
	}
}
