# The site of the documentation. It needs Node 20.19 or later and npm.

##@ Documentation

.PHONY: site
site: ## Build the site of the documentation, with search, into dist/site; a dead link fails (SITE_BASE=/path/ if it is not served at the root)
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory hack/site/node_modules/.package-lock.json && npm run --prefix hack/site build; \
	else echo "no npm: the site of the documentation is not built"; fi

hack/site/node_modules/.package-lock.json: hack/site/package-lock.json
	@# Not npm ci: it insists on entries for the optional packages of platforms that this lock file was not made on.
	npm install --prefix hack/site --no-save --no-audit --no-fund && touch $@
