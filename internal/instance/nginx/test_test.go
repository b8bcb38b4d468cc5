package nginx

import (
	"os/exec"
	"strings"
	"testing"
)

// TestMemoryIsNeverMoreThanWhatIsLeft: a test cannot use up the memory of the serving nginx.
func TestMemoryIsNeverMoreThanWhatIsLeft(t *testing.T) {
	const mib = 1 << 20
	for _, free := range []int64{0, 4 * mib, 16 * mib, 20 * mib, 39 * mib, 200 * mib, 4096 * mib} {
		m := NewConfigTestLimits(free, 64*mib, true)
		if m.Own > free*3/4 || m.Own > maxTestShare {
			t.Errorf("of %d MiB a test may use %d MiB", free/mib, m.Own/mib)
		}
		if tried := m.tooLittle() == ""; tried != (free >= 16*mib) {
			t.Errorf("with %d MiB left a test is tried: %t", free/mib, tried)
		}
	}
	if m := NewConfigTestLimits(0, 4096*mib, false); m.tooLittle() != "" {
		t.Error("without a limit nothing is tested")
	}
}

// TestExhausted: nginx names the function that got no memory only, so the advice takes the place of its message.
func TestExhausted(t *testing.T) {
	err := exec.Command("false").Run()
	const message = "2026/11/21 05:00:00 [emerg] 7#7: posix_memalign(16, 16384) failed (12: Cannot allocate memory)"
	if why, exhausted := refusal(err, message, ConfigTestLimits{Own: 24 << 20}); !exhausted || !strings.Contains(why, "24 MiB") || !strings.Contains(why, "raise resources.limits.memory") {
		t.Errorf("%q, %t", why, exhausted)
	}
	if why, exhausted := refusal(err, `unknown directive "x"`, ConfigTestLimits{}); exhausted {
		t.Errorf("%q, %t", why, exhausted)
	}
}
