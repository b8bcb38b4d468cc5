package certs

// Retry makes certificates that nginx refused due again, because nginx may accept them with another configuration.
func (k *Keeper) Retry() {
	for _, s := range k.state {
		if s.refused != "" {
			s.refused, s.version = "", ""
		}
	}
}
