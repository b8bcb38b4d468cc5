package assemble

import (
	"fmt"
	"strings"
	"time"
)

// resolveAgain is how often nginx asks for an address again. Name servers of clusters tell times of up to 30 seconds,
// for which nginx would connect to pods that are gone.
const resolveAgain = 2 * time.Second

// resolver makes nginx ask the name servers of the pod. Without a resolver, nginx refuses an upstream that asks again for
// the addresses of a server.
func resolver(nameServers []string) string {
	addresses := make([]string, 0, len(nameServers))
	for _, address := range nameServers {
		if strings.Contains(address, ":") {
			address = "[" + address + "]"
		}
		addresses = append(addresses, address)
	}
	return fmt.Sprintf("resolver %s valid=%ds", strings.Join(addresses, " "), int(resolveAgain.Seconds()))
}
