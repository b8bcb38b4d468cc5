package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
)

// LoadModules loads the one kernel module that the cluster needs and that the
// kernel does not load by itself when it is used: the one that shows packets on
// a bridge to the packet filter. It stays loaded, and does nothing unless asked.
func LoadModules() error {
	if _, err := os.Stat("/proc/sys/net/bridge"); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if output, err := exec.Command("modprobe", "br_netfilter").CombinedOutput(); err != nil {
		return fmt.Errorf("modprobe br_netfilter: %w\n%s", err, output)
	}
	return nil
}
