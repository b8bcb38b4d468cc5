package cgroup

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseMounts(t *testing.T) {
	tests := map[string]struct {
		mounts string
		want   []string
	}{
		"v2": {
			mounts: "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
			want:   []string{"/sys/fs/cgroup"},
		},
		"hybrid": {
			mounts: "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n" +
				"cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n" +
				"cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n" +
				"cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n",
			want: []string{"/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified"},
		},
		"mounted twice": {
			mounts: "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
			want:   []string{"/sys/fs/cgroup"},
		},
		"none": {mounts: "proc /proc proc rw 0 0\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, parseMounts([]byte(test.mounts))); diff != "" {
				t.Errorf("parseMounts (-want +got):\n%s", diff)
			}
		})
	}
}
