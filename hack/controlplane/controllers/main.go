// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command controllers runs the Kubernetes controllers that a control plane without nodes needs: the garbage collector, the namespace
// controller and the aggregation of ClusterRoles. They are those of kube-controller-manager, with its settings; a program of three
// builds in a fraction of the time.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
)

// The defaults of kube-controller-manager.
const (
	qps, burst         = 20, 30
	resync             = 12 * time.Hour
	discoveryPeriod    = 30 * time.Second
	collectors         = 20
	namespaceWorkers   = 10
	namespaceResync    = 5 * time.Minute
	aggregationWorkers = 5
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "path of the kubeconfig file")
	klog.InitFlags(nil)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, "controllers:", err)
		os.Exit(1)
	}
}

// run runs the controllers until ctx ends.
func run(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = qps, burst
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	shared := informers.NewSharedInformerFactory(client, resync)
	started := make(chan struct{})
	collect, err := newGarbageCollector(ctx, config, client, shared, started)
	if err != nil {
		return fmt.Errorf("set up the garbage collector: %w", err)
	}
	empty, err := newNamespaceController(ctx, config, shared)
	if err != nil {
		return fmt.Errorf("set up the namespace controller: %w", err)
	}
	aggregation := clusterroleaggregation.NewClusterRoleAggregation(shared.Rbac().V1().ClusterRoles(), client.RbacV1())

	var running sync.WaitGroup
	running.Go(func() { collect(ctx) })
	running.Go(func() { empty(ctx) })
	running.Go(func() { aggregation.Run(ctx, aggregationWorkers) })
	shared.Start(ctx.Done())
	close(started)
	running.Wait()
	return nil
}

func newGarbageCollector(ctx context.Context, config *rest.Config, client kubernetes.Interface, shared informers.SharedInformerFactory,
	started <-chan struct{},
) (func(context.Context), error) {
	config = rest.CopyConfig(config)
	config.QPS *= 2 // a deletion takes two requests
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	go wait.Until(mapper.Reset, discoveryPeriod, ctx.Done())
	factory := informerfactory.NewInformerFactory(shared, metadatainformer.NewSharedInformerFactory(objects, resync))
	graph := garbagecollector.NewDependencyGraphBuilder(ctx, objects, mapper, garbagecollector.DefaultIgnoredResources(), factory, started)
	collector, err := garbagecollector.NewComposedGarbageCollector(ctx, client, objects, mapper, graph)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) {
		var running sync.WaitGroup
		running.Go(func() { collector.Run(ctx, collectors, discoveryPeriod) })
		running.Go(func() { collector.Sync(ctx, client.Discovery(), discoveryPeriod) })
		running.Wait()
	}, nil
}

func newNamespaceController(ctx context.Context, config *rest.Config, shared informers.SharedInformerFactory) (func(context.Context), error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = config.QPS*20, config.Burst*100 // it sends a request for each kind
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	controller := namespace.NewNamespaceController(ctx, client, objects, client.Discovery().ServerPreferredNamespacedResources,
		shared.Core().V1().Namespaces(), namespaceResync, corev1.FinalizerKubernetes)
	return func(ctx context.Context) { controller.Run(ctx, namespaceWorkers) }, nil
}
