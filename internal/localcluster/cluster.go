// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/nestor-dev/nestor/config/crd"
)

// Options configure a cluster. The zero value is a temporary one with binaries from the default directory.
type Options struct {
	// Assets is the directory with the binaries; see the function Assets for the default.
	Assets string
	// StateDir holds the cluster's state, which a later Start with the same directory reuses. Empty means a temporary
	// directory, which Stop removes.
	StateDir string
	// Progress, if set, is called with each step of the start.
	Progress func(step string)
	// Log receives the output of the control plane; nil drops it.
	Log io.Writer
	// StartTimeout limits the start of each part; zero means two minutes, for busy machines.
	StartTimeout time.Duration
	// AuthenticationConfig is the path of the API server's AuthenticationConfiguration; empty means none.
	AuthenticationConfig string
}

// Cluster is a running control plane.
type Cluster struct {
	// Config is an administrator's client configuration.
	Config *rest.Config
	// Kubeconfig is the path of the corresponding kubeconfig file.
	Kubeconfig string
	// Kubectl is the path of a kubectl of the cluster's version.
	Kubectl string

	lock        *os.File
	env         *envtest.Environment
	controllers *controllersProcess
	guard       *guard
	restarted   *restartedServer
	stateDir    string
	temporary   bool
}

// Start runs a control plane with Nestor's CRDs. If it fails, or ctx ends, nothing is left running.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	assets, err := Assets(options.Assets)
	if err != nil {
		return nil, err
	}
	cluster := &Cluster{Kubectl: filepath.Join(assets, kubectl)}
	if err := cluster.makeStateDir(options.StateDir); err != nil {
		return nil, err
	}
	if err := cluster.start(ctx, assets, options); err != nil {
		return nil, errors.Join(err, cluster.Stop())
	}
	return cluster, nil
}

func (c *Cluster) makeStateDir(dir string) error {
	if dir == "" {
		temp, err := os.MkdirTemp("", "nestor-cluster-")
		if err != nil {
			return fmt.Errorf("create the cluster's state directory: %w", err)
		}
		c.stateDir, c.temporary = temp, true
		return nil
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("resolve the cluster's state directory: %w", err)
	}
	c.stateDir = absolute
	if err := os.MkdirAll(absolute, 0o700); err != nil {
		return fmt.Errorf("create the cluster's state directory: %w", err)
	}
	c.lock, err = lockDir(absolute)
	return err
}

// ErrInUse is the error of Start if a cluster runs in the state directory.
var ErrInUse = errors.New("another cluster runs")

// lockDir ensures that only one cluster at a time uses a state directory. The lock ends with the process.
func lockDir(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the cluster's state directory: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%w in %s: stop it, or use another directory", ErrInUse, dir), file.Close())
	}
	return file, nil
}

func (c *Cluster) start(ctx context.Context, assets string, options Options) error {
	progress := options.Progress
	if progress == nil {
		progress = func(string) {}
	}
	var err error
	if c.guard, err = startGuard(c.stateDir, c.temporary); err != nil {
		return err
	}
	progress("starting etcd and the API server, installing the CRDs")
	if err := c.startAPIServer(ctx, assets, options); err != nil {
		return err
	}
	c.Kubeconfig = filepath.Join(c.stateDir, "kubeconfig")
	if err := os.WriteFile(c.Kubeconfig, c.env.KubeConfig, 0o600); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	progress("starting the garbage collector")
	launcher, err := c.guard.launcher(filepath.Join(assets, controllers))
	if err != nil {
		return err
	}
	c.controllers, err = startControllers(ctx, launcher, c.Kubeconfig, options.Log)
	return err
}

func (c *Cluster) startAPIServer(ctx context.Context, assets string, options Options) error {
	crds, err := crd.All()
	if err != nil {
		return err
	}
	etcdLauncher, err := c.guard.launcher(filepath.Join(assets, etcd))
	if err != nil {
		return err
	}
	serverLauncher, err := c.guard.launcher(filepath.Join(assets, apiServer))
	if err != nil {
		return err
	}
	timeout := options.StartTimeout
	if timeout == 0 {
		timeout = 2 * time.Minute
	}
	dataDir, certDir := filepath.Join(c.stateDir, "etcd"), filepath.Join(c.stateDir, "certificates")
	// envtest only has the certificates of an API server that it created itself.
	if err := os.RemoveAll(certDir); err != nil {
		return fmt.Errorf("remove the certificates of the last run: %w", err)
	}
	for _, dir := range []string{dataDir, certDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("create the cluster's state directory: %w", err)
		}
	}
	server := &envtest.APIServer{Path: serverLauncher, CertDir: certDir, Out: options.Log, Err: options.Log}
	if err := enableAggregation(server, certDir); err != nil {
		return err
	}
	if options.AuthenticationConfig != "" {
		server.Configure().Set("authentication-config", options.AuthenticationConfig)
	}
	c.env = &envtest.Environment{
		CRDs:                     crds,
		ControlPlaneStartTimeout: timeout,
		ControlPlane: envtest.ControlPlane{
			Etcd:        &envtest.Etcd{Path: etcdLauncher, DataDir: dataDir, Out: options.Log, Err: options.Log},
			APIServer:   server,
			KubectlPath: c.Kubectl,
		},
	}
	// envtest's Start takes no context; it is left to finish, and Stop undoes it.
	started := make(chan error, 1)
	go func() {
		config, err := c.env.Start()
		c.Config = config
		// Nestor has no webhooks. The certificates that envtest creates for them would be left behind after a kill.
		started <- errors.Join(err, c.env.WebhookInstallOptions.Cleanup())
	}()
	select {
	case err := <-started:
		if err != nil {
			return fmt.Errorf("start the control plane: %w", err)
		}
		return nil
	case <-ctx.Done():
		<-started
		return fmt.Errorf("start the control plane: %w", context.Cause(ctx))
	}
}

// Stop stops the control plane and waits until its processes have ended. It may be called after a failed start.
func (c *Cluster) Stop() error {
	// If one process is dead, the others could wait for it for a long time. A temporary cluster has no state to keep, and
	// the API server takes a second to stop. In both cases the guard kills them.
	kill := c.guard != nil && (c.temporary || c.guard.deadProgram() != "")
	var errs []error
	if !kill {
		errs = c.stopProcesses()
	}
	if c.guard != nil {
		errs = append(errs, c.guard.close(!kill && len(errs) == 0))
	}
	if c.temporary {
		errs = append(errs, os.RemoveAll(c.stateDir))
	}
	if c.lock != nil {
		errs = append(errs, c.lock.Close())
	}
	return errors.Join(errs...)
}

func (c *Cluster) stopProcesses() (errs []error) {
	if c.controllers != nil {
		if err := c.controllers.stop(); err != nil {
			errs = append(errs, err)
		}
	}
	if c.restarted != nil {
		if err := c.restarted.stop(); err != nil {
			errs = append(errs, err)
		}
	}
	if c.env != nil {
		if err := c.env.Stop(); err != nil {
			errs = append(errs, fmt.Errorf("stop the control plane: %w", err))
		}
	}
	return errs
}

// watchPeriod is the interval at which the processes are checked.
const watchPeriod = 500 * time.Millisecond

// Watch waits until a process of the control plane ends unexpectedly, and returns an error with its name. It returns
// nil when ctx ends. Processes are found by their IDs, because envtest does not report their end.
func (c *Cluster) Watch(ctx context.Context) error {
	ticker := time.NewTicker(watchPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if dead := c.guard.deadProgram(); dead != "" {
			return fmt.Errorf("%s has ended unexpectedly", dead)
		}
	}
}

// AddUser returns a client configuration for a user with these groups, for tests of RBAC and policies.
func (c *Cluster) AddUser(name string, groups ...string) (*rest.Config, error) {
	user, err := c.env.AddUser(envtest.User{Name: name, Groups: groups}, nil)
	if err != nil {
		return nil, fmt.Errorf("add user %s: %w", name, err)
	}
	return user.Config(), nil
}
