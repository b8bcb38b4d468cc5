package main

import (
	"time"

	"github.com/spf13/pflag"
)

// options are the command's settings.
type options struct {
	operator string
	args     []string
	next     string
	nextArgs []string
	webhook  []string
	means    string
	journeys string
	specimen string
	replay   string
	only     []string
	sample   float64
	part     string
	seed     uint64
	parallel int
	random   int
	budget   time.Duration
	silence  time.Duration
	keep     string

	images       string
	instance     string
	realSample   float64
	realParallel int

	// given are the flags with which something is played again.
	given []given
}

// arguments are those of this project's operator.
var arguments = []string{
	"--namespaces={namespace}", "--controllers=nginx", "--leader-elect=false", "--conversion-webhook=false",
	"--metrics-bind-address=0", "--health-probe-bind-address=0", "--instance-image=nginx-operator:test", "--default-image=nginx:test",
}

func newFlags(o *options) *pflag.FlagSet {
	flags := pflag.NewFlagSet("fault", pflag.ContinueOnError)
	flags.StringVar(&o.operator, "operator", "bin/nginx-operator", "program of the operator; it finds its API server by KUBECONFIG")
	flags.StringSliceVar(&o.args, "arg", arguments, "its arguments; {namespace} stands for the namespace that it looks after")
	flags.StringVar(&o.next, "next", "", "program of the release to which journeys upgrade; without it, those that do are left out")
	flags.StringSliceVar(&o.nextArgs, "next-arg", []string{"--instance-image=nginx-operator:next", "--default-image=nginx:next"}, "its arguments, after those of --arg")
	flags.StringSliceVar(&o.webhook, "webhook-arg", webhookArguments,
		"arguments with which the operator's program serves the conversion all the while, at {port}; empty: the newest version is served alone")
	flags.StringVar(&o.means, "means", means, "regular expression of fields that tell how an end was reached, and are no part of it")
	flags.StringVar(&o.journeys, "journeys", "", "folder with what users do (default: what comes with this program)")
	flags.StringVar(&o.specimen, "specimen", "", "file with an object whose fields are changed (default: what comes with this program)")
	flags.StringVar(&o.replay, "case", "", "play this case alone, by its name")
	flags.StringSliceVar(&o.only, "only", nil, "play the cases whose names begin so")
	flags.Float64Var(&o.sample, "sample", 1, "part of the cases that is played")
	flags.StringVar(&o.part, "part", "", "play one of several parts of the cases, such as 3/10: runs on other days or machines play the others")
	flags.Uint64Var(&o.seed, "seed", 1, "what the part is drawn by")
	flags.IntVar(&o.random, "random", 10000, "how many random cases there are")
	flags.IntVar(&o.parallel, "parallel", 12, "cases at a time")
	flags.DurationVar(&o.budget, "budget", 0, "after which time no further case is begun; 0: all are played")
	flags.DurationVar(&o.silence, "silence", time.Minute, "how long one operator looks after the ends of cases afterwards, without a write")
	flags.StringVar(&o.images, "images", "", "folder with the archives of nginx images, for cases with real instances, as root; empty: there are none")
	flags.StringVar(&o.instance, "instance", "bin/nginx-instance", "program of the instance manager")
	flags.Float64Var(&o.realSample, "real-sample", 1, "part of the cases with real instances that is played")
	flags.IntVar(&o.realParallel, "real-parallel", 3, "cases with real instances at a time")
	flags.StringVar(&o.keep, "keep", "", "folder that keeps the logs of the operators")
	return flags
}
