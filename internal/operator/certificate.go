// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"errors"
	"fmt"

	"k8s.io/client-go/kubernetes"
	registration "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"

	"github.com/nestor-dev/nestor/internal/servingcert"
)

// Certificate is the source of the history API's certificate: files, else a Secret that the operator maintains, else a certificate that the
// server creates at each start (see history.Server.CABundle).
type Certificate struct {
	File, KeyFile string
	// Secret is the name of the Secret in the operator's namespace.
	Secret string
	// Service is the name of the Service of the history API: a certificate that the operator creates is for NAME.NAMESPACE.svc.
	Service string
	// APIService is the name of the APIService whose caBundle is updated from the Secret.
	APIService string
}

// historyHost returns the host name by which the API server reaches the history API.
func (o *Operator) historyHost() string {
	return o.options.History.Certificate.Service + "." + o.options.Controllers.OperatorNamespace + ".svc"
}

// certificateKeeper returns the keeper that creates and renews the certificate in the Secret. The first call adds it to the manager.
func (o *Operator) certificateKeeper() (*servingcert.Keeper, error) {
	if o.keeper != nil {
		return o.keeper, nil
	}
	core, err := kubernetes.NewForConfig(o.manager.GetConfig())
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	registered, err := registration.NewForConfig(o.manager.GetConfig())
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	certificate := o.options.History.Certificate
	registrations := []servingcert.Registration{servingcert.APIService{Name: certificate.APIService, Client: registered.APIServices()}}
	if admission := o.options.Admission; !off(admission.Address) {
		registrations = append(registrations, servingcert.Webhook{
			Configuration: admission.Configuration, Name: webhookName, Client: core.AdmissionregistrationV1().ValidatingWebhookConfigurations(),
		})
	}
	keeper := servingcert.New(servingcert.Options{
		Names: o.certificateHosts(), SecretName: certificate.Secret, Secrets: core.CoreV1().Secrets(o.options.Controllers.OperatorNamespace),
		Registrations: registrations, Log: o.manager.GetLogger().WithName("certificate"),
	})
	if err := o.manager.AddReadyzCheck("certificate", keeper.Ready); err != nil {
		return nil, fmt.Errorf("add the certificate's readiness check: %w", err)
	}
	if err := o.manager.Add(keeper); err != nil {
		return nil, fmt.Errorf("add the keeper of the certificate: %w", err)
	}
	o.keeper = keeper
	return keeper, nil
}

// servingCertificate returns the certificate of the history API, for the other servers of the operator.
func (o *Operator) servingCertificate() (servingcert.Source, error) {
	certificate := o.options.History.Certificate
	switch {
	case certificate.Secret != "":
		return o.certificateKeeper()
	case certificate.File == "":
		return nil, errors.New("the endpoints of the operator need the certificate of the history API: files, or a Secret")
	case o.files != nil:
		return *o.files, nil
	}
	files, err := servingcert.NewFiles(certificate.File, certificate.KeyFile)
	if err != nil {
		return nil, err
	}
	if err := o.manager.Add(files); err != nil {
		return nil, fmt.Errorf("add the certificate in files: %w", err)
	}
	o.files = &files
	return files, nil
}

func (o *Operator) certificateHosts() []string {
	hosts := []string{o.historyHost()}
	if gateway := o.options.Gateway; !off(gateway.Address) && !gateway.Insecure {
		hosts = append(hosts, gateway.Endpoint+"."+o.options.Controllers.OperatorNamespace+".svc")
	}
	return hosts
}
