/**
 * Run once after deploying the worker: creates a signing key, registers the webhook, and stores the worker's secrets.
 * Uses the environment variables of the cloudflare SDK (CLOUDFLARE_BASE_URL, CLOUDFLARE_API_TOKEN) and
 * CLOUDFLARE_ACCOUNT_ID:
 *
 *     node setup.mjs <URL of the worker>
 */
import Cloudflare from "cloudflare";

const [site] = process.argv.slice(2);
const account_id = process.env.CLOUDFLARE_ACCOUNT_ID;
if (site === undefined || account_id === undefined)
  throw new Error("usage: CLOUDFLARE_ACCOUNT_ID=<account id> node setup.mjs <address of the worker>");
const client = new Cloudflare();

const key = await client.stream.keys.create({ account_id, body: {} });
const webhook = await client.stream.webhooks.update({
  account_id,
  notification_url: `${site.replace(/\/$/, "")}/webhook`,
});

for (const [name, text] of Object.entries({
  ACCOUNT_ID: account_id,
  STREAM_KEY_ID: key.id,
  STREAM_JWK: key.jwk,
  WEBHOOK_SECRET: webhook.secret,
})) {
  await client.workers.scripts.secrets.update("video-site", { account_id, name, text, type: "secret_text" });
  console.log(`Set the secret ${name} of video-site`);
}
