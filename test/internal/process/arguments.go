package process

// Image is the image of nginx and of the instance manager in measurements, where no pod runs
// either.
const Image = "nginx:measure"

// Arguments returns the arguments of a single operator that runs against a bare control plane,
// without what only a cluster needs, plus further ones.
func Arguments(further ...string) []string {
	return append([]string{
		"--leader-elect=false", "--health-probe-bind-address=0", "--own-namespace=" + Account.Namespace,
		"--default-image=" + Image, "--instance-image=" + Image,
	}, further...)
}
