package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"example.com/nginx-operator/test/internal/figure"
)

// measurement is one row of the table.
type measurement struct {
	name        string
	description string
	// needs describes the prerequisites.
	needs string
	take  func(context.Context, *session) ([]figure.Figure, error)
}

const (
	needsAssets    = "KUBEBUILDER_ASSETS"
	needsChromium  = needsAssets + ", and Chromium (make chromium)"
	needsCluster   = "KUBECONFIG and AUDIT_LOG of a cluster that runs the operator"
	needsHelm      = "HELM, kubectl, and KUBECONFIG of a cluster whose operator it may replace"
	needsTier      = needsClass + ", and the image E2E_LOAD_IMAGE of test/load/cmd/nginx-load"
	needsNoCluster = "root, and no running local cluster: it starts and removes several"
	needsOperator  = "KUBECONFIG of a cluster that runs the operator"
	needsClass     = needsOperator + " with its cache controller, and has a default StorageClass"
	needsNext      = needsCluster + ", with the images E2E_NEXT_OPERATOR_IMAGE (test/nextrelease) and E2E_LOAD_IMAGE"
	needsS3        = "KUBECONFIG of a cluster that runs the operator, with the image E2E_S3_IMAGE of hack/s3"
	needsImages    = "root, and bin/images (make images) or INSTANCE_IMAGES; INSTANCE_PROGRAM to measure that of another release"
	needsLoad      = "KUBECONFIG of a cluster that runs the operator, with the image E2E_LOAD_IMAGE of test/load/cmd/nginx-load"
)

// measurements returns all measurements in their order: those that change the operator come after
// those that need it unchanged.
func measurements() []measurement {
	return []measurement{
		{"scale", "500, 5,000 and 10,000 objects: create, change, drift, idle, restart, compared with a bare client", needsAssets, measureScale},
		{"scale-pods", "500 objects with two pods each: what a pod and a change of its configuration cost", needsAssets, measureScalePods},
		{"scale-limit", "how many objects, without pods and with two each, one operator can manage", needsAssets, measureScaleLimit},
		{"changes", "how soon changed configurations are served: of 1,000 applications in a minute, and of one with 10 and 100 pods", needsAssets, measureChanges},
		{"unreachable", "how soon one application's change is served while the pods of 20 others do not answer", needsAssets, measureUnreachable},
		{"fairness", "how soon one application's change is served while those of another namespace misbehave, in 13 ways", needsAssets, measureFairness},
		{"large-config", "whether a configuration with a million lines of data is loaded: time, memory of process 1", needsImages, measureLargeConfig},
		{"cli", "kubectl nginx among 10,000 objects: time of commands, lag of status -w, requests", needsAssets, measureCLI},
		{"console", "the console among 10,000 objects in a browser: time, memory, lag, requests of each view", needsChromium, measureConsole},
		{"migration", "1,000 objects stored as v1alpha1 are stored as v1alpha2, with the command killed on the way", needsAssets, measureMigration},
		{"backup-crash", "backups and restores whose operator or job is killed at each of its steps", needsAssets, measureBackupCrash},
		{"backup-scale", "1,000 applications under one policy that change ten times each: backups, requests, memory", needsAssets, measureBackupScale},
		{"backup-memory", "the memory of a backup's job with a content volume of a gibibyte", "VERSITYGW", measureBackupMemory},
		{"hostile-archives", "hostile and damaged archives that are refused", "nothing", measureHostile},
		{"idle", "requests of the operator to the API server when nothing changes", needsCluster, measureIdle},
		{"restart", "requests of a restarted operator to the API server when nothing has changed", needsCluster, measureRestart},
		{"operator-upgrade", "what an upgrade and a downgrade of the operator write, restart and fail", needsNext, measureOperatorUpgrade},
		{"backup", "backups that follow changes, and restores that serve the same bytes, on S3 and on a claim", needsS3, measureBackup},
		{"live", "how soon an edit is live on every pod, compared with a rolling restart and the kubelet's own delay", needsLoad, measureLive},
		{"revert", "how soon all pods serve the last good configuration again, after a few attempts in a row", needsLoad, measureRevert},
		{"traffic", "requests that fail while everything is changed, restarted, scaled, drained, killed", needsLoad, measureTraffic},
		{"badconfig", "what hundreds of bad configurations do to an application that serves", needsLoad, measureBadConfig},
		{"hanging", "how many requests fail until a configuration whose requests hang is rolled back, and how many pods load it", needsLoad, measureHanging},
		{"hurtful", "what configurations that nginx accepts, and that hurt, do to an application that serves", needsLoad, measureHurtful},
		{"serving-nothing", "how many configurations that serve nothing are refused, and by what", needsLoad, measureServingNothing},
		{"operand-upgrade", "what a change of the version of nginx takes, and the requests that fail meanwhile", needsLoad, measureUpgrade},
		{"sidecar", "requests to a container beside nginx that fail while pods are replaced", needsLoad, measureSidecar},
		{"rollback", "how soon each kind of bad rollout ends in the last good revision, and what it costs meanwhile", needsLoad + ", and E2E_ARM64_IMAGE", measureRollback},
		{"bad-node", "what happens to a rollout whose image is missing on one of two nodes", needsLoad + ", which is the local one", measureBadNode},
		{"blocked", "how soon a configuration and a rollout are live while no packet of the operator reaches the pods", needsLoad + ", which is the local one", measureBlocked},
		{"boundaries", "what attacks from pods and from a namespace cost the operator, and a neighbor's edits meanwhile", needsLoad + ", which is the local one", measureBoundaries},
		{"canary-evidence", "the verdicts on canaries with few or no metrics", needsLoad, measureCanaryEvidence},
		{"reloads", "what a thousand reloads do to a pod's memory", needsLoad, measureReloads},
		{"instance", "what the instance manager costs: size, memory, processor time, speed", needsLoad, measureInstance},
		{"instance-idle", "what an instance manager costs that only answers probes", needsImages, measureInstanceIdle},
		{"instance-log", "what request metrics cost nginx, and the requests that they miss", needsImages, measureInstanceLog},
		{"instance-hostile", "what a client that reaches the port of an instance can do to it", needsImages, measureInstanceHostile},
		{"cache-purge", "how soon a purge is complete, and whether old content is answered afterwards while pods leave and join", needsClass, measurePurge},
		{"cache-restart", "hit ratio and failed requests while all pods of a cache and its operator are replaced, beside a Deployment of nginx", needsTier, measureCacheRestart},
		{"cache-scale", "the objects that move, hit ratio and failed requests while a shard is added and removed", needsTier, measureCacheScale},
		{"cache-loss", "hit ratio and origin requests while a shard loses its volume", needsTier, measureCacheLoss},
		{"cache-collapse", "how many requests an origin gets when 1,000 clients request one object that is not stored", needsTier, measureCacheCollapse},
		{"cache-overhead", "requests a second and latency of hits on an edge and on a shard, beside one nginx that caches by itself", needsTier, measureCacheOverhead},
		{"platforms", "an application with an empty spec on IPv4, dual-stack, IPv6, a cluster as restricted as OpenShift, and a private registry", needsNoCluster, measurePlatforms},
		{"webhook", "reads of both versions that fail while the operator and its certificates are replaced", needsOperator, measureWebhook},
		{"leak", "where the content of a Secret can be read without permission to read Secrets", needsLoad, measureLeak},
		{"packages", "Helm install, upgrade, uninstall; bundle validation; two builds of a release", needsHelm, measurePackages},
		{"privileges", "permissions that the operator has and never used", needsCluster, measurePrivileges},
	}
}

// choose returns measurements by name.
func choose(names []string) ([]measurement, error) {
	var chosen []measurement
	var known []string
	for _, m := range measurements() {
		known = append(known, m.name)
		if slices.Contains(names, m.name) {
			chosen = append(chosen, m)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no measurement %q: choose one of %s", name, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}

func list(out io.Writer) error {
	rows := [][]string{{"MEASUREMENT", "TELLS", "NEEDS"}}
	for _, m := range measurements() {
		rows = append(rows, []string{m.name, m.description, m.needs})
	}
	return figure.Columns(out, rows)
}
