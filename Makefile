.PHONY: build test check

# One static binary, bin/holdmail.
build:
	CGO_ENABLED=0 go build -trimpath -o bin/holdmail ./cmd/holdmail

# Every test there is, the ones against the built binary included.
test:
	go test ./...

# What a change must pass.
check:
	test -z "$$(gofmt -l appliance cmd storage systemd)"
	go vet ./...
	go tool staticcheck ./...
	go test -race ./...
