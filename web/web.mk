# The web page. It needs Node 20.19 or later and npm; without them the programs are built without the page, and say so.

##@ Web page

.PHONY: web
web: web/node_modules/.package-lock.json ## Build the web page, which the next make build puts into the programs
	npm run --prefix web build

web/node_modules/.package-lock.json: web/package-lock.json
	@# Not npm ci: it insists on entries for the optional packages of platforms that this lock file was not made on.
	npm install --prefix web --no-save --no-audit --no-fund && touch $@

.PHONY: web-test
web-test: web/node_modules/.package-lock.json ## Check the types of the web page and run its unit tests
	npm run --prefix web check
	npm run --prefix web test

.PHONY: web-stack
web-stack: web control-plane oidc-provider
	go build -o bin/web-stack ./test/web

.PHONY: web-e2e
web-e2e: web-stack ## Drive the web page through its flows on the real stack, with the system's Chromium
	KUBEBUILDER_ASSETS="$(K8S_BIN)" npm run --prefix web e2e

.PHONY: web-screenshots
web-screenshots: web-stack ## Make the pictures of the documentation (SHOTS=all: every state, into web/shots)
	KUBEBUILDER_ASSETS="$(K8S_BIN)" npm run --prefix web screenshots
