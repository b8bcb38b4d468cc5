package main

import (
	"errors"
	"fmt"
	"strings"

	"example.com/nginx-operator/hack/casts/internal/terminal"
)

// scene is what a recording shows.
type scene struct {
	name, title, description string
	columns, rows            int
	manifests                string
	// still is a text of the frame that stands still: the last one that has it.
	still string
	run   func(*cluster, *terminal.Recorder) error
}

var scenes = []scene{
	{
		name: "status", title: "kubectl nginx status -w follows a rollout",
		description: "The image of an application with three pods is changed. Its status is drawn again in place: a new pod starts and serves, then the others, and the old ones end, until every pod has the new image.",
		columns:     108, rows: 29, manifests: shop, still: "1 of 3 pods",
		run: runStatus,
	},
	{
		name: "badconfig", title: "kubectl nginx config test and explain",
		description: "The nginx of a running pod refuses a local configuration, and names the line. It is applied nevertheless: the pods go on to serve the last good one, and explain says why and what to do. After the correction the application is ready.",
		columns:     124, rows: 38, manifests: shop, still: "What to do",
		run: runBadConfig,
	},
	{
		name: "traffic", title: "kubectl nginx list, top and logs",
		description: "Two applications with their requests a second, errors, latency and memory; the pods of one; its failed requests in the logs of all pods.",
		columns:     118, rows: 28, manifests: shop + docs, still: "--status 5xx",
		run: runTraffic,
	},
}

// shopConf and docsConf are the configurations of the applications.
const (
	shopConf = `server {
    listen 8080;
    server_name shop.example.com;
    location / {
        return 200 "shop\n";
    }
    location /cart {
        return 503;
    }
}
`
	docsConf = `server {
    listen 8080;
    return 200 "docs\n";
}
`
)

var (
	shop = application("shop", "1.26", 3, shopConf)
	docs = application("docs", "1.30", 1, docsConf)
)

// application returns the manifest of an application that runs a version of nginx.
func application(name, version string, replicas int, config string) string {
	indented := strings.ReplaceAll(strings.TrimSuffix(config, "\n"), "\n", "\n        ")
	return fmt.Sprintf(`apiVersion: operator.example.com/v1alpha2
kind: NginxOperator
metadata: {name: %[1]s}
spec:
  image: localhost/nginx:%[2]s-debian
  replicas: %[3]d
  ports: [{name: http, port: 8080}]
  config:
    files:
      %[1]s.conf: |
        %[4]s
---
`, name, version, replicas, indented)
}

// runStatus follows the rollout of an image.
func runStatus(_ *cluster, r *terminal.Recorder) error {
	if err := r.Run("kubectl nginx set image shop localhost/nginx:1.30-debian", 0); err != nil {
		return err
	}
	if err := r.Clear(); err != nil {
		return err
	}
	started := false
	return r.RunUntil("kubectl nginx status shop -w", func(f terminal.Frame) (bool, error) {
		text := f.Text()
		started = started || strings.Contains(text, "UpToDate      False")
		return started && strings.Contains(text, "UpToDate      True") && strings.Contains(text, "RolloutCompleted"), nil
	})
}

// typo is shop.conf with a directive that nginx does not know.
var typo = strings.Replace(shopConf, "return 503;", "retrun 503;", 1)

// runBadConfig breaks a configuration, finds out why, and corrects it.
func runBadConfig(c *cluster, r *terminal.Recorder) error {
	bad := application("shop", "1.26", 3, typo)
	if err := errors.Join(c.write("shop.conf", typo), c.write("shop.yaml", bad)); err != nil {
		return err
	}
	if err := r.Run("kubectl nginx config test shop -f shop.conf", 3); err != nil {
		return err
	}
	if err := r.Run("kubectl apply --server-side -f shop.yaml", 0); err != nil {
		return err
	}
	if err := c.kubectl("", "wait", "nginx/shop", "--for=condition=ConfigValid=False", "--timeout=1m"); err != nil {
		return err
	}
	if err := r.Run("kubectl nginx explain shop", 2); err != nil {
		return err
	}
	if err := r.Run("kubectl nginx config diff shop", 0); err != nil {
		return err
	}
	if err := r.Run("sed -i s/retrun/return/ shop.conf shop.yaml; kubectl nginx config test shop -f shop.conf", 0); err != nil {
		return err
	}
	if err := r.Run("kubectl apply --server-side -f shop.yaml", 0); err != nil {
		return err
	}
	if err := c.kubectl("", "wait", "nginx/shop", "--for=condition=Ready", "--timeout=1m"); err != nil {
		return err
	}
	return r.Run("kubectl nginx explain shop", 0)
}

// runTraffic shows requests as they come.
func runTraffic(c *cluster, r *terminal.Recorder) error {
	stop, err := c.load()
	if err != nil {
		return err
	}
	defer stop()
	if err := r.CutLines(); err != nil {
		return err
	}
	for _, command := range []string{"kubectl nginx list", "kubectl nginx top --interval=2s", "kubectl nginx top shop --interval=2s", "kubectl nginx logs shop --status 5xx --tail=40"} {
		if err := r.Run(command, 0); err != nil {
			return err
		}
	}
	return nil
}
