// Package dns takes the place of the package with all DNS providers of lego: it has none.
package dns

import (
	"fmt"

	"github.com/go-acme/lego/v5/challenge"
)

// NewDNSChallengeProviderByName returns an error, whatever the provider.
func NewDNSChallengeProviderByName(name string) (challenge.Provider, error) {
	return nil, fmt.Errorf("this build of Traefik has no DNS providers, so not %q", name)
}
