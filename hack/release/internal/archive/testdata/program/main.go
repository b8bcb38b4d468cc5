// Command program replaces the programs of a release in tests: it is small, and links another
// module.
package main

import (
	"os"

	"sigs.k8s.io/yaml"
)

func main() {
	text, err := yaml.Marshal(os.Args)
	if err != nil {
		os.Exit(1)
	}
	_, _ = os.Stdout.Write(text)
}
