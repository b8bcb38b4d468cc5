// Command pause runs in a pod's sandbox: it holds the pod's namespaces and does nothing until it is
// terminated.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGINT, syscall.SIGTERM)
	<-ended
}
