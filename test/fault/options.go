package main

import (
	"time"

	"github.com/spf13/pflag"

	"example.com/nginx-operator/test/testenv"
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
	fixture  string
	replay   string
	only     []string
	each     int
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

	// given are the flags for a replay.
	given []given
}

// arguments are the arguments of this project's operator.
var arguments = []string{
	"--namespaces={namespace}", "--own-namespace=" + testenv.SystemNamespace, "--controllers=nginx", "--leader-elect=false", "--conversion-webhook=false",
	"--metrics-bind-address=0", "--health-probe-bind-address=0", "--instance-image=nginx-operator:test", "--default-image=nginx:test",
}

func newFlags(o *options) *pflag.FlagSet {
	flags := pflag.NewFlagSet("fault", pflag.ContinueOnError)
	flags.StringVar(&o.operator, "operator", "bin/nginx-operator", "program of the operator; it finds its API server through KUBECONFIG")
	flags.StringSliceVar(&o.args, "arg", arguments, "arguments of the operator; {namespace} stands for the namespace that it manages")
	flags.StringVar(&o.next, "next", "", "program of the release that journeys upgrade to; without it, these journeys are left out")
	flags.StringSliceVar(&o.nextArgs, "next-arg", []string{"--instance-image=nginx-operator:next", "--default-image=nginx:next"}, "arguments of that program, after those of --arg")
	flags.StringSliceVar(&o.webhook, "webhook-arg", webhookArguments,
		"arguments with which the operator's program serves the conversion during the run, at {port}; empty: only the newest version is served")
	flags.StringVar(&o.means, "means", means, "regular expression of fields that show how an end was reached and are not compared")
	flags.StringVar(&o.journeys, "journeys", "", "folder with the journeys (default: the embedded ones)")
	flags.StringVar(&o.fixture, "fixture", "", "file with an object whose fields are changed (default: the embedded one)")
	flags.StringVar(&o.replay, "case", "", "run only the case with this name")
	flags.StringSliceVar(&o.only, "only", nil, "run only the cases whose names begin with one of these")
	flags.IntVar(&o.each, "each", 0, "maximum number of cases of each kind, of twice as many journeys; the other journeys run once, undisturbed; 0: no limit")
	flags.Float64Var(&o.sample, "sample", 1, "share of the cases to run, from 0 to 1")
	flags.StringVar(&o.part, "part", "", "run one of several parts of the cases, such as 3/10; runs on other days or machines take the others")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of the random selection of cases")
	flags.IntVar(&o.random, "random", 10000, "number of random cases")
	flags.IntVar(&o.parallel, "parallel", 12, "number of cases to run at the same time")
	flags.DurationVar(&o.budget, "budget", 0, "start no case after this time; 0: run all")
	flags.DurationVar(&o.silence, "silence", time.Minute, "how long one operator then manages the ends of the cases, without a write")
	flags.StringVar(&o.images, "images", "", "folder with the archives of nginx images, for cases with real instances, which need root; empty: no such cases")
	flags.StringVar(&o.instance, "instance", "bin/nginx-instance", "program of the instance manager")
	flags.Float64Var(&o.realSample, "real-sample", 1, "share of the cases with real instances to run, from 0 to 1")
	flags.IntVar(&o.realParallel, "real-parallel", 3, "number of cases with real instances to run at the same time")
	flags.StringVar(&o.keep, "keep", "", "folder for the logs of the operators, which are kept")
	return flags
}
