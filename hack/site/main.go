// Command site builds the documents of the repository into a static site with a search, and fails if a link leads nowhere.
package main

import (
	"flag"
	"fmt"
	"os"

	"example.com/nginx-operator/hack/site/internal/site"
)

func main() {
	root := flag.String("root", ".", "root of the repository")
	out := flag.String("out", "", "folder for the site, which is emptied first; without it, the links are checked only")
	flag.Parse()
	if err := run(*root, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root, out string) error {
	s, err := site.Open(root)
	if err != nil {
		return err
	}
	findings := s.Check()
	for _, finding := range findings {
		fmt.Fprintln(os.Stderr, finding)
	}
	if len(findings) > 0 {
		return fmt.Errorf("the documents have %d problems", len(findings))
	}
	if out == "" {
		return nil
	}
	files, err := s.Files()
	if err != nil {
		return err
	}
	return site.Write(out, files)
}
