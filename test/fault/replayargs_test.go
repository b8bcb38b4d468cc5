package main

import "testing"

// TestReplayArguments: one command replays what failed.
func TestReplayArguments(t *testing.T) {
	for name, tt := range map[string]struct {
		args         []string
		failed, want string
	}{
		"a case":                   {[]string{"--sample=0.5", "--images=x"}, "crash/scale/cut@1", "CASE='crash/scale/cut@1'"},
		"without real ones":        {nil, "golden/scale", "NGINX= CASE='golden/scale'"},
		"of another fixture":       {[]string{"--fixture=a.yaml", "--seed=7"}, "property/seed-0/a", "NGINX= CASE='property/seed-0/a' FAULT='--fixture=a.yaml'"},
		"of another operator":      {[]string{"--operator=mine", "--arg=-v,-x", "--keep=k"}, "crash/scale/cut@1", "NGINX= CASE='crash/scale/cut@1' FAULT='--arg=-v --arg=-x --operator=mine'"},
		"all of a kind":            {[]string{"--sample=0.5", "--seed=7", "--part=1/4", "--only=ran", "--operator=/a/bin/nginx-operator"}, "random", "NGINX= FAULT='--only=random/ --part=1/4 --sample=0.5 --seed=7'"},
		"all":                      {[]string{"--sample=0.5", "--seed=7", "--part=1/4", "--only=crash/", "--images=x"}, "", "FAULT='--only=crash/ --part=1/4 --sample=0.5 --seed=7'"},
		"all, in the usual manner": {[]string{"--images=x"}, "", ""},
	} {
		var o options
		flags := newFlags(&o)
		if err := flags.Parse(tt.args); err != nil {
			t.Fatal(err)
		}
		o.remember(flags)
		if got := o.again(tt.failed); got != tt.want {
			t.Errorf("%s is run again by %s, want %s", name, got, tt.want)
		}
	}
}
