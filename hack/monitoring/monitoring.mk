# Checks of config/monitoring. The first run builds promtool, which takes some minutes; PROMTOOL=FILE uses an existing one.

.PHONY: monitoring-check
monitoring-check: ## Check the dashboard and the alerts, and test the alerts with promtool
	cd hack/monitoring && go test -timeout 20m ./...
