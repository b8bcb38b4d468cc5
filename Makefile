# Everything starts here: `make` prints what there is.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# The one place of the version: programs, images, manifests, chart and bundle take it from here.
VERSION := $(shell cat VERSION)
# The image that `make deploy` installs and the quickstart builds.
IMG = localhost/nginx-operator:dev
# The image of the tests' load tool, which runs inside the cluster. On a cluster of your
# own: an image that it can pull.
export E2E_LOAD_IMAGE ?= localhost/nginx-load:dev
# The image of the S3 server that backups are tested with.
export E2E_S3_IMAGE ?= localhost/versitygw:dev

comma := ,
BIN := $(CURDIR)/bin
CLUSTER := $(BIN)/cluster
HELM := $(BIN)/helm
VERSITYGW := $(BIN)/versitygw
TOOL := go tool -modfile=hack/tools/go.mod
GO_BUILD := CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)"

# Work on the local cluster, unless KUBECONFIG names another one.
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
quickstart: ## Run nginx by an NginxOperator on a local Kubernetes, and show it
	@$(MAKE) up
	@$(MAKE) KUBECONFIG= deploy tour

.PHONY: tour
tour:
	@hack/quickstart/tour.sh $(kubectl)

.PHONY: test
test: test-unit test-store test-api test-fault test-instance test-e2e ## Run all tests (unit, stores, API-level, faults, real nginx, end-to-end)

.PHONY: down
down: $(CLUSTER) ## Stop the local cluster and remove what was in it
	@$(CLUSTER) down

##@ Build

.PHONY: build
build: ## Build the programs into bin/
	@$(GO_BUILD) -o $(BIN)/ ./cmd/nginx-operator ./cmd/nginx-instance ./cmd/nginx-backup

.PHONY: images
images: build $(CLUSTER) ## Build the images: the operator's and three versions of nginx
	@$(CLUSTER) image binary --tag $(IMG) --out $(BIN)/nginx-operator.tar \
		--entrypoint /nginx-operator $(BIN)/nginx-operator=/nginx-operator $(BIN)/nginx-instance=/nginx-instance \
		$(BIN)/nginx-backup=/nginx-backup
	@$(CLUSTER) image nginx --out $(BIN)/images >/dev/null

.PHONY: generate
generate: ## Generate deepcopy, apply configurations, the CRD, the API reference, chart and bundle
	@$(TOOL) controller-gen object:headerFile=hack/boilerplate/header.go.txt crd paths=./api/... output:crd:dir=config/crd
	@sed -i -f hack/quantities.sed config/crd/*.yaml
	@$(TOOL) controller-gen applyconfiguration:headerFile=hack/boilerplate/header.go.txt paths=./api/v1alpha2/... paths=./api/backup/v1alpha1/...
	@$(TOOL) crd-ref-docs --source-path=api --config=hack/api-reference/config.yaml \
		--renderer=markdown --output-path=docs/api-reference.md >/dev/null
	@cd hack/release && go run . generate --root $(CURDIR)

.PHONY: release
release: ## Make the files of a release of what is committed, in dist/
	@hack/release/release.sh dist && cat dist/SHA256SUMS

##@ Check

.PHONY: verify
verify: $(CLUSTER) lint ## Check format, lint, generated files and manifests
	@hack/verify/generated.sh
	@hack/verify/manifests.sh $(kubectl)

.PHONY: lint
lint: ## Run the linters
	@for module in . hack/cluster hack/release hack/prometheus; do \
		echo "lint $$module"; (cd $$module && go tool -modfile=$(CURDIR)/hack/tools/go.mod golangci-lint run --allow-parallel-runners --config $(CURDIR)/.golangci.yaml ./...); \
	done

.PHONY: fmt
fmt: ## Format the Go code
	@$(TOOL) golangci-lint fmt

.PHONY: test-unit
test-unit: ## Run the unit tests
	@echo "unit tests"; go test $$(go list ./... | grep -v /test/api)
	@cd hack/cluster && go test ./...
	@# Their tests read files of this module, whose changes go's cache of results does not see.
	@cd hack/release && go test -count=1 ./...
	@cd hack/prometheus && go test -count=1 ./...

# How long each target is fuzzed; KEEP=… keeps so many of the smallest new inputs of each;
# BUDGET=… begins none after that time.
FUZZTIME ?= 3s

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME, and print a row for each
	@go run ./hack/fuzz -time=$(FUZZTIME) $(if $(BUDGET),-budget=$(BUDGET)) $(if $(KEEP),-keep=$(KEEP)) $(if $(RUN),-run='$(RUN)')

.PHONY: test-store
test-store: $(VERSITYGW) ## Run the tests of backups' stores with a real S3 server
	@# They wait more than they work.
	@echo "tests of stores with a real S3 server"; VERSITYGW=$(VERSITYGW) go test -count=1 -tags=store -parallel=16 -timeout=5m ./test/store/...

.PHONY: test-api
test-api: $(CLUSTER) ## Run the tests against a real API server
	@echo "API-level tests"; KUBEBUILDER_ASSETS="$$($(CLUSTER) envtest-assets)" go test -count=1 -timeout=30m ./test/api/...

# What is left out needs an API that Kubernetes 1.30 does not have (MutatingAdmissionPolicy).
NOT_OLDEST := TestMutatedField|TestAddedByAdmission

.PHONY: test-oldest
test-oldest: $(CLUSTER) ## Run the API-level tests against the oldest API server that is supported (RUN=…: some)
	@echo "API-level tests with Kubernetes 1.30"; KUBEBUILDER_ASSETS="$$($(CLUSTER) envtest-assets)" \
		TEST_ASSET_KUBE_APISERVER="$$($(CLUSTER) oldest-apiserver)/kube-apiserver" \
		go test -count=1 -timeout=30m $(if $(RUN),-run='$(RUN)') -skip='$(NOT_OLDEST)' ./test/api ./test/api/webhook

# Some of each kind of cases, so that the harness goes on working.
.PHONY: test-fault
test-fault: ## Put the operator under some faults of each kind (make fault: many)
	@echo "tests under faults"; $(MAKE) fault FAULT='--only=crash/scale/409,pair/scale/,read/scale/429,stale/scale/view@1:,unobserved/scale/gone@1:,leaders/scale/,rival/scale/,instance/edit-config/half-one,real/edit-config/slow-one,property/seed-0/spec.replicas,random/walk/999 --silence=15s'

# The quick set is one of fifty cases, and three of a hundred of those with real instances, as far as they can be begun in seven minutes.
# All of them: FAULT=--sample=1; as many as three hours allow: FAULT='--budget=3h'; others: FAULT='--only=stale/ --seed=2'; the one that failed: CASE='crash/edit-config/cut@3'.
# Without root, NGINX= leaves out those with real instances.
# All programs are told to collect garbage rarely: there is more memory than time (4 GiB for the long set).
FAULT ?= --sample=0.02 --real-sample=0.03 --budget=7m
FAULT_GOGC ?= 400
NGINX ?= $(BIN)/images

.PHONY: fault
fault: $(CLUSTER) ## Put the operator under faults (FAULT=--sample=1: all of them; CASE=…: one)
	@$(GO_BUILD) -o $(BIN)/ ./cmd/nginx-operator ./cmd/nginx-instance
	@go run ./test/nextrelease/cmd/next-release $(BIN)/next
	@$(if $(NGINX),$(CLUSTER) image nginx --out $(NGINX) >/dev/null)
	@GOGC=$(FAULT_GOGC) KUBEBUILDER_ASSETS="$$($(CLUSTER) envtest-assets)" go run ./test/fault --operator=$(BIN)/nginx-operator --next=$(BIN)/next/nginx-operator \
		--instance=$(BIN)/nginx-instance --images=$(NGINX) $(FAULT) $(if $(CASE),--case='$(CASE)')

.PHONY: fault-seeded
fault-seeded: $(CLUSTER) ## Prove the fault harness by bugs that are put into the operator (BUG=…: one)
	@GOGC=$(FAULT_GOGC) KUBEBUILDER_ASSETS="$$($(CLUSTER) envtest-assets)" go run ./test/fault seeded $(if $(BUG),--bug='$(BUG)')

.PHONY: test-instance
test-instance: $(CLUSTER) ## Run the instance manager with real nginx of every version, as root
	@$(CLUSTER) image nginx --out $(BIN)/images >/dev/null
	@echo "tests of the instance manager with real nginx"; go test -count=1 -tags=instance -timeout=30m ./test/instance/... ./test/hurtful/...

# Its figures depend on how busy the machine is, so it is no part of `make test`.
.PHONY: test-hurtful
test-hurtful: $(CLUSTER) ## Run nginx alone with each configuration of test/hurtful, as root, to prove that it hurts
	@$(CLUSTER) image nginx --out $(BIN)/images >/dev/null
	@go test -count=1 -tags=instance,hurtful -timeout=60m $(if $(RUN),-run='$(RUN)') ./test/hurtful/...

.PHONY: test-e2e
test-e2e: ## Run the end-to-end tests on the local cluster, or on that of KUBECONFIG
	@$(if $(LOCAL),$(MAKE) up)
	@$(MAKE) deploy load-tool s3-image e2e

.PHONY: test-e2e-helm
test-e2e-helm: $(HELM) ## Run the end-to-end tests against an install by Helm
	@$(if $(LOCAL),$(MAKE) up)
	@$(MAKE) deploy-helm load-tool s3-image
	@E2E_HELM=$(HELM) $(MAKE) e2e

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

# An image for another architecture, whose nginx cannot run here.
.PHONY: arm64-image
arm64-image: $(CLUSTER)
ifdef LOCAL
	@cd hack/cluster && CGO_ENABLED=0 GOARCH=arm64 go build -trimpath -o $(BIN)/arm64/nginx ./components/pause
	@$(CLUSTER) image binary --tag localhost/nginx-arm64:dev --out $(BIN)/nginx-arm64.tar \
		--entrypoint /usr/sbin/nginx $(BIN)/arm64/nginx=/usr/sbin/nginx
	@$(CLUSTER) load $(BIN)/nginx-arm64.tar
endif

.PHONY: e2e
e2e:
	@echo "end-to-end tests"; KUBECTL=$(kubectl) E2E_OPERATOR_IMAGE=$(IMG) \
		go test -count=1 -tags=e2e -parallel=4 -timeout=40m ./test/e2e/...
	@$(if $(LOCAL),$(MAKE) measure WHAT=privileges)

# What one of some measurements needs, if WHAT asks for it.
needed = $(if $(filter $(1),$(subst $(comma), ,$(WHAT))),$(2))

.PHONY: measure
measure: ## Measure WHAT=name[,name] and print a row per figure; without WHAT, list the names
measure: $(CLUSTER) $(call needed,packages,$(HELM)) $(call needed,backup-memory,$(VERSITYGW)) $(call needed,backup,s3-image) \
	$(call needed,live traffic badconfig hurtful serving-nothing operand-upgrade sidecar operator-upgrade rollback bad-node canary-evidence reloads instance leak,load-tool) \
	$(call needed,operator-upgrade,next-image) $(call needed,rollback,arm64-image)
	@$(call needed,large-config,$(CLUSTER) image nginx --out $(BIN)/images >/dev/null)
	@CLUSTER=$(CLUSTER) INSTANCE_IMAGES=$(BIN)/images HELM=$(HELM) VERSITYGW=$(VERSITYGW) PATH="$$PATH:$$($(CLUSTER) envtest-assets)" AUDIT_LOG="$(if $(LOCAL),$$($(CLUSTER) audit-log))" KUBEBUILDER_ASSETS="$$($(CLUSTER) envtest-assets)" \
		go run ./test/measure $(if $(WHAT),--what=$(WHAT)) $(if $(OBJECTS),--objects=$(OBJECTS)) $(if $(CASES),--cases=$(CASES)) $(if $(SHARE),--share=$(SHARE)) $(if $(BUDGET),--budget=$(BUDGET)) $(if $(O),-o $(O))

# How many objects there are in the runs of `make bench`.
N ?= 500,5000,10000

.PHONY: bench
bench: bench-go bench-scale ## Benchmark the code, then the operator with many objects (N=500,5000,10000) and with pods

.PHONY: bench-go
bench-go: ## Run the Go benchmarks and print benchstat's table (COUNT=6 rounds)
	@test/bench/go.sh

.PHONY: bench-compare
bench-compare: ## Run the Go benchmarks of this tree and of the commit BASE, and compare
	@test -n "$(BASE)" || { echo "BASE=… is needed: the commit to compare with" >&2; exit 2; }
	@test/bench/go.sh $(BASE)

.PHONY: bench-scale
bench-scale:
	@$(MAKE) measure WHAT=scale,scale-pods OBJECTS=$(N)

##@ Use

.PHONY: up
up: $(CLUSTER) ## Start the local cluster (the first time: build it)
	@$(CLUSTER) up

.PHONY: deploy
deploy: ## Install the operator into the cluster (IMG=… on another cluster)
ifdef LOCAL
	@$(MAKE) load
	@$(MAKE) KUBECONFIG= install
else
	@test "$(origin IMG)" != file || { echo "IMG=… is needed: an image of the operator that the cluster of KUBECONFIG can pull" >&2; exit 2; }
	@$(MAKE) install
endif

.PHONY: deploy-helm
deploy-helm: $(HELM) ## Install the operator by Helm (IMG=… on another cluster)
ifdef LOCAL
	@$(MAKE) load
else
	@test "$(origin IMG)" != file || { echo "IMG=… is needed: an image of the operator that the cluster of KUBECONFIG can pull" >&2; exit 2; }
endif
	@hack/release/deploy-helm.sh $(HELM) $(IMG) $(if $(LOCAL),--set nginxImage=localhost/nginx:1.30-debian)

.PHONY: undeploy-helm
undeploy-helm: $(HELM) ## Remove what Helm installed; the CRD and every NginxOperator stay
	@$(HELM) uninstall nginx-operator --namespace nginx-operator-system --wait

.PHONY: install
install:
	@test -n "$$KUBECONFIG" || { echo "there is no local cluster: run 'make up'" >&2; exit 2; }
	@hack/quickstart/deploy.sh $(kubectl) $(if $(LOCAL),config/quickstart,config/default) $(IMG)

.PHONY: load
load: images
	@$(CLUSTER) load $(BIN)/nginx-operator.tar $(BIN)/images/*.tar

.PHONY: undeploy
undeploy: ## Remove the operator from the cluster, and with the CRD every NginxOperator
	@echo "the API first, while the operator is there to delete the data of backups that ask for it"
	@$(kubectl) delete --ignore-not-found --timeout=5m -k config/crd || { echo "somebody's finalizer holds objects: docs/installation.md, Uninstalling" >&2; exit 1; }
	@$(kubectl) delete --ignore-not-found --timeout=5m -k config/default

.PHONY: kubeconfig
kubeconfig: $(CLUSTER) ## Print the path of the local cluster's kubeconfig
	@$(CLUSTER) kubeconfig

.PHONY: envtest-assets
envtest-assets: $(CLUSTER) ## Print the folder with kube-apiserver, etcd and kubectl
	@$(CLUSTER) envtest-assets

# Helm, of the version that hack/release/go.mod has.
$(HELM): hack/release/go.mod
	@cd hack/release && CGO_ENABLED=0 go build -trimpath -o $@ helm.sh/helm/v4/cmd/helm

# An S3 server, of the version that hack/s3/go.mod has.
$(VERSITYGW): hack/s3/go.mod
	@cd hack/s3 && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o $@ github.com/versity/versitygw/cmd/versitygw

$(CLUSTER): FORCE
	@cd hack/cluster && CGO_ENABLED=0 go build -trimpath -o $@ .

.PHONY: FORCE
FORCE:
