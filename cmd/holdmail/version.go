package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by the linker, where the build knows better than Go does:
// -ldflags "-X main.version=v1.2.3".
var version string

// showVersion prints the version.
type showVersion struct{}

// Run prints one line.
func (showVersion) Run() error {
	_, err := fmt.Printf("holdmail %s %s %s/%s\n", linkedVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// linkedVersion is the linker's version, else what Go made of the repository.
func linkedVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
