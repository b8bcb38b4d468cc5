package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"example.com/nginx-operator/test/external"
	"example.com/nginx-operator/test/testenv"
)

// webhookArguments are the arguments with which this project's operator only serves the conversion
// webhook and manages no application.
var webhookArguments = []string{
	"--namespaces=" + testenv.SystemNamespace, "--own-namespace=" + testenv.SystemNamespace, "--controllers=nginx",
	"--leader-elect=false", "--conversion-webhook=true", "--webhook-port={port}", "--webhook-hosts=localhost",
	"--metrics-bind-address=0", "--health-probe-bind-address=0", "--instance-image=nginx-operator:test",
}

// install installs the CRDs and starts the operator's program as their conversion webhook. The
// returned function stops the webhook. The webhook gets no faults, because the API server depends
// on it.
func (o *options) install(ctx context.Context, plane *testenv.ControlPlane, dir string) (func(), error) {
	if err := plane.PrepareOperator(ctx); err != nil {
		return nil, err
	}
	for _, parse := range []func() (*apiextensionsv1.CustomResourceDefinition, error){external.HTTPRoutes, external.Certificates} {
		definition, err := parse()
		if err != nil {
			return nil, err
		}
		if err := external.Install(ctx, plane.Client, plane.Config, definition); err != nil {
			return nil, err
		}
	}
	if len(o.webhook) == 0 {
		return func() {}, plane.InstallCRD(ctx, 0)
	}
	port, err := testenv.FreePort()
	if err != nil {
		return nil, err
	}
	if err := plane.InstallCRD(ctx, port); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "webhook.log"))
	if err != nil {
		return nil, err
	}
	arguments := make([]string, len(o.webhook))
	for i, a := range o.webhook {
		arguments[i] = strings.ReplaceAll(a, "{port}", strconv.Itoa(port))
	}
	webhook := exec.Command(o.operator, arguments...)
	webhook.Env = append(os.Environ(), "KUBECONFIG="+plane.Kubeconfig)
	webhook.Stdout, webhook.Stderr = log, log
	webhook.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err = webhook.Start()
	_ = log.Close() // the process has its own descriptor
	if err != nil {
		return nil, fmt.Errorf("start the conversion webhook: %w", err)
	}
	end := func() {
		_ = webhook.Process.Kill() // it may have ended already
		_ = webhook.Wait()         // it was killed, so it has an error
	}
	if err := plane.WaitForConversion(ctx); err != nil {
		end()
		return nil, err
	}
	return end, nil
}
