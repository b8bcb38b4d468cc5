package supervisor

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// forward connects the clients of the listener, which is on the machine's loopback interface, to
// the address, which is in the cluster's network. It continues until the listener is closed, since
// an error may affect only one connection.
func forward(listener net.Listener, address string) {
	for {
		outside, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			fmt.Println("forwarding:", err)
			time.Sleep(100 * time.Millisecond)
			continue
		}
		go func() {
			if err := proxyConn(outside, address); err != nil {
				fmt.Println("forwarding:", err)
			}
		}()
	}
}

func proxyConn(outside net.Conn, address string) error {
	inside, err := net.Dial("tcp", address)
	if err != nil {
		return errors.Join(err, outside.Close())
	}
	var both sync.WaitGroup
	both.Go(func() { copyHalf(inside, outside) })
	both.Go(func() { copyHalf(outside, inside) })
	both.Wait()
	return errors.Join(outside.Close(), inside.Close())
}

// copyHalf copies one direction, and closes it at its end: the other direction may continue. If the
// connection breaks, it closes both ends, so that both sides notice.
func copyHalf(to, from net.Conn) {
	_, copyErr := io.Copy(to, from)
	closeErr := to.(*net.TCPConn).CloseWrite()
	if copyErr != nil || closeErr != nil {
		_ = to.Close()
		_ = from.Close()
	}
}
