//go:build race

package e2e

// raced: the tests run with the race detector.
const raced = true
