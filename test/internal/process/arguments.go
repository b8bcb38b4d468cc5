package process

// Image stands for nginx and for the instance manager where no pod runs either.
const Image = "nginx:measure"

// Arguments are those of an operator beside a bare control plane: alone, without what only a
// cluster needs, and with further ones.
func Arguments(further ...string) []string {
	return append([]string{
		"--leader-elect=false", "--health-probe-bind-address=0", "--own-namespace=" + Account.Namespace,
		"--default-image=" + Image, "--instance-image=" + Image,
	}, further...)
}
