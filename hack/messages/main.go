// Command messages writes docs/messages.md: all messages of the programs to users, in one place for
// review. It collects the messages that the packages' tests render (testdata/messages), the
// validation rules of the CRDs, and the flags.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/internal/instance"
	"example.com/nginx-operator/internal/manager"
	"example.com/nginx-operator/internal/plugin/console/server"
)

const outputPath = "docs/messages.md"

func main() {
	text, err := render()
	if err == nil {
		err = os.WriteFile(outputPath, text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "messages:", err)
		os.Exit(1)
	}
}

func render() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# Messages\n\nWhat the operator reports, as its tests render it. `make generate` writes this page.\n")
	for _, section := range []struct {
		title string
		lines func() ([]string, error)
	}{
		{"Conditions and events", testMessages},
		{"Validation", validation},
		{"Flags of nginx-operator", operatorFlags},
		{"Flags of nginx-operator console", consoleFlags},
		{"Flags of nginx-instance run", instanceFlags},
		{"Commands of nginx-backup", backupCommands},
	} {
		lines, err := section.lines()
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "\n## %s\n\n```text\n%s\n```\n", section.title, strings.Join(lines, "\n"))
	}
	return b.Bytes(), nil
}

// testMessages returns the messages of the packages' tests.
func testMessages() ([]string, error) {
	files, err := filepath.Glob("internal/*/*/testdata/messages/*.txt")
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no files in internal/*/*/testdata/messages: %w", err)
	}
	var lines []string
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		for scanner := bufio.NewScanner(file); scanner.Scan(); {
			lines = append(lines, scanner.Text())
		}
		if err := file.Close(); err != nil {
			return nil, err
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}

// validation returns the messages of the rules in the CRDs' schemas.
func validation() ([]string, error) {
	files, err := filepath.Glob("config/crd/*_*.yaml")
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &crd); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, version := range crd.Spec.Versions {
			if version.Schema != nil {
				lines = append(lines, validationMessages(crd.Spec.Names.Kind, *version.Schema.OpenAPIV3Schema)...)
			}
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}

// validationMessages returns the messages of a schema and of all schemas below it.
func validationMessages(path string, schema apiextensionsv1.JSONSchemaProps) []string {
	var lines []string
	for _, rule := range schema.XValidations {
		lines = append(lines, path+": "+rule.Message)
	}
	for name, property := range schema.Properties {
		lines = append(lines, validationMessages(path+"."+name, property)...)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		lines = append(lines, validationMessages(path+"[]", *schema.Items.Schema)...)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		lines = append(lines, validationMessages(path+"{}", *schema.AdditionalProperties.Schema)...)
	}
	return lines
}

// operatorFlags returns the help of the operator.
func operatorFlags() ([]string, error) {
	set := pflag.NewFlagSet("nginx-operator", pflag.ContinueOnError)
	(&manager.Options{}).AddFlags(set, func(string) string { return "" })
	return splitLines(set.FlagUsagesWrapped(118)), nil
}

// consoleFlags returns the help of the console in the cluster.
func consoleFlags() ([]string, error) {
	set := pflag.NewFlagSet("console", pflag.ContinueOnError)
	(&server.Options{}).AddFlags(set, func(string) string { return "" })
	return splitLines(set.FlagUsagesWrapped(118)), nil
}

// instanceFlags returns the help of the instance manager.
func instanceFlags() ([]string, error) {
	var b bytes.Buffer
	set := flag.NewFlagSet("run", flag.ContinueOnError)
	set.SetOutput(&b)
	(&instance.Options{}).AddFlags(set)
	set.PrintDefaults()
	return splitLines(strings.ReplaceAll(b.String(), "\t", "    ")), nil
}

// backupCommands returns the help of the program of backup jobs.
func backupCommands() ([]string, error) {
	help, err := exec.Command("go", "run", "./cmd/nginx-backup", "--help").Output()
	if err != nil {
		return nil, fmt.Errorf("nginx-backup --help: %w", err)
	}
	return splitLines(string(help)), nil
}

func splitLines(text string) []string { return strings.Split(strings.TrimRight(text, "\n"), "\n") }
