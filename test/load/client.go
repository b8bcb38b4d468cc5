package load

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// failurePause limits the rate of a client whose requests fail at once.
const failurePause = 20 * time.Millisecond

// client sends one request after the other.
type client struct {
	run    *Run
	kind   Clients
	target string
	secure *tls.Config
	// request is what http.ReadResponse needs, and wire is the same request as bytes.
	request *http.Request
	wire    text
	expect  expectation
	choose  chooser
	// buffer is that of the last request.
	buffer []byte

	// conn is nil if the next request needs a new connection.
	conn   net.Conn
	source *source
	reader *bufio.Reader
	serial string
}

// source remembers how reading from a connection ended, because net/http reports truncated headers
// as malformed.
type source struct {
	net.Conn
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	s.err = err
	return n, err
}

func newClient(r *Run, kind Clients, target string, secure *tls.Config, number int, choose chooser) (*client, error) {
	c := &client{run: r, kind: kind, target: target, choose: choose}
	if secure != nil {
		c.secure = secure.Clone()
		c.secure.ServerName = r.options.serverName(target)
	}
	body := requestBody(kind.BodyBytes, number)
	var content io.Reader
	if len(body) > 0 || kind.Method == http.MethodPost {
		content = bytes.NewReader(body)
	}
	request, err := http.NewRequest(kind.Method, "http://"+target+kind.Path, content)
	if err != nil {
		return nil, err
	}
	request.Host = r.options.host(target)
	request.Close = !kind.KeepAlive
	request.Header.Set("User-Agent", "nginx-load")
	var wire bytes.Buffer
	if err := request.Write(&wire); err != nil {
		return nil, err
	}
	c.request, c.wire = request, strings.Split(wire.String(), url.PathEscape(placeholder))
	c.expect = newExpectation(kind, r.options.RevisionHeader, len(body), crc32.ChecksumIEEE(body))
	return c, nil
}

// requestBody returns a text that differs between clients.
func requestBody(length, number int) []byte {
	text := strings.Repeat("0123456789abcdefghijklmnopqrstuvwxyz", length/36+1)
	body := []byte(text[:length])
	for i := 0; i < len(body) && number > 0; i++ {
		body[i] = byte('A' + number%26)
		number /= 26
	}
	return body
}

// loop sends requests until ctx ends or there are no more to send, at most one per pace.
func (c *client) loop(ctx context.Context, delay, pace time.Duration) {
	defer c.close()
	next := time.Now().Add(delay)
	for n := 1; wait(ctx, time.Until(next)); n++ {
		object, more := c.choose()
		if !more {
			return
		}
		pause := c.kind.Think
		if failed := c.once(object); failed {
			pause = max(pause, failurePause)
		}
		if n == c.kind.Requests {
			return
		}
		// Count from the due time, so that late wake-ups do not add up. Missed requests are not
		// made up for in a burst.
		next = next.Add(pace)
		if earliest := time.Now().Add(pause); earliest.After(next) {
			next = earliest
		}
	}
}

// wait waits for d. It returns false if ctx has ended.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// once makes one request and records the outcome.
func (c *client) once(object int) (failed bool) {
	o := outcome{kind: c.kind.Name, target: c.target, object: object, start: time.Now()}
	answer, failure := c.send(object, o.start.Add(c.run.options.Timeout))
	o.revision, o.failure, o.closing, o.cached = answer.revision, failure, answer.closing, answer.cached
	if failure == nil && !c.run.known.has(answer.revision) {
		o.failure = &Failure{Kind: UnknownRevision, Text: "the answer is of revision " + answer.revision + ", which was not submitted"}
	}
	o.serial = c.serial
	o.took = time.Since(o.start)
	c.run.stats.record(o)
	if o.failure != nil || answer.closing || !c.kind.KeepAlive {
		c.close()
	}
	return o.failure != nil
}

// send sends the request and reads the response, without a retry.
func (c *client) send(object int, deadline time.Time) (answer, *Failure) {
	if c.conn != nil && c.kind.NoticeClose && ended(c.conn) {
		c.close()
	}
	if c.conn == nil {
		if failure := c.connect(deadline); failure != nil {
			return answer{}, failure
		}
	}
	if err := c.conn.SetDeadline(deadline); err != nil {
		return answer{}, classify(err, EOF)
	}
	c.buffer = c.wire.append(c.buffer[:0], object)
	if _, err := c.conn.Write(c.buffer); err != nil {
		return answer{}, classify(err, EOF)
	}
	if _, err := c.reader.Peek(1); err != nil {
		return answer{}, classify(err, EOF)
	}
	a, failure := c.expect.read(c.reader, c.request, object)
	if failure != nil && failure.Kind == Malformed && c.source.err != nil {
		failure = classify(c.source.err, Malformed)
	}
	return a, failure
}

func (c *client) connect(deadline time.Time) *Failure {
	dialer := net.Dialer{Deadline: deadline}
	conn, err := dialer.Dial("tcp", c.target)
	if err != nil {
		return classify(err, Connect)
	}
	c.run.stats.connected()
	if c.secure != nil {
		secured := tls.Client(conn, c.secure)
		_ = conn.SetDeadline(deadline)
		if err := secured.Handshake(); err != nil {
			_ = conn.Close()
			return classify(err, Handshake)
		}
		c.serial = secured.ConnectionState().PeerCertificates[0].SerialNumber.Text(16)
		conn = secured
	}
	c.conn, c.source = conn, &source{Conn: conn}
	c.reader = bufio.NewReader(c.source)
	return nil
}

func (c *client) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}
