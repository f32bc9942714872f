// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package servingcert makes and renews the certificate of a server in the cluster, without a certificate manager.
//
// A Keeper holds a certificate authority and a serving certificate in a Secret, and writes what vouches for it into the
// spec.caBundle of the APIService that leads to the server. Every replica runs one. They agree by way of the Secret: who comes
// first writes it, the others read it, and a conflict means to read again.
//
//	          Secret                               APIService
//	tls.crt   the serving certificate
//	tls.key   its key
//	ca.crt    the authority, and the one before ─▶ spec.caBundle
//	ca.key    the authority's key
//
// A serving certificate is renewed under the same authority, which nobody notices. The authority is renewed in steps, so that at
// no time a replica serves a certificate for which the caBundle does not vouch:
//
//  1. a new authority joins the old one in the bundle; the serving certificate stays;
//  2. Policy.Overlap after that, if the APIService has the bundle (or there is none), the new authority signs a serving certificate;
//  3. Policy.Overlap after that, when every replica serves it, the old authority leaves the bundle.
//
// A serving certificate that nobody can take any more, because it has expired or is for other names, is replaced without these steps.
//
// All times are read from the certificates, so no step needs a memory. A Secret that somebody has deleted or spoilt is step 1 for
// a replica that still serves, and a start from nothing for one that does not: deleting the Secret is how to renew by hand.
//
// policy.go says when; pair.go and material.go hold, read and sign; renew.go decides;
// sync.go acts; publish.go tells the API server; keeper.go serves.
package servingcert
