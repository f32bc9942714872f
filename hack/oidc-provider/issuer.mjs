// An OpenID Connect issuer on oidc-provider, for tests: issuer.mjs CERTIFICATE KEY. People sign in with any password in
// its forms; their email address is NAME@example.com, and alice has the group team-a.
import { readFileSync } from "node:fs";
import { createServer } from "node:https";

import Provider from "oidc-provider";

const [certificate, key] = process.argv.slice(2);
const server = createServer({ cert: readFileSync(certificate), key: readFileSync(key) });

server.listen(0, () => {
  const provider = new Provider(`https://127.0.0.1:${server.address().port}`, {
    clients: [
      {
        client_id: "nestor",
        client_secret: "the secret of the client",
        application_type: "native", // its redirect URIs on loopback may have any port
        grant_types: ["authorization_code", "refresh_token"],
        redirect_uris: ["https://nestor.example.com/oidc/callback", "http://127.0.0.1/oidc/callback"],
      },
    ],
    claims: { openid: ["sub"], email: ["email", "email_verified"], groups: ["groups"] },
    conformIdTokenClaims: false, // the ID token has the claims of its scopes
    features: { revocation: { enabled: true } },
    findAccount: (_context, name) => ({
      accountId: name,
      claims: () => ({
        sub: name,
        email: `${name}@example.com`,
        email_verified: true,
        groups: name === "alice" ? ["team-a"] : [],
      }),
    }),
    issueRefreshToken: () => true,
    rotateRefreshToken: true,
  });
  server.on("request", provider.callback());
});
