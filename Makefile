.PHONY: build test bench check

# One static binary, bin/holdmail.
build:
	CGO_ENABLED=0 go build -trimpath -o bin/holdmail ./cmd/holdmail

# Every test there is, the ones against the built binary included. It installs
# what they need.
test:
	sh .ci/prepare
	go test ./...

# The figures, all in one run.
bench:
	go test -run '^$$' -bench . -timeout 1h ./...

# What must hold before a change lands.
check:
	bash .ci/run
