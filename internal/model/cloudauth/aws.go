// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cloudauth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
	"github.com/nestor-dev/nestor/internal/outbound"
)

// AWSSource returns credentials that have not expired.
type AWSSource func(ctx context.Context) (aws.Credentials, error)

// Signature returns a function that signs requests to a service of AWS with Signature Version 4.
func Signature(source AWSSource, service, region string) func(context.Context) (*wire.Signature, error) {
	signer := v4.NewSigner()
	return func(ctx context.Context) (*wire.Signature, error) {
		credentials, err := source(ctx)
		if err != nil {
			return nil, err
		}
		sign := func(request *http.Request, bodyDigest string) error {
			return signer.SignHTTP(request.Context(), credentials, request, bodyDigest, service, region, time.Now())
		}
		return &wire.Signature{Sign: sign, Token: credentials.SessionToken}, nil
	}
}

// STS is AWS's Security Token Service.
type STS struct {
	// URL is empty for that of the region.
	URL, Region string
	Transport   http.RoundTripper
}

// sessionName names the sessions of roles in the logs of AWS.
const sessionName = "nestor"

// WebIdentity returns the source of a role's credentials for an identity provider's token.
func (s STS) WebIdentity(role string, token func(context.Context) (string, error)) AWSSource {
	c := newCache[aws.Credentials]()
	return func(ctx context.Context) (aws.Credentials, error) {
		value, err := token(ctx)
		if err != nil {
			return aws.Credentials{}, err
		}
		return c.get(ctx, value, func(ctx context.Context) (aws.Credentials, time.Time, error) {
			form := url.Values{"Action": {"AssumeRoleWithWebIdentity"}, "RoleArn": {role}, "RoleSessionName": {sessionName}, "WebIdentityToken": {value}}
			return s.request(ctx, form, nil)
		})
	}
}

// AssumeRole returns a source of credentials of a role, which it assumes with other credentials.
func (s STS) AssumeRole(role, externalID string, base AWSSource) AWSSource {
	c := newCache[aws.Credentials]()
	return func(ctx context.Context) (aws.Credentials, error) {
		own, err := base(ctx)
		if err != nil {
			return aws.Credentials{}, err
		}
		return c.get(ctx, fmt.Sprintf("%q%q%q", own.AccessKeyID, own.SecretAccessKey, own.SessionToken), func(ctx context.Context) (aws.Credentials, time.Time, error) {
			form := url.Values{"Action": {"AssumeRole"}, "RoleArn": {role}, "RoleSessionName": {sessionName}}
			if externalID != "" {
				form.Set("ExternalId", externalID)
			}
			return s.request(ctx, form, &own)
		})
	}
}

// AWSDomain returns the domain of a region's services.
func AWSDomain(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return region + ".amazonaws.com.cn"
	}
	return region + ".amazonaws.com"
}

const maxResponse = 64 << 10

// request requests credentials of a role. It is signed if there are credentials.
func (s STS) request(ctx context.Context, form url.Values, own *aws.Credentials) (aws.Credentials, time.Time, error) {
	var none aws.Credentials
	form.Set("Version", "2011-06-15")
	body := form.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, cmp.Or(s.URL, "https://sts."+AWSDomain(s.Region)+"/"), strings.NewReader(body))
	if err != nil {
		return none, time.Time{}, failed(model.BadRequest, "the URL of the Security Token Service cannot be used")
	}
	host := request.URL.Host
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if own != nil {
		sum := sha256.Sum256([]byte(body))
		if err := v4.NewSigner().SignHTTP(ctx, *own, request, hex.EncodeToString(sum[:]), "sts", s.Region, time.Now()); err != nil {
			return none, time.Time{}, failed(model.NoKey, "the request to the Security Token Service cannot be signed")
		}
	}
	data, status, err := send(s.Transport, request)
	if err != nil {
		return none, time.Time{}, err
	}
	if status != http.StatusOK {
		return none, time.Time{}, refusal(host, form.Get("RoleArn"), status, data)
	}
	var answer struct {
		Web    awsCredentials `xml:"AssumeRoleWithWebIdentityResult>Credentials"`
		Direct awsCredentials `xml:"AssumeRoleResult>Credentials"`
	}
	if err := xml.Unmarshal(data, &answer); err != nil {
		return none, time.Time{}, failed(model.Malformed, "the Security Token Service at %s sends no credentials", host)
	}
	return cmp.Or(answer.Web, answer.Direct).value(host)
}

// awsCredentials are credentials in AWS's XML and JSON.
type awsCredentials struct {
	AccessKeyID     string `xml:"AccessKeyId" json:"AccessKeyId"`
	SecretAccessKey string
	SessionToken    string `xml:"SessionToken" json:"Token"`
	Expiration      time.Time
}

func (c awsCredentials) value(host string) (aws.Credentials, time.Time, error) {
	if c.AccessKeyID == "" || c.SecretAccessKey == "" || c.SessionToken == "" || !c.Expiration.After(time.Now()) {
		return aws.Credentials{}, time.Time{}, failed(model.Malformed, "%s sends no credentials", host)
	}
	return aws.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey, SessionToken: c.SessionToken}, c.Expiration, nil
}

// code matches the codes of errors that are shown.
var code = regexp.MustCompile(`^[A-Za-z]{1,64}$`)

func refusal(host, role string, status int, data []byte) error {
	var answer struct {
		Code string `xml:"Error>Code"`
	}
	if xml.Unmarshal(data, &answer) != nil || !code.MatchString(answer.Code) {
		answer.Code = http.StatusText(status)
	}
	kind := model.Unauthorized
	switch {
	case answer.Code == "Throttling" || status == http.StatusTooManyRequests:
		kind = model.RateLimited
	case status >= 500:
		kind = model.Transient
	}
	return failed(kind, "the Security Token Service at %s refuses the role %s (%d %s)", host, role, status, answer.Code)
}

// send sends a request without following redirects, and reads the response.
func send(transport http.RoundTripper, request *http.Request) ([]byte, int, error) {
	host := request.URL.Host
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, 0, unreachable(request.Context(), host, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= 300 && response.StatusCode < 400 {
		return nil, 0, failed(model.NotAllowed, "%s redirects, which is not followed", host)
	}
	data, err := io.ReadAll(outbound.LimitBody(response.Body, maxResponse))
	if err != nil {
		return nil, 0, unreachable(request.Context(), host, err)
	}
	return data, response.StatusCode, nil
}

func unreachable(ctx context.Context, host string, err error) error {
	var forbidden *outbound.NotAllowedError
	switch {
	case errors.As(err, &forbidden):
		return failed(model.NotAllowed, "%s", forbidden.Error())
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	}
	return failed(model.Transient, "%s cannot be reached for credentials", host)
}

// OperatorAWS returns the identity of the operator's pod: the role of its service account (IRSA), or that of EKS Pod
// Identity. The role of the node is not used.
func OperatorAWS(sts STS) AWSSource {
	role, tokenFile := os.Getenv("AWS_ROLE_ARN"), os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE")
	if role != "" && tokenFile != "" {
		return sts.WebIdentity(role, func(context.Context) (string, error) { return readToken(tokenFile) })
	}
	address, authorization := os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI"), os.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
	c := newCache[aws.Credentials]()
	return func(ctx context.Context) (aws.Credentials, error) {
		if address == "" || authorization == "" {
			return aws.Credentials{}, failed(model.NoKey, "the operator's pod has no identity in AWS: give its service account a role (IRSA or EKS Pod Identity)")
		}
		return c.get(ctx, "", func(ctx context.Context) (aws.Credentials, time.Time, error) {
			return podIdentity(ctx, address, authorization)
		})
	}
}

func readToken(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", failed(model.NoKey, "the token of the operator's pod cannot be read")
	}
	return strings.TrimSpace(string(data)), nil
}

// podIdentity requests credentials from the EKS Pod Identity agent, which has a link-local address.
func podIdentity(ctx context.Context, address, tokenFile string) (aws.Credentials, time.Time, error) {
	token, err := readToken(tokenFile)
	if err != nil {
		return aws.Credentials{}, time.Time{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return aws.Credentials{}, time.Time{}, failed(model.NoKey, "AWS_CONTAINER_CREDENTIALS_FULL_URI is not a URL")
	}
	request.Header.Set("Authorization", token)
	data, status, err := send(http.DefaultTransport, request)
	if err != nil {
		return aws.Credentials{}, time.Time{}, err
	}
	var answer awsCredentials
	if status != http.StatusOK || json.Unmarshal(data, &answer) != nil {
		return aws.Credentials{}, time.Time{}, failed(model.Unauthorized, "EKS Pod Identity has no credentials for the operator's pod (%d)", status)
	}
	return answer.value("EKS Pod Identity")
}
