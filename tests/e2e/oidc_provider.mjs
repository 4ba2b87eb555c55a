// An OpenID provider on loopback: the certified package oidc-provider with its own pages for signing in and out.
// node oidc_provider.mjs PORT REDIRECT_URI PEOPLE     where PEOPLE is JSON: subject -> claims; any password will do
import Provider from 'oidc-provider';

const [port, redirectUri, people] = [process.argv[2], process.argv[3], JSON.parse(process.argv[4])];
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{
    client_id: 'chatbot',
    client_secret: 'a secret of this test',
    redirect_uris: [redirectUri],
    post_logout_redirect_uris: [redirectUri],
  }],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
  conformIdTokenClaims: false, // Streamlit reads the ID token alone, and not the provider's endpoint for claims
  cookies: { keys: ['a key of this test'] },
  findAccount: (_, subject) => people[subject] && {
    accountId: subject,
    claims: () => ({ sub: subject, ...people[subject] }),
  },
});
provider.listen(Number(port), '127.0.0.1');
