package budget

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func item(n int) Item { return Item{"ConfigMap", types.UID(fmt.Sprint(n))} }

// TestBudget: a namespace that is beyond its budget loses what is new, and no other namespace loses anything.
func TestBudget(t *testing.T) {
	b := New(100, 1000)
	keepFour(t, b)
	if b.Keep("shop", item(1), 80) != "" || b.Refused("shop") != 0 || b.Refused("greedy") != 2 || b.Used() != 180 {
		t.Errorf("%d and %d items are refused, %d bytes are used", b.Refused("shop"), b.Refused("greedy"), b.Used())
	}
	if b.Keep("greedy", item(0), 10) != "" || b.Keep("greedy", item(2), 20) != "" || b.Refused("greedy") != 1 {
		t.Error("an item that has become smaller makes no room")
	}
	if b.Keep("greedy", item(0), 1000) != OfNamespace || b.Used() != 150 || b.Refused("greedy") != 2 {
		t.Errorf("an item that has become too large is kept: %d bytes are used", b.Used())
	}
	releaseFour(t, b)
}

// keepFour has the greedy namespace keep four items, of which its budget has room for two.
func keepFour(t *testing.T, b *Budget) {
	t.Helper()
	for n, want := range []Excess{"", "", OfNamespace, OfNamespace} {
		if got := b.Keep("greedy", item(n), 50); got != want {
			t.Errorf("item %d: %q, want %q", n, got, want)
		}
	}
}

// releaseFour releases the four items, and some that are unknown. Only the other namespace remains.
func releaseFour(t *testing.T, b *Budget) {
	t.Helper()
	for n := range 4 {
		b.Release("greedy", item(n))
	}
	b.Release("greedy", item(9))
	b.Release("unknown", item(9))
	if b.Used() != 80 || b.Refused("greedy") != 0 || len(b.namespaces) != 1 {
		t.Errorf("%d bytes of %d namespaces are used", b.Used(), len(b.namespaces))
	}
}

// TestFairShare: however many namespaces take all that they get, the total is not exceeded, and there is room for another one.
func TestFairShare(t *testing.T) {
	const many = 20
	b := New(1<<20, 4<<20)
	for n := range many {
		for i := range 2000 {
			if got := b.Keep(fmt.Sprint("greedy-", n), item(i), 1000); got == OfNamespace && n > 0 {
				t.Fatalf("namespace %d has as much as the first", n)
			}
		}
	}
	if b.Keep("small", item(1), 1000) != "" {
		t.Error("there is no room for a small namespace")
	}
	if got := b.Keep("small", item(2), 900_000); got != OfAll {
		t.Errorf("a small namespace that grows: %q", got)
	}
	if b.Used() > b.total {
		t.Errorf("%d bytes are used", b.Used())
	}
	if b.Keep("greedy-0", item(0), 1000) != "" || b.Keep("greedy-0", item(0), 900) != "" {
		t.Error("an item that does not grow is dropped")
	}
}

// TestAccounting: whatever happens, the sums are those of the items that are kept.
func TestAccounting(t *testing.T) {
	b, random := New(300, 1000), rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		namespace, of := fmt.Sprint(random.IntN(8)), item(random.IntN(20))
		if random.IntN(3) == 0 {
			b.Release(namespace, of)
		} else {
			b.Keep(namespace, of, random.Int64N(120))
		}
		all := int64(0)
		for name, a := range b.namespaces {
			sum := int64(0)
			for _, size := range a.items {
				sum += size
			}
			if all += sum; sum != a.used || sum > b.perNamespace {
				t.Fatalf("namespace %s uses %d bytes, counted as %d", name, sum, a.used)
			}
		}
		if all != b.used || all > b.total {
			t.Fatalf("%d bytes are used, counted as %d", all, b.used)
		}
	}
}

// TestVersions: the end of an earlier version of an item releases nothing, whether the item is kept or refused.
func TestVersions(t *testing.T) {
	b := New(100, 1000)
	b.KeepVersion("shop", item(1), "7", 60)
	b.KeepVersion("shop", item(1), "8", 60)
	b.KeepVersion("shop", item(2), "9", 60)
	b.ReleaseVersion("shop", item(1), "7")
	b.ReleaseVersion("shop", item(2), "7")
	b.ReleaseVersion("unknown", item(1), "7")
	if b.Used() != 60 || b.Refused("shop") != 1 {
		t.Errorf("%d bytes are used, and %d items refused", b.Used(), b.Refused("shop"))
	}
	b.ReleaseVersion("shop", item(1), "8")
	b.ReleaseVersion("shop", item(2), "9")
	if b.Used() != 0 || len(b.namespaces) != 0 {
		t.Errorf("%d bytes of %d namespaces are used", b.Used(), len(b.namespaces))
	}
}

// TestReleaseKind: the items of a kind make room, and those of other kinds stay.
func TestReleaseKind(t *testing.T) {
	b := New(100, 1000)
	b.Keep("shop-1", Item{Kind: "Service", UID: "1"}, 5)
	for n := range 10 {
		b.KeepVersion(fmt.Sprint("shop-", n%2), item(n), "7", 30)
	}
	b.ReleaseKind("ConfigMap")
	if b.Used() != 5 || b.Refused("shop-0") != 0 || len(b.namespaces) != 1 || len(b.namespaces["shop-1"].versions) != 0 {
		t.Errorf("%d bytes of %d namespaces are used", b.Used(), len(b.namespaces))
	}
}
