/**
 * npm start: a tour on one machine. Starts a server with a domain, DNS, and a deployed worker with an address; sends a
 * message with a real client and shows the worker's actions, the forwarded message and the log. Uploads a video, plays
 * it, and sends one by mail to a worker that publishes it. Runs a short broadcast that becomes a recording.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Resolver } from "node:dns/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { join, relative } from "node:path";
import { parse } from "jsonc-parser";
import { createTransport, type SendMailOptions } from "nodemailer";
import PostalMime from "postal-mime";
import { showBroadcast } from "./start/live.ts";
import { startExternalMailServer, type DeliveredMail } from "./start/elsewhere.ts";
import { makeClip } from "./start/clip.ts";
import { relativeToCwd, startPlatform, type Platform } from "./start/platform.ts";
import { ffmpegInstallCommand } from "./start/install-command.ts";
import { portNear } from "./start/ports.ts";
import { printHeadline, printRow, printLine } from "./start/print.ts";
import { showReply, uploadVideo } from "./start/video.ts";
import { ensureSystem, isProgram, isWorkingProgram } from "./system.ts";

const root = join(import.meta.dirname, "..");
const inbox = join(root, "examples", "inbox");
const mailAVideo = join(root, "examples", "mail-a-video");
const folder = join(root, ".reelpost", "start");
const host = "127.0.0.1";

// Reserved names (RFC 2606 2) that do not exist on the internet.
const DOMAIN = "analytical.test";
const SENDER = "ada@lovelace.test";
const OWNER = "me@home.test";

const domainOf = (address: string) => address.slice(address.indexOf("@") + 1);

ensureSystem("start");
const canEncode = () => isWorkingProgram("ffmpeg") && isWorkingProgram("ffprobe");
const videos = canEncode();
// Every start begins with an empty folder.
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

const ports = {
  http: await portNear(8787),
  dashboard: await portNear(8790),
  smtp: await portNear(2525),
  dns: await portNear(1053),
  submission: await portNear(2465),
  rtmp: await portNear(1935),
  rtmps: await portNear(1936),
  srt: await portNear(8890),
};
const elsewhere = await startExternalMailServer();
const platform = await startPlatform(
  ["--data-dir", join(folder, "data"), "--port", String(ports.http), "--smtp-port", String(ports.smtp)],
  join(folder, "server.log"),
  {
    REELPOST_DASHBOARD_PORT: String(ports.dashboard),
    REELPOST_DNS_PORT: String(ports.dns),
    REELPOST_SUBMISSION_PORT: String(ports.submission),
    REELPOST_LIVE_RTMP_PORT: String(ports.rtmp),
    REELPOST_LIVE_RTMPS_PORT: String(ports.rtmps),
    REELPOST_LIVE_SRT_PORT: String(ports.srt),
    // The recording is ready after this reconnect timeout.
    REELPOST_LIVE_RECONNECT_SECONDS: "2",
    REELPOST_OUTBOUND_DELIVER: "smart_host",
    REELPOST_OUTBOUND_SMART_HOSTS: `smtp://${host}:${elsewhere.port}`,
  },
);
// A terminal sends Ctrl-C to the whole process group, a process manager only to this process. In both cases the server
// decides when to exit.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => platform.kill(signal));

try {
  const zone = await makeDomain(platform);
  await askOwner(platform);
  const deployed = await deployInbox(platform);
  await makeRules(platform, zone);
  await sendMessage();
  await showWorker(platform, deployed);
  showForward(await elsewhere.next(({ to }) => to.includes(OWNER)));
  const showStream = async () => ({
    video: await showVideos(platform, zone),
    broadcast: await showBroadcast(platform),
  });
  const watch = videos ? await showStream() : undefined;
  await showLog(platform);
  showWays(platform, deployed, watch);
  if (watch === undefined && (await waitForFfmpeg())) {
    const late = await showStream();
    printHeadline("The video service is working. Open:");
    printRow("the video", late.video);
    printRow("the broadcast", late.broadcast);
  }
} catch (err) {
  process.stderr.write(
    `npm start: ${err instanceof Error ? err.message : String(err)}\nThe log of the server: ${relativeToCwd(join(folder, "server.log"))}\n`,
  );
  platform.kill("SIGTERM");
  await platform.ended;
  process.exit(1);
}
process.exitCode = await platform.ended;
await elsewhere.close();

/** Prints how to install ffmpeg and resolves with true once it runs, or with false if the server ends first. */
async function waitForFfmpeg(): Promise<boolean> {
  const command = ffmpegInstallCommand({
    platform: process.platform,
    isRoot: process.getuid?.() === 0,
    has: (program) => isProgram(process.platform === "win32" ? `${program}.exe` : program),
  });
  printHeadline(
    `The video steps need ${isProgram("ffmpeg") ? "a working ffmpeg, and the installed one does not run" : "ffmpeg, which is not installed"}. Mail does not need it.`,
  );
  printLine(
    command === undefined
      ? "Use your system's package manager to install ffmpeg with x264 support; the video steps start once it is installed."
      : "Run this in another terminal; the video steps start once ffmpeg is installed:",
  );
  if (command !== undefined) printLine(`\n  ${command}`);
  for (;;) {
    if (canEncode()) return true;
    const hasEnded = await Promise.race([sleep(2000, false), platform.ended.then(() => true)]);
    if (hasEnded) return false;
  }
}

async function makeDomain({ call, account }: Platform): Promise<string> {
  const zone = await call<{ id: string }>("POST", "/zones", { name: DOMAIN, account: { id: account.id } });
  await call("POST", `/zones/${zone.id}/email/routing/dns`, {});
  // Domain of the sender: its SPF record authorizes this machine, and it has a DMARC policy. Workers can reply only to
  // authenticated mail.
  const senders = await call<{ id: string }>("POST", "/zones", { name: domainOf(SENDER), account: { id: account.id } });
  const says = (name: string, text: string) =>
    call("POST", `/zones/${senders.id}/dns_records`, { type: "TXT", name, content: `"${text}"`, ttl: 300 });
  await says(domainOf(SENDER), "v=spf1 ip4:127.0.0.1 -all");
  await says(`_dmarc.${domainOf(SENDER)}`, "v=DMARC1; p=reject");

  const resolver = new Resolver({ timeout: 2000, tries: 3 });
  resolver.setServers([`${host}:${ports.dns}`]);
  const mx = await resolver.resolveMx(DOMAIN);
  const [spf] = await resolver.resolveTxt(DOMAIN);
  printHeadline(`The domain ${DOMAIN} with Email Routing. Its DNS records:`);
  printRow(
    "MX",
    mx
      .sort((a, b) => a.priority - b.priority)
      .map(({ exchange, priority }) => `${priority} ${exchange}`)
      .join(", "),
  );
  printRow("TXT", spf!.join(""));
  printRow("query them", `dig @${host} -p ${ports.dns} ${DOMAIN} MX`);
  return zone.id;
}

/** The owner of a destination address confirms it by opening the link in the verification message. */
async function askOwner({ call, account }: Platform): Promise<void> {
  await call("POST", `/accounts/${account.id}/email/routing/addresses`, { email: OWNER });
  const { raw } = await elsewhere.next(({ to }) => to.includes(OWNER));
  const link = /http\S+\/email\/verify\/\S+/.exec((await PostalMime.parse(raw)).text ?? "")?.[0];
  if (link === undefined) throw new Error("the mail that asks for consent has no link");
  const opened = await fetch(link, { method: "POST" });
  if (!opened.ok) throw new Error(`the link for ${OWNER} was answered with ${opened.status}`);
  printHeadline(`The destination address ${OWNER} was verified with a link in an email.`);
}

interface Deployed {
  config: string;
  url: string;
}

async function deployInbox(platform: Platform): Promise<Deployed> {
  const { call, account, workers } = platform;
  const storage = `/accounts/${account.id}`;
  const kv = await call<{ id: string }>("POST", `${storage}/storage/kv/namespaces`, { title: "inbox-counters" });
  const d1 = await call<{ uuid: string }>("POST", `${storage}/d1/database`, { name: "inbox" });
  await call("POST", `${storage}/r2/buckets`, { name: "inbox-attachments" });
  const config = await deployExample(platform, inbox, {
    kv_namespaces: [{ binding: "COUNTERS", id: kv.id }],
    d1_databases: [{ binding: "MESSAGES", database_name: "inbox", database_id: d1.uuid }],
  });
  printHeadline("The worker inbox was deployed with a KV namespace, an R2 bucket and a D1 database.");
  return { config, url: workers.replace("<worker>", "inbox") };
}

/** Copies the configuration and fills in values that only this server has. Returns the path of the copy. */
async function deployExample({ cli }: Platform, example: string, bindings: Record<string, unknown>): Promise<string> {
  const config = parse(readFileSync(join(example, "wrangler.jsonc"), "utf8")) as { name: string };
  const file = join(folder, `${config.name}.json`);
  writeFileSync(
    file,
    JSON.stringify({ ...config, main: relative(folder, join(example, "src", "index.ts")), ...bindings }, null, 2),
  );
  await cli("deploy", "--config", file);
  return file;
}

async function makeRules(platform: Platform, zone: string): Promise<void> {
  await makeRule(platform, zone, "inbox", "worker", "inbox");
  await makeRule(platform, zone, "hello", "forward", OWNER);
  printHeadline("Two routing rules:");
  printRow(`inbox@${DOMAIN}`, "is handled by the worker inbox");
  printRow(`hello@${DOMAIN}`, `is forwarded to ${OWNER}`);
}

async function makeRule(
  { call }: Platform,
  zone: string,
  local: string,
  type: "worker" | "forward",
  value: string,
): Promise<void> {
  await call("POST", `/zones/${zone}/email/routing/rules`, {
    name: local,
    matchers: [{ type: "literal", field: "to", value: `${local}@${DOMAIN}` }],
    actions: [{ type, value: [value] }],
  });
}

async function sendMessage(): Promise<void> {
  const response = await send({
    to: [`inbox@${DOMAIN}`, `hello@${DOMAIN}`],
    subject: "Notes on the engine",
    text: "Good evening,\n\nthe Analytical Engine weaves algebraic patterns just as the loom weaves flowers and leaves.\nThe first numbers are in the attached table.\n\nAda\n",
    attachments: [
      { filename: "bernoulli.csv", contentType: "text/csv", content: "n,B(n)\n0,1\n1,-1/2\n2,1/6\n4,-1/30\n" },
    ],
  });
  printHeadline(`A message from ${SENDER} to both addresses, over SMTP to ${host}:${ports.smtp}. The server replied:`);
  printLine(`  ${response}`);
}

/** Sends over SMTP. Returns the server's reply. */
async function send(message: {
  to: string[];
  subject: string;
  text: string;
  attachments: SendMailOptions["attachments"];
}): Promise<string> {
  const transport = createTransport({ host, port: ports.smtp, secure: false, tls: { rejectUnauthorized: false } });
  try {
    return (await transport.sendMail({ from: `Ada Lovelace <${SENDER}>`, ...message })).response;
  } finally {
    transport.close();
  }
}

interface Mailbox {
  messages: {
    id: string;
    subject: string;
    senderName: string;
    attachments: { name: string; type: string; size: number; url: string }[];
  }[];
  counters: { messages: number; attachments: number; octets: number };
}

async function showWorker({ url }: Platform, deployed: Deployed): Promise<void> {
  const { messages, counters } = (await (await fetch(`${url}/workers/inbox/api/messages`)).json()) as Mailbox;
  const [newest] = messages;
  const attachment = newest?.attachments[0];
  if (newest === undefined || attachment === undefined)
    throw new Error("the message was accepted, but the mailbox does not show it");
  printHeadline("The worker processed the message:");
  printRow("parsed", `"${newest.subject}" from ${newest.senderName}`);
  printRow("R2", `${attachment.name} (${attachment.type}, ${attachment.size} bytes)`);
  printRow("D1", `message ${newest.id}`);
  printRow("KV", `${counters.messages} received, ${counters.attachments} attached, ${counters.octets} bytes so far`);
  printRow("view it", `${deployed.url}/messages/${newest.id}`);
}

function showForward({ from, raw }: DeliveredMail): void {
  const header = raw
    .slice(0, raw.indexOf("\r\n\r\n"))
    .replace(/\r\n[ \t]+/g, " ")
    .split("\r\n");
  const tell = (name: string, pattern: RegExp) => {
    for (const field of header) {
      const said = field.toLowerCase().startsWith(`${name.toLowerCase()}:`) ? pattern.exec(field)?.[0] : undefined;
      if (said !== undefined) printRow(name === "Authentication-Results" ? "authentication" : name, said);
    }
  };
  printHeadline("Another mail server on this machine received the forwarded message:");
  printRow("sender", from);
  tell("From", /(?<=: ).*$/);
  tell("Authentication-Results", /spf=\w+|dkim=\w+/);
  tell("ARC-Seal", /\bi=\d+.*?cv=\w+/);
  tell("DKIM-Signature", /\bd=[^;]+/);
}

/** Returns the URL of the uploaded video's watch page. */
async function showVideos(platform: Platform, zone: string): Promise<string> {
  const { watch } = await uploadVideo(platform, folder);
  await deployExample(platform, mailAVideo, {});
  await makeRule(platform, zone, "videos", "worker", "mail-a-video");
  await mailVideo();
  await showReply(elsewhere, SENDER);
  return watch;
}

async function mailVideo(): Promise<void> {
  const path = join(folder, "greetings.mp4");
  await makeClip(path, 5);
  const response = await send({
    to: [`videos@${DOMAIN}`],
    subject: "Greetings from the workshop",
    text: "Good morning,\n\nthe mill at work, five seconds of it.\n\nAda\n",
    attachments: [{ filename: "greetings.mp4", contentType: "video/mp4", path }],
  });
  printHeadline(
    `A second worker, mail-a-video, handles videos@${DOMAIN}. It received a message with a video attachment. The server replied:`,
  );
  printLine(`  ${response}`);
}

async function showLog({ cli }: Platform): Promise<void> {
  printHeadline("The message log, as printed by `reelpost email log`:");
  printLine((await cli("email", "log", "--zone", DOMAIN)).replace(/^/gm, "  "));
}

function showWays(
  { url, api, token, signInLink }: Platform,
  { config, url: worker }: Deployed,
  watch: { video: string; broadcast: string } | undefined,
): void {
  printLine(`
Next steps
  the mailbox      ${worker}/${
    watch === undefined
      ? ""
      : `
  the video        ${watch.video}
  the broadcast    ${watch.broadcast}`
  }
  the platform     ${url}/      the API: ${api}/docs
  send mail        with any mail program: server ${host}, port ${ports.smtp}, from ${SENDER} to inbox@${DOMAIN}, hello@${DOMAIN}${watch === undefined ? "" : `, or with a video to videos@${DOMAIN}`}
  as the server's administrator, in another terminal
                   export API_BASE_URL=${api} API_TOKEN=${token}
                   npx reelpost email log --zone ${DOMAIN}
                   npx reelpost doctor ${DOMAIN}
                   npx reelpost deploy --config ${relativeToCwd(config)}      after a change in examples/inbox/src

Ctrl-C stops the server. The next start creates new data.

The dashboard, with a link that signs you in once, within 30 minutes:

  ${signInLink}
`);
}
