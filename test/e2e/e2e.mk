# Images, and the tests on a real cluster.

##@ Images and real clusters

NODE_BIN := $(CURDIR)/bin/node
IMAGES ?= $(CURDIR)/dist/images
E2E_IMAGES := $(CURDIR)/dist/e2e-images
# Names of images: REPOSITORY/nestor-operator:VERSION. With IMAGE_PUSH they are pushed there too.
IMAGE_REPOSITORY ?= localhost
PLATFORMS ?= linux/$(shell go env GOARCH)
# The time of all files in the images: that of the commit, so that the same commit gives the same digests.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
# An image's tag may not have a plus sign.
IMAGE_TAG ?= $(subst +,-,$(VERSION))
BUILD_IMAGES = cd hack/images && go run . --node-binaries "$(NODE_BIN)" --source-date-epoch "$(SOURCE_DATE_EPOCH)" \
	--revision "$(shell git rev-parse HEAD 2>/dev/null)"

# The gateway's program contains the page.
.PHONY: image-page
image-page:
	@if command -v npm >/dev/null && [ ! -e web/dist/index.html ]; then echo "building the web page"; $(MAKE) --no-print-directory web >/dev/null; fi

.PHONY: images
images: image-page ## Build the container images into dist/images, without Docker, with bills of materials (PLATFORMS=linux/amd64,linux/arm64 IMAGE_REPOSITORY IMAGE_PUSH FIPS=v1.0.0)
	@$(BUILD_IMAGES) --out "$(IMAGES)" --repository "$(IMAGE_REPOSITORY)" --version "$(IMAGE_TAG)" --platforms "$(PLATFORMS)" $(if $(FIPS),--fips "$(FIPS)") $(if $(IMAGE_PUSH),--push "$(IMAGE_PUSH)")

.PHONY: images-test
images-test: ## Test the builder of images
	cd hack/images && go vet ./... && go test -timeout 10m ./...

.PHONY: node
node: ## Install the programs of a real one-node cluster in bin/node: kubelet, containerd, CoreDNS and so on
	@hack/realnode/install.sh "$(NODE_BIN)"

.PHONY: e2e-images
e2e-images: image-page $(if $(E2E_KUBECONFIG),,node)
	@$(BUILD_IMAGES) --out "$(E2E_IMAGES)" --version e2e --fast $(if $(E2E_REGISTRY),--repository "$(E2E_REGISTRY)" --push "$(E2E_REGISTRY)") \
		nestor-operator nestor-gateway nestor-scripted-model nestor-workspace git-server postgres $(if $(E2E_KUBECONFIG),,pause coredns)

.PHONY: e2e
e2e: e2e-images ## Install Nestor on a real cluster and run the end-to-end tests there (root; or E2E_KUBECONFIG and E2E_REGISTRY for a cluster of yours; E2EFLAGS)
	E2E=1 NODE_BIN="$(NODE_BIN)" E2E_IMAGES="$(E2E_IMAGES)" go test ./test/e2e -count 1 -timeout 40m -v $(E2EFLAGS)
	@# E2EFLAGS are Ginkgo's; these tests do not use it.
	$(if $(E2EFLAGS),,E2E=1 NODE_BIN="$(NODE_BIN)" E2E_IMAGES="$(E2E_IMAGES)" go test ./test/e2e/realnode -count 1 -timeout 10m -v)

.PHONY: e2e-release
e2e-release: node ## Install a release on a real cluster from its files in dist/VERSION alone, and play the tour (root)
	@$(BUILD_IMAGES) --out "$(E2E_IMAGES)-release" --version e2e --fast pause coredns
	E2E=1 NODE_BIN="$(NODE_BIN)" E2E_IMAGES="$(E2E_IMAGES)-release" E2E_RELEASE="$(CURDIR)/dist/$(VERSION)" go test ./test/e2e -count 1 -timeout 40m -v

.PHONY: real-cluster
real-cluster: e2e-images ## Run a real one-node cluster with Nestor's images until Ctrl-C (root)
	@NODE_BIN="$(NODE_BIN)" hack/realnode/run.sh "$(E2E_IMAGES)"/*.tar

.PHONY: release
release: ## Create all files of a release in dist/VERSION: images, charts, kustomize and OLM bundles, plugin, web page, site, notes, checksums (VERSION=0.2.0; IMAGE_PUSH=REGISTRY/TEAM pushes images and charts)
	@IMAGE_PUSH="$(IMAGE_PUSH)" hack/release/build.sh "$(VERSION)"

.PHONY: release-test
release-test: control-plane ## Install from the files of a release in dist/VERSION alone, and check its plugin, images and checksums
	KUBEBUILDER_ASSETS="$(K8S_BIN)" RELEASE_DIR="$(CURDIR)/dist/$(VERSION)" go test ./hack/release -count 1 -timeout 20m -v -run 'TestFiles|TestInstall'

.PHONY: release-notes
release-notes: ## Print the notes of a release from the changelog and the history (VERSION=0.2.0)
	@hack/release/notes.sh "$(VERSION)"
