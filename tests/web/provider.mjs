// A certified OpenID provider, for the tests: whoever types a name is that person. deno run -A provider.mjs PORT
import Provider from "oidc-provider";

const port = Number(process.argv[2]);
const issuer = `http://127.0.0.1:${port}`;
const provider = new Provider(issuer, {
  clients: [{
    client_id: "directory",
    client_secret: "a secret of thirty-two characters",
    // Of a native application any port of this machine is taken.
    application_type: "native",
    redirect_uris: ["http://127.0.0.1/api/auth/providers/company/callback"],
  }],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["preferred_username"] },
  cookies: { keys: ["of these tests alone"] },
  findAccount: (_context, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: `${id}@example.org`, email_verified: true, preferred_username: id }),
  }),
});
provider.listen(port, "127.0.0.1", () => console.log("ready"));
