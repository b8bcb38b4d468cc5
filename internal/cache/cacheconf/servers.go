package cacheconf

import "example.com/nginx-operator/api/cache/v1alpha1"

// server is a server of an edge: that for http, with the certificate for all hosts, or one for a certificate with hosts.
// nginx chooses a certificate by the server.
type server struct {
	HTTP bool
	// Hosts are empty if it answers all requests that no other server answers.
	Hosts []string
	// Certificate is the name of the certificate; empty if the server does not serve https.
	Certificate string
}

// servers returns the servers of an edge, the default one first.
func servers(certificates []v1alpha1.Certificate) []server {
	all := []server{{HTTP: true}}
	for _, c := range certificates {
		if len(c.Hosts) == 0 {
			all[0].Certificate = c.Name
			continue
		}
		all = append(all, server{Hosts: c.Hosts, Certificate: c.Name})
	}
	return all
}
