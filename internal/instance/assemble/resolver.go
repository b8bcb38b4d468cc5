package assemble

import (
	"fmt"
	"strings"
	"time"
)

// resolveAgain is how often nginx resolves an address again. Name servers of clusters return TTLs of up to 30 seconds,
// for which nginx would connect to pods that are gone.
const resolveAgain = 2 * time.Second

// resolver makes nginx use the name servers of the pod. Without a resolver, nginx refuses an upstream with a server that
// is to be resolved again.
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
