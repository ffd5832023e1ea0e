/**
 * npm start: the whole trip of a message on one machine. A platform with a domain, whose DNS answers; a worker that is deployed and has an address
 * there; a message sent to it by a real client; what the worker did, what was forwarded to another mail server, and the log of it all.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Resolver } from "node:dns/promises";
import { join, relative } from "node:path";
import { parse } from "jsonc-parser";
import { createTransport } from "nodemailer";
import PostalMime from "postal-mime";
import { startElsewhere, type Delivered } from "./start/elsewhere.ts";
import { fromHere, startPlatform, type Platform } from "./start/platform.ts";
import { portNear } from "./start/ports.ts";
import { ensureSystem } from "./system.ts";

const root = join(import.meta.dirname, "..");
const inbox = join(root, "examples", "inbox");
const folder = join(root, ".reelpost", "start");
const host = "127.0.0.1";

// Names that nobody on the internet has (RFC 2606 2): whatever it says about others, these are ours.
const DOMAIN = "analytical.test";
const SENDER = "ada@lovelace.test";
const OWNER = "me@home.test";

const domainOf = (address: string) => address.slice(address.indexOf("@") + 1);
const say = (line = "") => void process.stdout.write(`${line}\n`);
const headline = (text: string) => say(`\n${text}`);
const row = (name: string, text: string) => say(`  ${name.padEnd(18)} ${text}`);

ensureSystem("start");
// Each start begins with nothing.
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

const ports = { http: await portNear(8787), smtp: await portNear(2525), dns: await portNear(1053), submission: await portNear(2465) };
const elsewhere = await startElsewhere();
const platform = await startPlatform(
  ["--data-dir", join(folder, "data"), "--port", String(ports.http), "--smtp-port", String(ports.smtp)],
  join(folder, "server.log"),
  {
    REELPOST_DNS_PORT: String(ports.dns),
    REELPOST_SUBMISSION_PORT: String(ports.submission),
    REELPOST_OUTBOUND_DELIVER: "smart_host",
    REELPOST_OUTBOUND_SMART_HOSTS: `smtp://${host}:${elsewhere.port}`,
  },
);
// The terminal tells the whole group of Ctrl-C; a process manager tells only us. Either way the server decides when it is done.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => platform.kill(signal));

try {
  const zone = await makeDomain(platform);
  await askOwner(platform);
  const deployed = await deployInbox(platform);
  await makeRules(platform, zone);
  await sendMessage();
  await showWorker(platform, deployed);
  showForward(await elsewhere.next(({ to }) => to.includes(OWNER)));
  await showLog(platform);
  showWays(platform, deployed);
} catch (err) {
  process.stderr.write(`npm start: ${err instanceof Error ? err.message : String(err)}\nThe log of the server: ${fromHere(join(folder, "server.log"))}\n`);
  platform.kill("SIGTERM");
  await platform.ended;
  process.exit(1);
}
process.exitCode = await platform.ended;
await elsewhere.close();

async function makeDomain({ call, account }: Platform): Promise<string> {
  const zone = await call<{ id: string }>("POST", "/zones", { name: DOMAIN, account: { id: account.id } });
  await call("POST", `/zones/${zone.id}/email/routing/dns`, {});
  // Where the sender comes from: its SPF record says that this machine may send its mail.
  const senders = await call<{ id: string }>("POST", "/zones", { name: domainOf(SENDER), account: { id: account.id } });
  await call("POST", `/zones/${senders.id}/dns_records`, { type: "TXT", name: domainOf(SENDER), content: '"v=spf1 ip4:127.0.0.1 -all"', ttl: 300 });

  const resolver = new Resolver({ timeout: 2000, tries: 3 });
  resolver.setServers([`${host}:${ports.dns}`]);
  const mx = await resolver.resolveMx(DOMAIN);
  const [spf] = await resolver.resolveTxt(DOMAIN);
  headline(`A domain, ${DOMAIN}, whose mail is routed. Its DNS answers:`);
  row("MX", mx.sort((a, b) => a.priority - b.priority).map(({ exchange, priority }) => `${priority} ${exchange}`).join(", "));
  row("TXT", spf!.join(""));
  row("ask yourself", `dig @${host} -p ${ports.dns} ${DOMAIN} MX`);
  return zone.id;
}

/** A destination address agrees by opening the link in the mail it is sent. */
async function askOwner({ call, account }: Platform): Promise<void> {
  await call("POST", `/accounts/${account.id}/email/routing/addresses`, { email: OWNER });
  const { raw } = await elsewhere.next(({ to }) => to.includes(OWNER));
  const link = /http\S+\/email\/verify\/\S+/.exec((await PostalMime.parse(raw)).text ?? "")?.[0];
  if (link === undefined) throw new Error("the mail that asks for consent has no link");
  const opened = await fetch(link, { method: "POST" });
  if (!opened.ok) throw new Error(`the link for ${OWNER} was answered with ${opened.status}`);
  headline(`A destination address, ${OWNER}, was asked by mail and agreed.`);
}

interface Deployed {
  config: string;
  url: string;
}

async function deployInbox({ call, cli, account, workers }: Platform): Promise<Deployed> {
  const storage = `/accounts/${account.id}`;
  const kv = await call<{ id: string }>("POST", `${storage}/storage/kv/namespaces`, { title: "inbox-counters" });
  const d1 = await call<{ uuid: string }>("POST", `${storage}/d1/database`, { name: "inbox" });
  await call("POST", `${storage}/r2/buckets`, { name: "inbox-attachments" });
  const config = parse(readFileSync(join(inbox, "wrangler.jsonc"), "utf8")) as Record<string, unknown>;
  const file = join(folder, "wrangler.json");
  writeFileSync(
    file,
    JSON.stringify({
      ...config,
      main: relative(folder, join(inbox, "src", "index.ts")),
      kv_namespaces: [{ binding: "COUNTERS", id: kv.id }],
      d1_databases: [{ binding: "MESSAGES", database_name: "inbox", database_id: d1.uuid }],
    }, null, 2),
  );
  await cli("deploy", "--config", file);
  headline("A worker, inbox, is deployed with a KV namespace, an R2 bucket and a D1 database.");
  return { config: file, url: workers.replace("<worker>", "inbox") };
}

async function makeRules({ call }: Platform, zone: string): Promise<void> {
  const rule = (local: string, type: string, value: string) =>
    call("POST", `/zones/${zone}/email/routing/rules`, { name: local, matchers: [{ type: "literal", field: "to", value: `${local}@${DOMAIN}` }], actions: [{ type, value: [value] }] });
  await rule("inbox", "worker", "inbox");
  await rule("hello", "forward", OWNER);
  headline("Two rules:");
  row(`inbox@${DOMAIN}`, "to the worker inbox");
  row(`hello@${DOMAIN}`, `on to ${OWNER}`);
}

async function sendMessage(): Promise<void> {
  const transport = createTransport({ host, port: ports.smtp, secure: false, tls: { rejectUnauthorized: false } });
  const { response } = await transport.sendMail({
    from: `Ada Lovelace <${SENDER}>`,
    to: [`inbox@${DOMAIN}`, `hello@${DOMAIN}`],
    subject: "Notes on the engine",
    text: "Good evening,\n\nthe Analytical Engine weaves algebraic patterns just as the loom weaves flowers and leaves.\nThe first numbers are in the attached table.\n\nAda\n",
    attachments: [{ filename: "bernoulli.csv", contentType: "text/csv", content: "n,B(n)\n0,1\n1,-1/2\n2,1/6\n4,-1/30\n" }],
  });
  transport.close();
  headline(`A message from ${SENDER} to both, over SMTP to ${host}:${ports.smtp}. The server answered:`);
  say(`  ${response}`);
}

interface Mailbox {
  messages: { id: string; subject: string; senderName: string; attachments: { name: string; type: string; size: number; url: string }[] }[];
  counters: { messages: number; attachments: number; octets: number };
}

async function showWorker({ url }: Platform, deployed: Deployed): Promise<void> {
  const { messages, counters } = (await (await fetch(`${url}/workers/inbox/api/messages`)).json()) as Mailbox;
  const [newest] = messages;
  const attachment = newest?.attachments[0];
  if (newest === undefined || attachment === undefined) throw new Error("the message was accepted, but the mailbox does not show it");
  headline("What the worker did with it:");
  row("parsed it", `"${newest.subject}" from ${newest.senderName}`);
  row("R2", `${attachment.name} (${attachment.type}, ${attachment.size} bytes)`);
  row("D1", `message ${newest.id}`);
  row("KV", `${counters.messages} received, ${counters.attachments} attached, ${counters.octets} bytes so far`);
  row("look at it", `${deployed.url}/messages/${newest.id}`);
}

function showForward({ from, raw }: Delivered): void {
  const header = raw.slice(0, raw.indexOf("\r\n\r\n")).replace(/\r\n[ \t]+/g, " ").split("\r\n");
  const tell = (name: string, pattern: RegExp) => {
    for (const field of header) {
      const said = field.toLowerCase().startsWith(`${name.toLowerCase()}:`) ? pattern.exec(field)?.[0] : undefined;
      if (said !== undefined) row(name === "Authentication-Results" ? "judged" : name, said);
    }
  };
  headline("What another mail server on this machine was given for the second rule:");
  row("sender", from);
  tell("From", /(?<=: ).*$/);
  tell("Authentication-Results", /spf=\w+|dkim=\w+/);
  tell("ARC-Seal", /\bi=\d+.*?cv=\w+/);
  tell("DKIM-Signature", /\bd=[^;]+/);
}

async function showLog({ cli }: Platform): Promise<void> {
  headline("The log of both, as `reelpost email log` prints it:");
  say((await cli("email", "log", "--zone", DOMAIN)).replace(/^/gm, "  "));
}

function showWays({ url, api, token }: Platform, { config, url: worker }: Deployed): void {
  say(`
Go on
  the mailbox      ${worker}/
  the platform     ${url}/      the API: ${api}/docs
  send more        any mail program: server ${host}, port ${ports.smtp}, from ${SENDER} to inbox@${DOMAIN} or hello@${DOMAIN}
  as the server's administrator, in another terminal
                   export API_BASE_URL=${api} API_TOKEN=${token}
                   npx reelpost email log --zone ${DOMAIN}
                   npx reelpost doctor ${DOMAIN}
                   npx reelpost deploy --config ${fromHere(config)}      after a change in examples/inbox/src

Ctrl-C stops the server; the next start begins anew.
`);
}
