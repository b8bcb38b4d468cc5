package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
)

// LoadModules loads br_netfilter, which passes packets on a bridge to the packet filter. It is the
// only kernel module that the cluster needs and that the kernel does not load on first use. It
// stays loaded, and does nothing unless it is enabled.
func LoadModules() error {
	if _, err := os.Stat("/proc/sys/net/bridge"); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if output, err := exec.Command("modprobe", "br_netfilter").CombinedOutput(); err != nil {
		return fmt.Errorf("modprobe br_netfilter: %w\n%s", err, output)
	}
	return nil
}
