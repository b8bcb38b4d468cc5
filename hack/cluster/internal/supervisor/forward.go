package supervisor

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// forward connects whoever connects to the listener, which is on the machine's
// loopback, to the address, which is in the cluster's network. It goes on until
// the listener is closed: an error may be about one connection only.
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
			if err := join(outside, address); err != nil {
				fmt.Println("forwarding:", err)
			}
		}()
	}
}

func join(outside net.Conn, address string) error {
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

// copyHalf passes on one direction, and its end: the other may go on. A broken
// connection is the business of those who talk over it; both ends are told.
func copyHalf(to, from net.Conn) {
	_, copyErr := io.Copy(to, from)
	closeErr := to.(*net.TCPConn).CloseWrite()
	if copyErr != nil || closeErr != nil {
		_ = to.Close()
		_ = from.Close()
	}
}
