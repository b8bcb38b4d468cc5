package certs

// Retry forgets what nginx refused: with another configuration it may take it.
func (k *Keeper) Retry() {
	for _, s := range k.state {
		if s.refused != "" {
			s.refused, s.version = "", ""
		}
	}
}
