// Package must ends tests whose preparation fails. It is for the tests of the backup packages, and
// independent of Kubernetes like most of them.
package must

import "testing"

// Succeed ends a test if there is an error.
func Succeed(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
