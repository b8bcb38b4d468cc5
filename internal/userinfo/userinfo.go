// Package userinfo hides the user and the password of a URL or an address in texts that others may read.
package userinfo

import (
	"regexp"
	"strings"
)

// pattern matches user:password@ with or without a scheme. The scheme is the first group. The second group tells the digest
// of an image from a host.
var pattern = regexp.MustCompile(`((?:[a-zA-Z][\w+.-]*://)?)[^\s"'/:@]*:[^\s"'/@][^\s"']*@(sha\d+:)?`)

// Hide replaces each user with a password by a mask. nginx quotes addresses with them, such as
// `invalid port in upstream "user:password@host"`.
func Hide(text, mask string) string {
	if !strings.Contains(text, "@") {
		return text
	}
	return pattern.ReplaceAllStringFunc(text, func(found string) string {
		groups := pattern.FindStringSubmatch(found)
		if groups[2] != "" {
			return found
		}
		return groups[1] + mask + "@"
	})
}
