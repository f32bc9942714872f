// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"k8s.io/utils/ptr"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/model/cloudauth"
	"github.com/nestor-dev/nestor/internal/model/wire"
	"github.com/nestor-dev/nestor/internal/outbound"
)

// usesOperatorIdentity reports whether the requests to a provider have the identity of the operator's pod.
func usesOperatorIdentity(spec *v1beta1.ModelProviderSpec) bool {
	return spec.AWS != nil && ptr.Deref(spec.AWS.UseOperatorIdentity, false) ||
		spec.GoogleCloud != nil && ptr.Deref(spec.GoogleCloud.UseOperatorIdentity, false)
}

// checkIdentity refuses the identity of the operator's pod to providers in other namespaces, whose authors are not its
// owners.
func (c *Clients) checkIdentity(object *v1beta1.ModelProvider) error {
	if !usesOperatorIdentity(&object.Spec) || object.Namespace == c.Finder.OperatorNamespace && object.Namespace != "" {
		return nil
	}
	return &resolve.Missing{Reason: v1beta1.ReasonIdentityNotAllowed, Message: fmt.Sprintf(
		"useOperatorIdentity is allowed only for providers in the operator's namespace, %s: use credentials of your own, or a provider that is shared from there.", c.Finder.OperatorNamespace)}
}

// identify adds the address of a cloud, and the identity of requests there, to an endpoint.
func (c *Clients) identify(object *v1beta1.ModelProvider, endpoint *wire.Endpoint) error {
	if err := c.checkIdentity(object); err != nil {
		return err
	}
	switch spec := &object.Spec; {
	case spec.API == v1beta1.APIBedrock && spec.AWS != nil:
		if endpoint.BaseURL == "" {
			endpoint.BaseURL = "https://bedrock-runtime." + cloudauth.AWSDomain(spec.AWS.Region)
		}
		if source := c.awsSource(object, outbound.New(c.Outbound)); source != nil {
			endpoint.Signature = cloudauth.Signature(source, "bedrock", spec.AWS.Region)
		}
	case spec.API == v1beta1.APIVertex && spec.GoogleCloud != nil:
		base, err := vertexURL(spec)
		if err != nil {
			return err
		}
		endpoint.BaseURL = base
		switch place := spec.GoogleCloud; {
		case usesOperatorIdentity(spec):
			endpoint.Key = cloudauth.OperatorGoogle()
		case place.ServiceAccountKeyRef != nil:
			key := func(ctx context.Context) ([]byte, error) {
				return c.Finder.Secret(ctx, object.Namespace, *place.ServiceAccountKeyRef)
			}
			endpoint.Key = cloudauth.ServiceAccount(key, outbound.New(c.Outbound))
		}
	case spec.API == v1beta1.APIBedrock, spec.API == v1beta1.APIVertex:
		return fmt.Errorf("the API %s needs spec.aws or spec.googleCloud", spec.API)
	}
	return nil
}

// awsSource returns the credentials of a provider, or nil if it has an API key.
func (c *Clients) awsSource(object *v1beta1.ModelProvider, transport http.RoundTripper) cloudauth.AWSSource {
	place := object.Spec.AWS
	sts := cloudauth.STS{URL: place.STSURL, Region: place.Region, Transport: transport}
	var source cloudauth.AWSSource
	switch {
	case HasKey(object):
		return nil
	case usesOperatorIdentity(&object.Spec):
		source = cloudauth.OperatorAWS(sts)
	case place.WebIdentity != nil:
		source = sts.WebIdentity(string(place.WebIdentity.RoleARN), func(context.Context) (string, error) {
			return readKeyFile(c.KeyDir, object.Namespace, place.WebIdentity.TokenFile)
		})
	case place.AccessKey != nil:
		source = func(ctx context.Context) (aws.Credentials, error) {
			return c.accessKey(ctx, object.Namespace, place.AccessKey)
		}
	default:
		return nil
	}
	if role := place.AssumeRole; role != nil {
		source = sts.AssumeRole(string(role.RoleARN), role.ExternalID, source)
	}
	return source
}

func (c *Clients) accessKey(ctx context.Context, namespace string, key *v1beta1.AWSAccessKey) (aws.Credentials, error) {
	var out aws.Credentials
	for _, part := range []struct {
		ref  *v1beta1.SecretKeyRef
		into *string
	}{{&key.IDRef, &out.AccessKeyID}, {&key.SecretRef, &out.SecretAccessKey}, {key.SessionTokenRef, &out.SessionToken}} {
		if part.ref == nil {
			continue
		}
		value, err := c.Finder.Secret(ctx, namespace, *part.ref)
		if err != nil {
			return aws.Credentials{}, err
		}
		*part.into = strings.TrimSpace(string(value))
	}
	return out, nil
}

// vertexURL returns the address of a project and location.
func vertexURL(spec *v1beta1.ModelProviderSpec) (string, error) {
	place := spec.GoogleCloud
	address := spec.BaseURL
	if address == "" {
		switch place.Location {
		case "", "global":
			address = "https://aiplatform.googleapis.com"
		case "us", "eu":
			address = "https://aiplatform." + place.Location + ".rep.googleapis.com"
		default:
			address = "https://" + place.Location + "-aiplatform.googleapis.com"
		}
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("spec.baseURL is not a URL")
	}
	return u.JoinPath("v1", "projects", place.Project, "locations", cmp.Or(place.Location, "global")).String(), nil
}
