package main

import "testing"

func TestParseProcess(t *testing.T) {
	text := "Name:\tnginx-instance\nPid:\t1\nVmRSS:\t   12288 kB\nRssAnon:\t    4096 kB\n" +
		"1 (nginx-instance) S 0 1 1 0 -1 4194560 2500 9000 0 0 150 50 300 400 20 0 9 0 100 1270000000 3072\n"
	p, err := parseProcess([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if want := (processOne{resident: 12 << 20, anonymous: 4 << 20, processor: 2}); p != want {
		t.Errorf("it is %+v, want %+v", p, want)
	}
	if _, err := parseProcess([]byte("cat: no such file\n")); err == nil {
		t.Error("nothing is taken for a process")
	}
}

func TestSumOf(t *testing.T) {
	text := "# HELP a b\n# TYPE a counter\na{x=\"1 2\"} 3\na{x=\"2\"} 4.5\nab 9\nb 1e3\n"
	for name, want := range map[string]float64{"a": 7.5, "b": 1000} {
		if sum, ok, err := sumOf([]byte(text), name); err != nil || !ok || sum != want {
			t.Errorf("%s is %v, %t, %v", name, sum, ok, err)
		}
	}
	if _, ok, _ := sumOf([]byte(text), "c"); ok {
		t.Error("a metric that does not exist is found")
	}
}
