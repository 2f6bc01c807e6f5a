package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// usualFile is path, or if that is empty the file of this name in the folder of
// the user's own settings.
func usualFile(path, name string) (string, error) {
	if path != "" {
		return path, nil
	}
	config, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("there is no usual place for %s, so name one: %w", name, err)
	}
	return filepath.Join(config, "holdmail", name), nil
}
