package revision

import (
	"fmt"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/podtemplate"
)

// trust returns the file by which pods recognize the operator's orders; empty if their template takes none. While the
// operator does not know its keys, those in the file stay.
func (p *progress) trust() (string, error) {
	if !podtemplate.TakesOrders(p.selection.Run.Template) {
		return "", nil
	}
	trust := instanceapi.Trust{Application: p.application(), Keys: p.Keys, Follow: p.Rollout.Follow}
	if len(trust.Keys) == 0 {
		if trust.Keys = p.liveTrust().Keys; len(trust.Keys) == 0 {
			return "", nil
		}
	}
	text, err := trust.Text()
	if err != nil {
		return "", fmt.Errorf("encode the operator's public keys: %w", err)
	}
	return text, nil
}

// clockTolerance is how far the clock of another operator may be ahead.
const clockTolerance = time.Hour

// following returns what pods may load without an order now; nil if there is nothing. One of the future was not written
// by an operator.
func (p *progress) following() *instanceapi.Follow {
	follow := p.liveTrust().Follow
	if follow != nil && time.UnixMilli(follow.Number).After(p.Now.Add(clockTolerance)) {
		return nil
	}
	return follow
}

// liveTrust returns the file as it is; zero if there is none, or if it cannot be read.
func (p *progress) liveTrust() instanceapi.Trust {
	live := p.State.Config(naming.ConfigMapNext(p.Nginx.Name))
	if live == nil {
		return instanceapi.Trust{}
	}
	trust, err := instanceapi.ParseTrust(string(live.BinaryData[instanceapi.FileTrust]))
	if err != nil {
		return instanceapi.Trust{}
	}
	return trust
}

// application identifies the application in orders.
func (p *progress) application() instanceapi.Application {
	return instanceapi.Application{Namespace: p.Nginx.Namespace, Name: p.Nginx.Name, UID: string(p.Nginx.UID)}
}
