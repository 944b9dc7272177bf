# The tests need Go, make, bash and servers: as root on Debian or Ubuntu they
# install and start their own MariaDB and MySQL; elsewhere install both, or name
# running ones in COUNTERMYSQL_TEST_DSN.

SHELL := bash
GO ?= go
GOTESTFLAGS ?=
ARGS ?=
FOR ?= 30m

# Examples are modules of their own, so that their dependencies are not ours.
modules = find . -name go.mod -exec dirname {} \; | sort
each = set -eo pipefail; $(modules) | while read -r dir; do echo "== $$dir"; (cd "$$dir" && $(1)) </dev/null; done

.PHONY: test quick soak demo bench benchcompare lint size fmt release

# The other modules have few packages each: three at a time, each told when it is over.
others = $(modules) | grep -v '^\.$$' | xargs -P 3 -I {} bash -c 'said=$$(cd {} && eval "$$$(1)" 2>&1 </dev/null); status=$$?; printf "== %s\n%s\n" {} "$$said"; exit $$status'

# The suites of go-sql-driver and GORM are among them: integration_test/upstream
# and gormsuite. What is built for -race is built for that alone, and vetted once.
test lint: race = $(filter -race,$(GOTESTFLAGS))
test: export TEST = $(GO) build $(race) -o /dev/null ./... && $(GO) vet $(race) ./... && $(GO) test -vet=off -timeout=30m -p=3 -parallel=3 $(GOTESTFLAGS) ./...
test:
	@echo "== ."; eval "$$TEST"
	@$(call others,TEST)

# What to try before a commit, in three minutes where the servers are installed.
quick:
	@$(GO) vet ./... && COUNTERMYSQL_RANDOM_STATEMENTS=2000 $(GO) test -vet=off -p=5 -parallel=4 $(GOTESTFLAGS) . \
		$$($(GO) list ./internal/... | grep -v /testserver) ./integration_test/{databasesql,operations,random,reads,transactions,writes}

# For the given time, say FOR=30m: random statements with fresh seeds, concurrent
# histories and faults, side by side, with a line of news from each.
soak:
	@seed=$$(date +%s); echo "random comparison from seed $$seed"; pids=; \
	for dir in random histories faults; do \
		(cd integration_test/$$dir && COUNTERMYSQL_SOAK=$(FOR) COUNTERMYSQL_RANDOM_SEED=$$seed exec $(GO) test -count=1 -timeout=0 -parallel=8 $(GOTESTFLAGS)) & pids="$$pids $$!"; \
	done; \
	failed=0; for pid in $$pids; do wait $$pid || failed=1; done; exit $$failed

demo:
	@cd examples/demo && $(GO) run . $(ARGS)

# Writes docs/benchmark* in half an hour; ARGS=-quick in 8 minutes; ARGS=-render writes them
# again without measuring; ARGS=-h tells more.
bench:
	@cd bench && $(GO) run . $(ARGS)

# make benchcompare OLD=main NEW=HEAD
COUNT ?= 10
benchcompare:
	@GO="$(GO)" bench/compare "$(OLD)" "$(NEW)" "$(COUNT)"

# Needs nothing but Go; golangci-lint (https://golangci-lint.run, version 2) too, where it is
# installed. With GOTESTFLAGS=-race it builds what the tests need, too.
lint: checks = all,-ST1000,-ST1003,-ST1005,-ST1016,-ST1020,-ST1021,-ST1022,-QF*
lint:
	@tools=$$(mktemp -d); trap 'rm -rf "$$tools"' EXIT; GOBIN="$$tools" $(GO) install honnef.co/go/tools/cmd/staticcheck@v0.8.2 || exit; \
	export LINT="GOFLAGS='$$GOFLAGS $(race)' $$tools/staticcheck -checks '$(checks)' ./..."; echo "== ."; eval "$$LINT" && $(call others,LINT)
	@if command -v golangci-lint >/dev/null; then $(call each,golangci-lint run ./...); else echo "without golangci-lint, which is not installed"; fi

# Writes the sizes in docs/size.md, and the reasons. Then README.md and docs/compatibility.md have to say the same.
size:
	@$(GO) run ./.ci/size

fmt:
	@gofmt -l -w .

# make release VERSION=v1.2.3
release:
	@.ci/release "$(VERSION)"
