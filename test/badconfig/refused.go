package badconfig

import "fmt"

func refused() []sort {
	return []sort{{"reserved-name", reservedNames()}, {"no-conf-file", noConfFiles()}}
}

// reservedNames are names that the operator reserves.
func reservedNames() []Case {
	var cases []Case
	for i, name := range []string{"nginx-operator.conf", "nginx-operator.stream.conf", "nginx-operator.main.conf", "nginx-operator-site.conf", "nginx-operator"} {
		cases = append(cases, by(Operator, map[string]string{name: padding(i) + healthy}, name))
		cases = append(cases, by(Operator, map[string]string{name: padding(i), "site.conf": healthy}, name))
	}
	return cases
}

// noConfFiles have no file that nginx would read.
func noConfFiles() []Case {
	var cases []Case
	for i, name := range []string{"site", "site.conf.bak", "README.md", "site.CONF", "conf", "site.conf.disabled", "nginx", "site.txt"} {
		cases = append(cases, by(Operator, map[string]string{name: fmt.Sprint(padding(i), healthy)}, ".conf"))
	}
	return cases
}
