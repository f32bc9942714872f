// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package servingcert creates and renews the certificate of a server in the cluster, without a certificate manager.
//
// A Keeper stores a certificate authority and a serving certificate in a Secret, and writes the authorities to the
// caBundle of the server's registrations: an APIService, a ValidatingWebhookConfiguration, or both. Every replica runs
// one. They coordinate through the Secret: the first one writes it, the others read it, and after a conflict it is read
// again.
//
//	          Secret                               registrations
//	tls.crt   the serving certificate
//	tls.key   its key
//	ca.crt    the authority, and the one before ─▶ caBundle
//	ca.key    the authority's key
//
// A serving certificate is renewed under the same authority, which is transparent to clients. The authority is renewed
// in steps, so that a replica never serves a certificate that the caBundle does not cover:
//
//  1. A new authority is added to the bundle; the serving certificate stays.
//  2. Policy.Overlap later, if every registration has the bundle (or does not exist), the new authority signs a serving
//     certificate.
//  3. Policy.Overlap later, when every replica serves it, the old authority is removed from the bundle.
//
// A serving certificate that is useless, because it has expired or is for other names, is replaced without these steps.
//
// All times are read from the certificates, so no step needs other state. If the Secret was deleted or damaged, a
// replica that still serves does step 1, and one that does not starts from scratch: to renew by hand, delete the Secret.
//
// policy.go has the intervals; pair.go and material.go store, parse and sign; renew.go decides; sync.go acts;
// publish.go updates the registrations; keeper.go serves.
package servingcert
