package certs

import (
	"crypto/x509"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// reasonToKeep returns why nginx keeps the pair that it uses instead of the one that the Secret contains now, or "" if it
// uses the new one. hosts are the server names that clients may request.
//
// A pair that clients accept is never replaced by one that they reject: that has expired, is not valid yet, or is not for
// one of the hosts that the used pair is for. Once clients reject the used pair too, nginx uses the one that they will
// accept earlier or, if both have expired, the one that expired later.
//
// The answer changes with the time, so it has to be asked for again.
func reasonToKeep(used, next *x509.Certificate, hosts []string, now time.Time) string {
	if used == nil {
		return ""
	}
	switch usedAge, nextAge := ageOf(used, now), ageOf(next, now); {
	case usedAge == valid && nextAge == valid:
		return lostHosts(used, next, hosts)
	case takesOver(used, next, now):
		return ""
	case nextAge == expired:
		return fmt.Sprintf("the certificate expired on %s: nginx keeps using the previous one, which %s. Renew the Secret", show(next.NotAfter), lifetime(used, now))
	default:
		return fmt.Sprintf("the certificate is not valid before %s: nginx keeps using the previous one until then", show(next.NotBefore))
	}
}

// takesOver reports whether nginx uses the next certificate because of the lifetimes, if they are not both valid.
func takesOver(used, next *x509.Certificate, now time.Time) bool {
	switch usedAge, nextAge := ageOf(used, now), ageOf(next, now); {
	case nextAge == valid || usedAge == expired && nextAge == early:
		return true
	case usedAge != nextAge:
		return false
	default:
		return usedAge == early || !next.NotAfter.Before(used.NotAfter)
	}
}

// age is where a time is in the lifetime of a certificate.
type age int

const (
	early age = iota
	valid
	expired
)

func ageOf(c *x509.Certificate, now time.Time) age {
	switch {
	case now.Before(c.NotBefore):
		return early
	case now.After(c.NotAfter):
		return expired
	}
	return valid
}

// lifetime describes when a certificate is valid.
func lifetime(c *x509.Certificate, now time.Time) string {
	switch ageOf(c, now) {
	case early:
		return "becomes valid on " + show(c.NotBefore)
	case expired:
		return "expired on " + show(c.NotAfter)
	default:
		return "is valid until " + show(c.NotAfter)
	}
}

func show(t time.Time) string { return t.UTC().Format(time.DateTime + " UTC") }

// shownHosts bounds the number of hosts in a message.
const shownHosts = 3

// lostHosts returns a message if the used certificate is for hosts that the next one is not for.
func lostHosts(used, next *x509.Certificate, hosts []string) string {
	var lost []string
	for _, host := range hosts {
		if isFor(used, host) && !isFor(next, host) && !slices.Contains(lost, host) {
			lost = append(lost, host)
		}
	}
	if len(lost) == 0 {
		return ""
	}
	names := strings.Join(lost[:min(len(lost), shownHosts)], ", ")
	if n := len(lost) - shownHosts; n > 0 {
		names += fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("the certificate is not for %s, which the configuration serves with it: nginx keeps using the previous one. "+
		"Put a certificate for all server names into the Secret, or remove the others from server_name", names)
}

// isFor reports whether clients accept a certificate for a server name. Names that no client requests as they are, such as
// regular expressions, are for no certificate.
func isFor(c *x509.Certificate, name string) bool {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if base, ok := strings.CutPrefix(name, "."); ok {
		return isFor(c, base) && isFor(c, "*."+base)
	}
	if strings.HasPrefix(name, "*.") {
		return slices.ContainsFunc(c.DNSNames, func(of string) bool { return strings.EqualFold(of, name) })
	}
	if address, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		name = address.String()
	}
	return name != "" && c.VerifyHostname(name) == nil
}
