// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command pause holds a pod's namespaces open until it is signalled.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	<-stop
}
