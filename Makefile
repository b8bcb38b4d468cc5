# Run `make` to list the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# The only definition of the version: programs, images, manifests, chart and bundle use it.
VERSION := $(shell cat VERSION)
# The image that `make deploy` installs and the quickstart builds.
IMG = localhost/nginx-operator:dev
# The image of the tests' load tool, which runs inside the cluster. For a cluster of your own, name an image that it can
# pull.
export E2E_LOAD_IMAGE ?= localhost/nginx-load:dev
# The image of the S3 server for the backup tests.
export E2E_S3_IMAGE ?= localhost/versitygw:dev

comma := ,
BIN := $(CURDIR)/bin
CLUSTER := $(BIN)/cluster
HELM := $(BIN)/helm
VERSITYGW := $(BIN)/versitygw
CHROMIUM := /usr/bin/chromium
# One set of flags: a package is compiled once, for programs, tests and tools, and in whichever folder the project is.
export CGO_ENABLED := 0
export GOFLAGS := $(filter-out -trimpath,$(GOFLAGS)) -trimpath
TOOL := go tool -modfile=$(CURDIR)/hack/tools/go.mod
# Further arguments go to go test. A suite of many packages prints a line per package, and others a line per test.
TEST_PACKAGES := $(TOOL) gotestsum --format=pkgname-and-test-fails --
TEST_NAMES := $(TOOL) gotestsum --format=testname --
GO_BUILD := go build -ldflags "-s -w -X main.version=$(VERSION)"

# Use the local cluster, unless KUBECONFIG names another one.
LOCAL_KUBECONFIG := $(shell test -x $(CLUSTER) && $(CLUSTER) kubeconfig 2>/dev/null)
LOCAL := $(if $(filter-out $(LOCAL_KUBECONFIG),$(KUBECONFIG)),,local)
ifdef LOCAL
override KUBECONFIG := $(LOCAL_KUBECONFIG)
export KUBECONFIG
endif
kubectl = $(if $(LOCAL),$(shell $(CLUSTER) envtest-assets)/kubectl,kubectl)

##@ Start here

.PHONY: help
help: ## Print this list
	@awk 'BEGIN {FS = ":.*##"} /^##@/ {printf "\n\033[1m%s\033[0m\n", substr($$0, 5)} \
	/^[a-z0-9-]+:.*##/ {printf "  \033[36m%-18s\033[0m%s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: quickstart
quickstart: ## Run the operator and its samples on a local Kubernetes cluster, and show them
	@$(MAKE) up
	@$(MAKE) KUBECONFIG= deploy tour

.PHONY: tour
tour: kubectl-nginx
	@hack/quickstart/tour.sh $(kubectl)

.PHONY: test
test: ## Run the tests of a change: unit, store, API-level, one version of real nginx, main end-to-end tests
	@hack/test/suites.sh test-unit test-store test-api-main test-instance-main test-e2e-main

.PHONY: test-all
test-all: ## Run all other tests (PART=2/3: a third of them): kills at every write, faults, all versions of nginx, the other end-to-end tests, docs
	@hack/test/suites.sh test-fault test-instance-rest test-api-rest test-e2e-rest test-docs

.PHONY: down
down: $(CLUSTER) ## Stop the local cluster and delete its contents
	@$(CLUSTER) down

##@ Build

.PHONY: build
build: ## Build the programs into bin/
	@$(GO_BUILD) -o $(BIN)/ ./cmd/nginx-operator ./cmd/nginx-instance ./cmd/nginx-backup

.PHONY: kubectl-nginx
kubectl-nginx: ## Build the kubectl plugin into bin/: kubectl finds it if bin/ is in PATH
	@$(GO_BUILD) -o $(BIN)/ ./cmd/kubectl-nginx && cp cmd/kubectl-nginx/kubectl_complete-nginx $(BIN)/

.PHONY: operator-image
operator-image: build $(CLUSTER)
	@$(CLUSTER) image binary --tag $(IMG) --out $(BIN)/nginx-operator.tar \
		--entrypoint /nginx-operator $(BIN)/nginx-operator=/nginx-operator $(BIN)/nginx-instance=/nginx-instance \
		$(BIN)/nginx-backup=/nginx-backup

.PHONY: images
images: operator-image ## Build the operator's image and images of three versions of nginx
	@$(CLUSTER) image nginx --out $(BIN)/images >/dev/null

.PHONY: generate
generate: ## Generate deepcopy, apply configurations, CRDs, API reference, messages, chart and bundle
	@$(TOOL) controller-gen object:headerFile=hack/boilerplate/header.go.txt crd \
		paths=./api/v1alpha1/... paths=./api/v1alpha2/... paths=./api/backup/... output:crd:dir=config/crd
	@$(TOOL) controller-gen object:headerFile=hack/boilerplate/header.go.txt crd paths=./api/cache/... output:crd:dir=config/cache
	@sed -i -f hack/schema.sed config/crd/*.yaml config/cache/*.yaml
	@$(TOOL) controller-gen applyconfiguration:headerFile=hack/boilerplate/header.go.txt paths=./api/v1alpha2/... paths=./api/backup/v1alpha1/...
	@# By itself: together with types that it refers to, the generator fails every other time.
	@$(TOOL) controller-gen applyconfiguration:headerFile=hack/boilerplate/header.go.txt paths=./api/cache/v1alpha1/...
	@$(TOOL) crd-ref-docs --source-path=api --config=hack/api-reference/config.yaml \
		--renderer=markdown --max-depth=20 --output-path=docs/api-reference.md >/dev/null
	@sed -i -E -f hack/api-reference/html.sed docs/api-reference.md
	@cd hack/release && go run . generate --root $(CURDIR)
	@go run ./hack/messages

.PHONY: docs
docs: ## Build the documents into bin/site, as a site with a search
	@cd hack/site && go run . --root $(CURDIR) --out $(BIN)/site && echo "open $(BIN)/site/index.html"

.PHONY: release
release: ## Build the release files of the current commit in dist/
	@hack/release/release.sh dist && cat dist/SHA256SUMS

##@ Check

.PHONY: verify
verify: $(CLUSTER) lint ## Check format, lint, names, boundaries, links of documents, generated files and manifests
	@go run ./hack/glossary
	@go run ./hack/boundaries
	@go run ./hack/figures
	@echo "verify links of documents"; cd hack/site && go run . --root $(CURDIR)
	@hack/verify/generated.sh
	@hack/verify/manifests.sh $(kubectl)

.PHONY: lint
lint: ## Run the linters
	@for module in . hack/cluster hack/cluster/components/kubernetes/volumes hack/release hack/site hack/casts hack/prometheus; do \
		echo "lint $$module"; (cd $$module && go tool -modfile=$(CURDIR)/hack/tools/go.mod golangci-lint run --allow-parallel-runners --config $(CURDIR)/.golangci.yaml ./...); \
	done
	@echo "lint api"; $(TOOL) golangci-lint-kube-api-linter run --allow-parallel-runners --config .golangci-api.yaml ./api/...

.PHONY: fmt
fmt: ## Format the Go code
	@$(TOOL) golangci-lint fmt

.PHONY: test-unit
test-unit: ## Run the unit tests
	@$(TEST_PACKAGES) $$(go list ./... | grep -v /test/api)
	@cd hack/cluster && $(TEST_PACKAGES) ./...
	@cd hack/cluster/components/kubernetes/volumes && go test .
	@# Their tests read files of this module. Go's test cache does not notice when these change.
	@cd hack/release && $(TEST_PACKAGES) -count=1 ./...
	@cd hack/site && $(TEST_PACKAGES) -count=1 ./...
	@cd hack/prometheus && $(TEST_PACKAGES) -count=1 ./...
	@cd hack/casts && $(TEST_PACKAGES) ./...

# How long each target is fuzzed. KEEP=… keeps that number of the smallest new inputs of each target. After BUDGET=…, no
# further target starts.
FUZZTIME ?= 3s

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME, and print a row per target
	@go run ./hack/fuzz -time=$(FUZZTIME) $(if $(BUDGET),-budget=$(BUDGET)) $(if $(KEEP),-keep=$(KEEP)) $(if $(RUN),-run='$(RUN)')

.PHONY: test-store
test-store: $(VERSITYGW) ## Run the backup store tests with a real S3 server
	@# The tests mostly wait, so many run in parallel.
	@VERSITYGW=$(VERSITYGW) $(TEST_NAMES) -count=1 -tags=store -parallel=16 -timeout=5m ./test/store/...

# `make test` runs the main tests of a suite, and `make test-all` the rest. PART=2/3 runs the second third of the rest: of
# the positions at which the operator is killed, of the versions of nginx, and of the end-to-end tests.
# SELECT holds the flags that select tests; without it, the whole suite runs.
API_REST := AtEach|KilledWhileCorrecting|TestHostile|TestTwoVersionsAtOnce|TestRenewPods|TestLife\b
INSTANCE_REST := TestManyReloads|TestCorpus|TestKeysAreNotServedDuringReloads|TestLint\b
NGINX_OTHERS := bookworm|forky
E2E_MAIN := TestFirstManifest|TestSample|TestHardening|TestV1Alpha1|TestReferenced|TestBadConfiguration|TestFirstConfigurationBad$(\
)|TestCertificateRotation|TestChangeImage|TestBadImage\b|TestCanaryKeepsServing|TestPausedRollout|TestChecks|TestDrain|TestScale\b|TestAutoscaler$(\
)|TestDisruptionBudget|TestSuspend|TestDrift|TestDelete|TestBackupToClaim|TestOperatorKilled|TestMetrics|TestEvents|TestQuota|TestConsole\b

.PHONY: test-api
test-api: $(CLUSTER) ## Run the tests against a real API server
	@KUBEBUILDER_ASSETS="$$($(CLUSTER) envtest-assets)" $(TEST_NAMES) -count=1 -timeout=30m $(SELECT) ./test/api/...

.PHONY: test-api-main test-api-rest
test-api-main:
	@$(MAKE) test-api SELECT="-skip='$(API_REST)'"
test-api-rest:
	@$(MAKE) test-api SELECT="-run='$(API_REST)'"

# The first supported version, in hack/cluster/internal/build/components.go. hack/test/needs.txt lists the tests that
# need a newer one.
OLDEST := 1.30

.PHONY: test-oldest
test-oldest: $(CLUSTER) ## Run the API-level tests against the oldest supported API server (RUN=…: only some)
	@hack/test/matrix.sh $(CLUSTER) $(OLDEST) -- $(TEST_NAMES) -count=1 -timeout=30m $(if $(RUN),-run='$(RUN)') ./test/api ./test/api/webhook

# The versions to test. A version that is not in the cache yet is built, which takes 4 to 7 minutes. The tests of kills at
# each write run against the newest version only: what they find does not depend on the API server.
VERSIONS = $(shell $(CLUSTER) apiserver)

.PHONY: test-matrix
test-matrix: $(CLUSTER) ## Run the API-level tests against an API server of each VERSIONS, and print a row per version (RUN=…: only some)
	@SKIP='$(API_REST)' hack/test/matrix.sh $(CLUSTER) $(VERSIONS) -- $(TEST_NAMES) -count=1 -timeout=30m -p=1 $(if $(RUN),-run='$(RUN)') ./test/api/...

.PHONY: test-arm64
test-arm64: ## Build the programs for arm64, start them under an emulation of that processor, and run unit tests there
	@hack/release/arm64.sh $(BIN)/arm64

.PHONY: test-fault
test-fault: ## Test the operator under a few faults of each kind, and run every journey of the fault harness (make fault: many)
	@echo "tests under faults"; $(MAKE) fault FAULT='--each=3 --silence=15s'

# The quick set runs every journey without a fault, and 12 cases of each kind.
# All cases: FAULT=--sample=1. As many as fit in three hours: FAULT='--budget=3h'. Others: FAULT='--only=stale/ --seed=2'.
# A failed one: CASE='crash/edit-config/cut@3'. Without root, NGINX= skips the cases with real instances.
# AHEAD=1h puts the clock of the release that journeys upgrade to an hour ahead, AHEAD=-1h an hour back.
# GOGC makes all programs collect garbage rarely: memory is less scarce than time (4 GiB for the long set).
FAULT ?= --each=12
FAULT_GOGC ?= 400
NGINX ?= $(BIN)/images

.PHONY: fault
fault: $(CLUSTER) ## Test the operator under faults (FAULT=--sample=1: all of them; CASE=…: one)
	@$(GO_BUILD) -o $(BIN)/ ./cmd/nginx-operator ./cmd/nginx-instance
	@go run ./test/nextrelease/cmd/next-release $(if $(AHEAD),--ahead=$(AHEAD)) $(BIN)/next
	@$(if $(NGINX),$(CLUSTER) image nginx --out $(NGINX) >/dev/null)
	@GOGC=$(FAULT_GOGC) KUBEBUILDER_ASSETS="$$($(CLUSTER) envtest-assets)" go run ./test/fault --operator=$(BIN)/nginx-operator --next=$(BIN)/next/nginx-operator \
		--instance=$(BIN)/nginx-instance --images=$(NGINX) $(FAULT) $(if $(CASE),--case='$(CASE)')

.PHONY: fault-seeded
fault-seeded: $(CLUSTER) ## Prove that the fault harness finds bugs seeded into the operator (BUG=…: one)
	@GOGC=$(FAULT_GOGC) KUBEBUILDER_ASSETS="$$($(CLUSTER) envtest-assets)" go run ./test/fault seeded $(if $(BUG),--bug='$(BUG)')

.PHONY: test-instance
test-instance: $(CLUSTER) ## Test the instance manager with every version of real nginx, as root
	@$(CLUSTER) image nginx --out $(BIN)/images >/dev/null
	@$(TEST_NAMES) -count=1 -tags=instance -parallel=3 -timeout=30m $(SELECT) ./test/instance/... ./test/hurtful/... ./test/cache/...

# Main is all but the long tests, with one version. The rest are the long tests with every version, and the other tests
# with the other versions.
.PHONY: test-instance-main test-instance-rest
test-instance-main:
	@$(MAKE) test-instance SELECT="-skip='$(INSTANCE_REST)|/^($(NGINX_OTHERS))\b'"
test-instance-rest:
	@$(MAKE) test-instance SELECT="-run='$(INSTANCE_REST)'"
	@$(MAKE) test-instance SELECT="-run='/^($(NGINX_OTHERS))\b' -skip='$(INSTANCE_REST)'"

# Its figures depend on how busy the machine is, so it is not part of `make test`.
.PHONY: test-hurtful
test-hurtful: $(CLUSTER) ## Prove, as root, that each configuration of test/hurtful harms nginx without the operator
	@$(CLUSTER) image nginx --out $(BIN)/images >/dev/null
	@go test -count=1 -tags=instance,hurtful -timeout=60m $(if $(RUN),-run='$(RUN)') ./test/hurtful/...

.PHONY: test-e2e
test-e2e: ## Run the end-to-end tests on the local cluster, or on the one of KUBECONFIG
	@$(if $(LOCAL),$(MAKE) up)
	@$(MAKE) deploy load-tool s3-image e2e
	@$(if $(and $(LOCAL),$(if $(SELECT),,all)),$(MAKE) measure WHAT=privileges)

.PHONY: test-e2e-main test-e2e-rest
test-e2e-main:
	@$(MAKE) test-e2e SELECT="-run='$(E2E_MAIN)'"
test-e2e-rest:
	@$(MAKE) test-e2e SELECT="-run='$$(hack/test/part.sh test/e2e '$(E2E_MAIN)' $(PART))'"
	@# A part of the tests does not use every right.
	@$(if $(and $(LOCAL),$(if $(PART),,all)),$(MAKE) measure WHAT=privileges)

# A local cluster must not run: each of these is started and removed.
FAMILIES := dual-stack dual-stack-ipv6 ipv6
E2E_FAMILIES := TestFamilies|TestBackupToClaim|TestMetrics|TestFirstManifest|TestSampleInstance

.PHONY: test-e2e-families
test-e2e-families: $(CLUSTER) ## Run the end-to-end tests of addresses on a local cluster of each of FAMILIES, one after another
	@for family in $(FAMILIES); do ( \
		echo "== $$family"; $(CLUSTER) up --ip-family "$$family"; trap '$(CLUSTER) down' EXIT; \
		$(MAKE) KUBECONFIG= deploy e2e SELECT="$(or $(SELECT),-run='$(E2E_FAMILIES)')" ); \
	done

# A local cluster must not run: it is started and removed. The first start builds the kubelet, which takes 2 to 4 minutes.
.PHONY: test-e2e-kubelet
test-e2e-kubelet: $(CLUSTER) ## Run the main end-to-end tests on a local cluster whose nodes have the oldest kubelet (KUBELET=1.34: another one)
	@$(CLUSTER) up --kubelet "$(or $(KUBELET),$(OLDEST))"; trap '$(CLUSTER) down' EXIT; \
		$(MAKE) KUBECONFIG= deploy load-tool s3-image e2e SELECT="$(or $(SELECT),-run='$(E2E_MAIN)')"

.PHONY: test-docs
test-docs: $(CLUSTER) kubectl-nginx ## Run the commands of the README and the guides on the local cluster, and compare their output
	@$(MAKE) up deploy
	@PATH="$(BIN):$$PATH" KUBECONFIG="$$($(CLUSTER) kubeconfig)" KUBECTL=$$($(CLUSTER) envtest-assets)/kubectl \
		$(TEST_NAMES) -count=1 -tags=e2e -timeout=15m $(SELECT) ./test/docs

.PHONY: test-e2e-helm
test-e2e-helm: $(HELM) ## Run the end-to-end tests against a Helm install
	@$(if $(LOCAL),$(MAKE) up)
	@$(MAKE) deploy-helm load-tool s3-image
	@E2E_HELM=$(HELM) $(MAKE) e2e SELECT="-skip='TestCache|TestFamiliesCache'" # The chart does not install the cache operator.

# Traefik and cert-manager take 10 minutes to build for the first time, so it is not part of `make test-all`.
.PHONY: test-e2e-exposure
test-e2e-exposure: $(CLUSTER) ## Test spec.ingress, httpRoutes and tls[].certificate with Traefik and cert-manager on the local cluster
	@$(MAKE) up
	@$(MAKE) KUBECONFIG= deploy load-tool
	@$(CLUSTER) addon traefik cert-manager
	@KUBECONFIG="$$($(CLUSTER) kubeconfig)" KUBECTL=$$($(CLUSTER) envtest-assets)/kubectl \
		$(TEST_NAMES) -count=1 -tags=e2e,exposure -timeout=15m -run='$(or $(RUN),^TestExposed|^TestDefinitions)' ./test/e2e

.PHONY: load-tool
load-tool: $(CLUSTER)
ifdef LOCAL
	@$(GO_BUILD) -o $(BIN)/ ./test/load/cmd/nginx-load
	@$(CLUSTER) image binary --tag $(E2E_LOAD_IMAGE) --out $(BIN)/nginx-load.tar \
		--entrypoint /nginx-load $(BIN)/nginx-load=/nginx-load
	@$(CLUSTER) load $(BIN)/nginx-load.tar
endif

.PHONY: s3-image
s3-image: $(CLUSTER) $(VERSITYGW)
ifdef LOCAL
	@$(CLUSTER) image binary --tag $(E2E_S3_IMAGE) --out $(BIN)/versitygw.tar \
		--entrypoint /versitygw $(VERSITYGW)=/versitygw
	@$(CLUSTER) load $(BIN)/versitygw.tar
endif

.PHONY: next-image
next-image: $(CLUSTER)
ifdef LOCAL
	@go run ./test/nextrelease/cmd/next-release $(BIN)/next
	@$(CLUSTER) image binary --tag localhost/nginx-operator:next --out $(BIN)/nginx-operator-next.tar \
		--entrypoint /nginx-operator $(BIN)/next/nginx-operator=/nginx-operator $(BIN)/next/nginx-instance=/nginx-instance
	@$(CLUSTER) load $(BIN)/nginx-operator-next.tar
endif

# An image of another architecture, whose nginx cannot run on this machine.
.PHONY: arm64-image
arm64-image: $(CLUSTER)
ifdef LOCAL
	@cd hack/cluster && GOARCH=arm64 go build -o $(BIN)/arm64/nginx ./components/pause
	@$(CLUSTER) image binary --tag localhost/nginx-arm64:dev --out $(BIN)/nginx-arm64.tar \
		--entrypoint /usr/sbin/nginx $(BIN)/arm64/nginx=/usr/sbin/nginx
	@$(CLUSTER) load $(BIN)/nginx-arm64.tar
endif

# The browser of the console's tests, from Debian's packages.
$(CHROMIUM):
	@echo "installing chromium ..."
	@DEBIAN_FRONTEND=noninteractive apt-get --quiet=2 --option=DPkg::Lock::Timeout=300 update
	@DEBIAN_FRONTEND=noninteractive apt-get --quiet=2 --option=DPkg::Lock::Timeout=300 install --yes --no-install-recommends chromium fonts-dejavu-core >/dev/null

.PHONY: chromium
chromium: $(CHROMIUM)

.PHONY: screenshots
screenshots: $(CHROMIUM) ## Take the screenshots of docs/images on the local cluster, whose operator must run
	@E2E_SCREENSHOTS=$(CURDIR)/docs/images go test -count=1 -tags=e2e -timeout=5m -run='^TestConsoleScreenshots$$' ./test/e2e

.PHONY: casts
casts: $(CLUSTER) kubectl-nginx ## Record the terminal casts of docs/images on the local cluster, whose operator must run
	@cd hack/casts && KUBECONFIG="$$($(CLUSTER) kubeconfig)" PATH="$(BIN):$$($(CLUSTER) envtest-assets):$$PATH" \
		go run . --out $(CURDIR)/docs/images $(if $(ONLY),--only=$(ONLY))

# The comparison takes about eight minutes on two cores for 31 repositories.
.PHONY: importset
importset: $(CLUSTER) ## Import every configuration below SET, and compare the answers of each that nginx runs with those of its import
	@test -d "$(SET)" || { echo "SET=… is needed: a folder with repositories" >&2; exit 2; }
	@$(CLUSTER) image nginx --out $(BIN)/images >/dev/null
	@go run ./hack/importset $(SET)
	@IMPORT_SET=$(abspath $(SET)) IMPORT_SET_REPORT=$(BIN)/importset.txt INSTANCE_IMAGES=$(BIN)/images \
		go test -count=1 -tags=instance,importset -parallel=2 -timeout=60m -run='^TestImportSet$$$(if $(ONLY),/set/$(ONLY))' ./test/instance
	@cat $(BIN)/importset.txt

.PHONY: e2e
e2e: $(CHROMIUM)
	@KUBECTL=$(kubectl) E2E_OPERATOR_IMAGE=$(IMG) $(if $(LOCAL),E2E_STORAGE_CLASS=local) \
		$(TEST_NAMES) -count=1 -tags=e2e -parallel=3 -timeout=40m $(SELECT) ./test/e2e/...

# needed returns the prerequisite $(2) if WHAT is one of the measurements $(1).
needed = $(if $(filter $(1),$(subst $(comma), ,$(WHAT))),$(2))

.PHONY: measure
measure: ## Measure WHAT=name[,name] and print a row per figure; without WHAT, list the names
measure: $(CLUSTER) $(call needed,packages,$(HELM)) $(call needed,backup-memory,$(VERSITYGW)) $(call needed,backup,s3-image) $(call needed,console,$(CHROMIUM)) $(call needed,cli,kubectl-nginx) \
	$(call needed,live revert traffic badconfig hanging hurtful serving-nothing operand-upgrade sidecar operator-upgrade rollback bad-node blocked boundaries canary-evidence reloads instance leak cache-restart cache-scale cache-loss cache-collapse cache-overhead,load-tool) \
	$(call needed,operator-upgrade,next-image) $(call needed,rollback,arm64-image)
	@$(call needed,large-config,$(CLUSTER) image nginx --out $(BIN)/images >/dev/null)
	@CLUSTER=$(CLUSTER) INSTANCE_IMAGES=$(BIN)/images HELM=$(HELM) VERSITYGW=$(VERSITYGW) PATH="$$PATH:$$($(CLUSTER) envtest-assets)" AUDIT_LOG="$(if $(LOCAL),$$($(CLUSTER) audit-log))" KUBEBUILDER_ASSETS="$$($(CLUSTER) envtest-assets)" \
		go run ./test/measure $(if $(WHAT),--what=$(WHAT)) $(if $(OBJECTS),--objects=$(OBJECTS)) $(if $(CASES),--cases=$(CASES)) $(if $(SHARE),--share=$(SHARE)) $(if $(BUDGET),--budget=$(BUDGET)) $(if $(O),-o $(O))

# The numbers of objects in the runs of `make bench`.
N ?= 500,5000,10000

.PHONY: bench
bench: bench-go bench-scale ## Benchmark the code, then the operator with many objects (N=500,5000,10000) and with pods

.PHONY: bench-go
bench-go: ## Run the Go benchmarks and print benchstat's table (COUNT=6 rounds)
	@test/bench/go.sh

.PHONY: bench-compare
bench-compare: ## Run the Go benchmarks of this tree and of the commit BASE, and compare them
	@test -n "$(BASE)" || { echo "BASE=… is needed: the commit to compare with" >&2; exit 2; }
	@test/bench/go.sh $(BASE)

.PHONY: bench-scale
bench-scale:
	@$(MAKE) measure WHAT=scale,scale-pods OBJECTS=$(N)

##@ Use

.PHONY: up
up: $(CLUSTER) ## Start the local cluster; the first start builds it (IP_FAMILY=ipv6, dual-stack or dual-stack-ipv6; KUBELET=1.34)
	@$(CLUSTER) up $(if $(IP_FAMILY),--ip-family=$(IP_FAMILY)) $(if $(KUBELET),--kubelet=$(KUBELET))

.PHONY: deploy
deploy: ## Install the operator in the cluster (IMG=… on another cluster)
ifdef LOCAL
	@$(MAKE) load
	@$(MAKE) KUBECONFIG= install
else
	@test "$(origin IMG)" != file || { echo "IMG=… is needed: an image of the operator that the cluster of KUBECONFIG can pull" >&2; exit 2; }
	@$(MAKE) install
endif

.PHONY: deploy-helm
deploy-helm: $(HELM) ## Install the operator with Helm (IMG=… on another cluster)
ifdef LOCAL
	@$(MAKE) load
else
	@test "$(origin IMG)" != file || { echo "IMG=… is needed: an image of the operator that the cluster of KUBECONFIG can pull" >&2; exit 2; }
endif
	@hack/release/deploy-helm.sh $(HELM) $(IMG) $(if $(LOCAL),--set nginxImage=localhost/nginx:1.30-debian)

.PHONY: undeploy-helm
undeploy-helm: $(HELM) ## Uninstall the Helm release; the CRDs and all NginxOperators stay
	@$(HELM) uninstall nginx-operator --namespace nginx-operator-system --wait

.PHONY: install
install:
	@test -n "$$KUBECONFIG" || { echo "there is no local cluster: run 'make up'" >&2; exit 2; }
	@hack/quickstart/deploy.sh $(kubectl) $(if $(LOCAL),config/quickstart,config/default) $(IMG)

.PHONY: load
load: images
	@$(CLUSTER) load $(BIN)/nginx-operator.tar $(BIN)/images/*.tar

.PHONY: reload
reload: operator-image ## Rebuild the operator and roll it out in the local cluster
	@$(CLUSTER) load $(BIN)/nginx-operator.tar
	@$(MAKE) KUBECONFIG= install

.PHONY: run
run: build $(CLUSTER) ## Run the operator on this machine in place of the one in the local cluster (DEBUG_PORT=…: with a debugger; FLAGS=…)
	@$(MAKE) KUBECONFIG= run-local

.PHONY: run-local
run-local:
	@hack/dev/run.sh $(CLUSTER) $(kubectl) $(BIN)/nginx-operator $(FLAGS)

.PHONY: undeploy
undeploy: ## Remove the operator, its CRDs and all NginxOperators from the cluster
	@echo "deleting the API first, while the operator can still delete the data of backups with deletionPolicy Delete"
	@$(kubectl) delete --ignore-not-found --timeout=5m -k config/crd || { echo "objects are kept by a finalizer: see docs/installation.md, Uninstalling" >&2; exit 1; }
	@$(kubectl) delete --ignore-not-found --timeout=5m -k config/default

.PHONY: kubeconfig
kubeconfig: $(CLUSTER) ## Print the path of the local cluster's kubeconfig
	@$(CLUSTER) kubeconfig

.PHONY: envtest-assets
envtest-assets: $(CLUSTER) ## Print the folder with kube-apiserver, etcd and kubectl
	@$(CLUSTER) envtest-assets

# Helm, in the version of hack/release/go.mod.
$(HELM): hack/release/go.mod
	@cd hack/release && go build -o $@ helm.sh/helm/v4/cmd/helm

# An S3 server, in the version of hack/s3/go.mod.
$(VERSITYGW): hack/s3/go.mod
	@cd hack/s3 && go build -ldflags "-s -w" -o $@ github.com/versity/versitygw/cmd/versitygw

$(CLUSTER): FORCE
	@cd hack/cluster && go build -o $@ .

.PHONY: FORCE
FORCE:
