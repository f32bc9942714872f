# What config/monitoring must keep. The first run builds promtool, which takes some minutes; PROMTOOL=FILE uses one that is there.

.PHONY: monitoring-check
monitoring-check: ## Check the dashboard and the alerts, and test the alerts with promtool
	cd hack/monitoring && go test -timeout 20m ./...
