package pods

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/instanceapi"
)

// maxStreamError bounds what is read of an error.
const maxStreamError = 4 << 10

// dial connects to the port of the instance in a pod. Unlike the listener of kubectl port-forward, no other user of this
// machine can use the connection.
func (c *Client) dial(ctx context.Context, pod client.ObjectKey) (net.Conn, error) {
	dialer, err := newDialer(c.config, c.rest.Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("portforward").URL())
	if err != nil {
		return nil, err
	}
	connection, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, c.explainForward(ctx, pod, err)
	}
	conn, err := open(connection)
	if err != nil {
		_ = connection.Close()
		return nil, fmt.Errorf("forward a port to pod %s: %w", pod.Name, err)
	}
	if ctx.Err() != nil {
		_ = conn.Close()
		return nil, ctx.Err()
	}
	return conn, nil
}

// explainForward returns why a port cannot be forwarded. The error of an upgrade does not have the status of the API server.
func (c *Client) explainForward(ctx context.Context, pod client.ObjectKey, err error) error {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
		Namespace: pod.Namespace, Verb: "create", Resource: "pods", Subresource: "portforward", Name: pod.Name,
	}}}
	path := "/apis/" + authorizationv1.SchemeGroupVersion.String() + "/selfsubjectaccessreviews"
	if failed := c.rest.Post().AbsPath(path).Body(review).Do(ctx).Into(review); failed == nil && !review.Status.Allowed {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "pods/portforward"}, pod.Name, errors.New("you may not create it"))
	}
	return fmt.Errorf("forward a port to pod %s: %w", pod.Name, err)
}

// newDialer returns a dialer that uses a WebSocket, or SPDY with API servers and proxies that refuse WebSockets.
func newDialer(config *rest.Config, address *url.URL) (httpstream.Dialer, error) {
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	viaWebSocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(address, config)
	if err != nil {
		return nil, err
	}
	viaSPDY := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, address)
	return portforward.NewFallbackDialerForStreaming(viaWebSocket, viaSPDY, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

// open opens the two streams of a forwarded connection: one for errors, one for data.
func open(connection httpstream.Connection) (net.Conn, error) {
	headers := http.Header{}
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	headers.Set(corev1.PortHeader, strconv.Itoa(instanceapi.Port))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	failures, err := connection.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	// Nothing is written to it.
	_ = failures.Close()
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := connection.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	conn := &streamConn{Stream: data, connection: connection, failed: make(chan error, 1)}
	go conn.watch(failures)
	return conn, nil
}

// streamConn is a forwarded connection. Deadlines have no effect: the context of a request ends it.
type streamConn struct {
	httpstream.Stream
	connection httpstream.Connection
	// failed holds what the kubelet reports, such as that nothing listens on the port.
	failed chan error
}

func (c *streamConn) watch(failures io.Reader) {
	message, err := io.ReadAll(io.LimitReader(failures, maxStreamError))
	if len(message) > 0 {
		err = errors.New(string(message))
	}
	c.failed <- err
	if err != nil {
		_ = c.connection.Close()
	}
}

// Read implements net.Conn.
func (c *streamConn) Read(p []byte) (int, error) {
	n, err := c.Stream.Read(p)
	if err != nil && n == 0 {
		select {
		case failed := <-c.failed:
			if failed != nil {
				err = failed
			}
		default:
		}
	}
	return n, err
}

// Close implements net.Conn.
func (c *streamConn) Close() error {
	return errors.Join(c.Stream.Close(), c.connection.Close())
}

// LocalAddr implements net.Conn.
func (c *streamConn) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr implements net.Conn.
func (c *streamConn) RemoteAddr() net.Addr { return &net.TCPAddr{Port: instanceapi.Port} }

// SetDeadline implements net.Conn.
func (c *streamConn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (c *streamConn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (c *streamConn) SetWriteDeadline(time.Time) error { return nil }
