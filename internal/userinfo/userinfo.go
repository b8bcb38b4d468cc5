// Package userinfo hides the user and the password of a URL or an address in texts that others may read.
package userinfo

import (
	"regexp"
	"strings"
)

// pattern matches user:password@ in an address that nginx quotes, in a URL, and by itself. A password may begin with a slash, but by
// itself not with two, which follow a scheme. What a match keeps is in the first two groups. The third one tells the digest of an
// image from a host.
var pattern = regexp.MustCompile(`(?:` + strings.Join([]string{
	`(in upstream ")[^"]*:[^"]*@`,
	`([a-zA-Z][\w+.-]*://)[^\s"'/:@]*:[^\s"']+@`,
	`[^\s"'/:@]*:(?:[^\s"'/@][^\s"']*|/(?:[^\s"'/][^\s"']*)?)@`,
}, "|") + `)(sha\d+:)?`)

// Hide replaces each user with a password by a mask. nginx quotes addresses with them, such as
// `invalid port in upstream "user:password@host"`.
func Hide(text, mask string) string {
	if !strings.Contains(text, "@") {
		return text
	}
	return pattern.ReplaceAllStringFunc(text, func(found string) string {
		groups := pattern.FindStringSubmatch(found)
		if groups[3] != "" {
			return found
		}
		return groups[1] + groups[2] + mask + "@"
	})
}
