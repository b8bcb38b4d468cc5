package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/internal/nginx/naming"
)

// ticks is the number of processor time ticks in a second: USER_HZ, which is 100 on every Linux
// that Kubernetes runs on.
const ticks = 100

// processOne describes process 1 of a container, the instance manager.
type processOne struct {
	// resident is its memory. anonymous is its private part; the rest are pages of the program
	// file, which all pods on a node share.
	resident, anonymous float64
	// processor is its processor time in seconds, without that of its children.
	processor float64
}

// processOne reads /proc inside the container with kubectl and the image's cat.
func (b *bench) processOne(ctx context.Context, pod *corev1.Pod) (processOne, error) {
	kubectl := os.Getenv("KUBECTL")
	if assets := os.Getenv("KUBEBUILDER_ASSETS"); kubectl == "" && assets != "" {
		kubectl = filepath.Join(assets, "kubectl")
	}
	if kubectl == "" {
		kubectl = "kubectl"
	}
	var problems bytes.Buffer
	command := exec.CommandContext(ctx, kubectl, "exec", "-n", pod.Namespace, pod.Name, "-c", naming.NginxContainer, "--", "cat", "/proc/1/status", "/proc/1/stat")
	command.Stderr = &problems
	output, err := command.Output()
	if err != nil {
		return processOne{}, fmt.Errorf("read /proc of pod %s: %w: %s", pod.Name, err, problems.Bytes())
	}
	return parseProcess(output)
}

func parseProcess(text []byte) (processOne, error) {
	var p processOne
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		switch {
		case fields[0] == "VmRSS:" || fields[0] == "RssAnon:":
			kibibytes, err := strconv.ParseFloat(fields[1], 64)
			if err != nil {
				return p, err
			}
			if fields[0] == "VmRSS:" {
				p.resident = kibibytes * 1024
			} else {
				p.anonymous = kibibytes * 1024
			}
		case fields[0] == "1" && len(fields) > 15:
			user, err1 := strconv.ParseFloat(fields[13], 64)
			system, err2 := strconv.ParseFloat(fields[14], 64)
			if err := errors.Join(err1, err2); err != nil {
				return p, err
			}
			p.processor = (user + system) / ticks
		}
	}
	if p.resident == 0 {
		return p, fmt.Errorf("%q contains no memory size", text)
	}
	return p, lines.Err()
}
