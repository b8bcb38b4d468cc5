package badconfig

import "fmt"

func process() []sort {
	return []sort{
		{"daemon", owned("daemon", "on", "off")},
		{"master-process", owned("master_process", "off", "on")},
		{"pid", owned("pid", "/tmp/other.pid", "/run/nginx.pid", "nginx.pid", "logs/nginx.pid", "/dev/null")},
		{"top-level", topLevel()},
	}
}

// owned are directives that belong to the instance manager: nginx is given them before
// it reads the user's files, so that the user's are duplicates.
func owned(name string, values ...string) []Case {
	message := fmt.Sprintf("%q directive is duplicate", name)
	var cases []Case
	for i := range 10 {
		text := fmt.Sprintf("%s%s %s;", mark, name, values[i%len(values)])
		if i%3 == 2 {
			cases = append(cases, found(whole(i, padding(i)+text+"\nevents {\n}\nhttp {\n"+healthy+"}"), message))
			continue
		}
		cases = append(cases, found(inMain(i, text), message))
	}
	return cases
}

func topLevel() []Case {
	return append(each(inMain,
		fault{mark + "worker_priority high;", "invalid"}, fault{mark + "worker_rlimit_nofile many;", "invalid number"},
		fault{mark + "worker_rlimit_core 1x;", "invalid value"}, fault{mark + "worker_shutdown_timeout soon;", "invalid value"},
		fault{mark + "timer_resolution 1q;", "invalid value"}, fault{mark + "worker_cpu_affinity 0102;", "invalid character"},
		fault{mark + "thread_pool a threads=0;", "invalid threads value"}, fault{mark + "debug_points crash;", `invalid value "crash"`},
		fault{mark + "pcre_jit 1;", `invalid value "1"`}),
		each(inEvents, fault{mark + "worker_connections many;", "invalid number"}, fault{mark + "use windows;", `invalid event type "windows"`},
			fault{mark + "multi_accept 1;", `invalid value "1"`})...)
}
