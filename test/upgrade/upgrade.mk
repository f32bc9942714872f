##@ Upgrade

# The newest release, or the commit before this one.
UPGRADE_FROM ?= $(shell git describe --tags --abbrev=0 HEAD^ 2>/dev/null || git rev-parse HEAD^ 2>/dev/null)

.PHONY: upgrade
upgrade: control-plane ## Upgrade a running operator of an earlier commit to this one (UPGRADE_FROM, UPGRADE_OPERATOR=its binary, UPGRADE_STOP=TERM or LATER)
	KUBEBUILDER_ASSETS="$(K8S_BIN)" UPGRADE_FROM=$(UPGRADE_FROM) UPGRADE_STOP=$(UPGRADE_STOP) go test ./test/upgrade -count 1 -timeout 30m -v -run TestLiveUpgrade

.PHONY: upgrade-fixture
upgrade-fixture: control-plane ## Save the state that the operator of a commit leaves behind, for the tests of later ones (UPGRADE_FROM; needs sqlite3, pg_dump)
	KUBEBUILDER_ASSETS="$(K8S_BIN)" UPGRADE_FROM=$(UPGRADE_FROM) UPGRADE_WRITE=1 go test ./test/upgrade -count 1 -timeout 30m -v -run TestWriteFixture
