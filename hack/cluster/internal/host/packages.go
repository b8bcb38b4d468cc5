// Package host handles the machine outside the cluster's namespaces.
package host

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"runtime"
)

// requirement is a file that the cluster needs, and the Debian package that contains it.
type requirement struct {
	pkg string
	// program is searched on PATH. If file is set, it is the path of the file instead.
	program, file string
}

// Cluster is what a cluster needs to run, and Images what is needed to build nginx images.
var (
	Cluster = []requirement{
		{pkg: "runc", program: "runc"},
		{pkg: "containernetworking-plugins", file: "/usr/lib/cni/bridge"},
		{pkg: "nftables", program: "nft"},        // kube-proxy
		{pkg: "conntrack", program: "conntrack"}, // kube-proxy
		{pkg: "iptables", program: "iptables"},   // the portmap plugin, for host ports
		{pkg: "iproute2", program: "ip"},
		{pkg: "util-linux", program: "nsenter"},
	}
	Images = []requirement{
		{pkg: "mmdebstrap", program: "mmdebstrap"},
		{pkg: "debian-archive-keyring", file: "/usr/share/keyrings/debian-archive-keyring.gpg"},
	}
)

// Check returns an error if this machine or user cannot run a cluster.
func Check() error {
	if runtime.GOOS != "linux" {
		return errors.New("a cluster needs Linux: it consists of Linux namespaces")
	}
	if os.Geteuid() != 0 {
		return errors.New("a cluster needs root, to create namespaces and mounts")
	}
	return nil
}

// Install installs the packages whose files are missing.
func Install(ctx context.Context, progress *log.Logger, requirements []requirement) error {
	var missing []string
	for _, r := range requirements {
		if !r.met() {
			missing = append(missing, r.pkg)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	progress.Printf("installing %v ...", missing)
	if err := aptGet(ctx, "update"); err != nil {
		return err
	}
	return aptGet(ctx, append([]string{"install", "--yes", "--no-install-recommends"}, missing...)...)
}

func (r requirement) met() bool {
	if r.file != "" {
		_, err := os.Stat(r.file)
		return err == nil
	}
	_, err := exec.LookPath(r.program)
	return err == nil
}

// aptGet runs apt-get without prompts, and waits for another apt instead of failing.
func aptGet(ctx context.Context, arguments ...string) error {
	command := exec.CommandContext(ctx, "apt-get", append([]string{"--quiet=2", "--option=DPkg::Lock::Timeout=300"}, arguments...)...)
	command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get %s: %w\n%s", arguments[0], err, output)
	}
	return nil
}
