/**
 * Writes the screenshots of the dashboard in docs/images: starts a server with sample data and captures six pages.
 *
 *     node scripts/screenshots.ts
 */
import { generateKeyPairSync } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTransport } from "nodemailer";
import type { Page } from "playwright-core";
import { waitUntilPlaying } from "../test/dashboard/upload-steps.ts";
import { openSignedIn, startDashboard, TOKEN, type DashboardServer } from "../test/dashboard/support.ts";
import { FAKE_CAMERA, openBrowser } from "../test/support/browser.ts";
import { until } from "../test/support/mail-world.ts";
import { runFfmpeg } from "../test/support/media.ts";

const IMAGES = join(import.meta.dirname, "..", "docs", "images");
const VIEWPORT = { width: 1280, height: 800 };

const WORKER = `export default {
  async email(message, env) {
    const subject = message.headers.get("subject") ?? "";
    console.log("ticket from", message.from, { subject });
    if (/unsubscribe/i.test(subject)) return message.setReject("This address does not accept mailing-list messages");
    await message.forward("support@team.example");
  },
  async fetch(request) {
    const { pathname } = new URL(request.url);
    console.log(request.method, pathname);
    if (pathname.endsWith("/404")) throw new Error("ticket 404 does not exist");
    return Response.json({ open: 12, solved: 340 });
  },
  async scheduled(controller) {
    console.log("daily summary sent");
  },
};
`;

const VIDEOS: { name: string; picture: string; seconds: number }[] = [
  { name: "Product tour.mp4", picture: "gradients=s=640x360:c0=0x1b3a8f:c1=0x4aa3ff:n=2:speed=0.02", seconds: 12 },
  { name: "Keynote 2026.mp4", picture: "gradients=s=640x360:c0=0x3b0f6b:c1=0xff7a59:n=2:speed=0.02", seconds: 25 },
  { name: "Onboarding, part 1.mp4", picture: "gradients=s=640x360:c0=0x0c4d3b:c1=0xd7f36b:n=2", seconds: 9 },
  { name: "Onboarding, part 2.mp4", picture: "mandelbrot=s=640x360:rate=25", seconds: 8 },
  { name: "Customer interview.mp4", picture: "gradients=s=640x360:c0=0x7a1030:c1=0xffd1a1:n=2", seconds: 17 },
  { name: "Release notes 4.2.mp4", picture: "gradients=s=640x360:c0=0x10202f:c1=0x26c6da:n=3", seconds: 6 },
];

const MESSAGES: [from: string, to: string, subject: string][] = [
  ["ada@sender.example", "hello@shop.example", "Question about an invoice"],
  ["grace@sender.example", "support@shop.example", "The video does not start on my TV"],
  ["list@sender.example", "support@shop.example", "Unsubscribe request"],
  ["linus@sender.example", "hello@shop.example", "Invitation: launch on Friday"],
  ["margaret@sender.example", "support@shop.example", "Second delivery address"],
  ["ada@sender.example", "support@shop.example", "Re: Question about an invoice"],
];

const { privateKey, publicKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "der" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
});

const ends: (() => Promise<void>)[] = [];
const scope = { after: (end: () => Promise<void>) => void ends.push(end) };
const folder = await mkdtemp(join(tmpdir(), "reelpost-screenshots-"));
try {
  await mkdir(IMAGES, { recursive: true });
  await takeScreenshots(await startDashboard(scope, { env: { REELPOST_EMAIL_STORE_DAYS: "1" } }));
} finally {
  for (const end of ends.toReversed()) await end();
  await rm(folder, { recursive: true, force: true });
}

async function takeScreenshots(dashboard: DashboardServer) {
  const account = `/accounts/${dashboard.account}`;
  await deployWorker(dashboard);
  await setUpMail(dashboard);
  const { page } = await dashboard.open("/", { viewport: VIEWPORT });
  const go = (path: string) => page.goto(`${dashboard.origin}${path}`);
  await goLive(dashboard, page);
  await uploadVideos(dashboard);

  await go("/workers/tickets/logs");
  await page.getByText("Live", { exact: true }).first().waitFor();
  const worker = `${new URL(dashboard.api).origin}/workers/tickets`;
  for (const path of ["/tickets", "/tickets/17", "/tickets/404", "/stats"]) await fetch(`${worker}${path}`);
  await sendMessages(dashboard);
  await until(async () => (await page.getByText(/^ticket from/).count()) >= 4, "the log lines");
  await take(page, "dashboard-worker-logs");

  const [message] = await until(async () => {
    const found = await dashboard.call<{ id: string; status: string }[]>("GET", `${account}/email/activity?search=TV`);
    return found.length > 0 ? found : undefined;
  }, "the mail log");
  await go(`/mail/log/${message!.id}`);
  await page.getByRole("heading", { name: "Timeline" }).waitFor();
  await take(page, "dashboard-message");

  await go("/mail");
  await page.getByRole("link", { name: "Unsubscribe request" }).first().waitFor();
  await take(page, "dashboard-mail-log");

  await go("/stream");
  const list = page.getByRole("list", { name: "Videos" });
  const areReady = async () => (await list.getByText("Ready", { exact: true }).count()) >= VIDEOS.length;
  await until(areReady, "the videos", 180_000);
  await take(page, "dashboard-videos");

  await go("/");
  await page.getByRole("heading", { level: 3, name: "Database" }).waitFor();
  await take(page, "dashboard-home");
}

async function take(page: Page, name: string) {
  await page.waitForLoadState("networkidle").catch(() => {});
  // An image of a lazily rendered thumbnail arrives after the page is idle.
  await page.waitForFunction("[...document.images].every((image) => image.complete && image.naturalWidth > 0)");
  await page.screenshot({ path: join(IMAGES, `${name}.png`), animations: "disabled" });
}

async function deployWorker({ api, account }: DashboardServer) {
  const form = new FormData();
  form.set("metadata", JSON.stringify({ main_module: "index.js", compatibility_date: "2026-01-01" }));
  form.set("index.js", new Blob([WORKER], { type: "application/javascript+module" }), "index.js");
  const headers = { authorization: `Bearer ${TOKEN}` };
  const url = `${api}/accounts/${account}/workers/scripts/tickets`;
  const response = await fetch(url, { method: "PUT", headers, body: form });
  if (!response.ok) throw new Error(await response.text());
}

/** The server is also the DNS server of the sender's domain, so that its messages pass SPF, DKIM and DMARC. */
async function setUpMail({ call, account }: DashboardServer) {
  const zone = async (name: string) =>
    (await call<{ id: string }>("POST", "/zones", { name, account: { id: account } })).id;
  const sender = await zone("sender.example");
  const records = [
    ["@", "v=spf1 ip4:127.0.0.1 -all"],
    ["s1._domainkey", `v=DKIM1; k=rsa; p=${publicKey.toString("base64")}`],
    ["_dmarc", "v=DMARC1; p=reject"],
  ] as const;
  for (const [name, content] of records)
    await call("POST", `/zones/${sender}/dns_records`, { type: "TXT", name, content, ttl: 300 });
  const shop = await zone("shop.example");
  await call("POST", `/zones/${shop}/email/routing/dns`, {});
  for (const email of ["support@team.example", "office@team.example"]) {
    const { id } = await call<{ id: string }>("POST", `/accounts/${account}/email/routing/addresses`, { email });
    await call("PATCH", `/accounts/${account}/email/routing/addresses/${id}`, { status: "verified" });
  }
  const rule = (name: string, address: string, action: object) =>
    call("POST", `/zones/${shop}/email/routing/rules`, {
      name,
      enabled: true,
      matchers: [{ type: "literal", field: "to", value: address }],
      actions: [action],
    });
  await rule("Tickets", "support@shop.example", { type: "worker", value: ["tickets"] });
  await rule("Office", "hello@shop.example", { type: "forward", value: ["office@team.example"] });
}

async function sendMessages({ server }: DashboardServer) {
  const mailer = createTransport({
    host: "127.0.0.1",
    port: server.ready.smtp!.port,
    name: "mail.sender.example",
    tls: { rejectUnauthorized: false },
    dkim: { domainName: "sender.example", keySelector: "s1", privateKey },
  });
  for (const [from, to, subject] of MESSAGES)
    await mailer.sendMail({ from, to, subject, text: `Hello,\n\n${subject}.\n\nBest regards\n` }).catch(() => {
      // The worker rejects one of these messages.
    });
  mailer.close();
}

async function uploadVideos({ api, account }: DashboardServer) {
  for (const { name, picture, seconds } of VIDEOS) {
    const file = join(folder, name);
    const sound = ["-f", "lavfi", "-i", `sine=frequency=220:duration=${seconds}`];
    const encoder = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-c:a", "aac"];
    await runFfmpeg(["-f", "lavfi", "-i", picture, ...sound, "-t", String(seconds), ...encoder, file]);
    const body = new FormData();
    body.set("file", new Blob([await readFile(file)], { type: "video/mp4" }), name);
    const headers = { authorization: `Bearer ${TOKEN}` };
    const response = await fetch(`${api}/accounts/${account}/stream`, { method: "POST", headers, body });
    if (!response.ok) throw new Error(await response.text());
  }
}

/** Broadcasts from a second browser, whose camera plays a file, while the page of the live input is captured. */
async function goLive({ call, account, origin }: DashboardServer, page: Page) {
  const { uid } = await call<{ uid: string }>("POST", `/accounts/${account}/stream/live_inputs`, {
    meta: { name: "Studio" },
    recording: { mode: "automatic" },
  });
  const camera = join(folder, "camera.y4m");
  const picture = "gradients=s=640x360:c0=0x1b3a8f:c1=0xff7a59:n=3:speed=0.03:rate=20";
  await runFfmpeg(["-f", "lavfi", "-i", picture, "-t", "10", "-pix_fmt", "yuv420p", camera]);
  const browser = await openBrowser(scope, [...FAKE_CAMERA, `--use-file-for-fake-video-capture=${camera}`]);
  const { page: publisher } = await openSignedIn(browser, origin, `/live/${uid}/broadcast`, { viewport: VIEWPORT });
  await publisher.getByRole("button", { name: "Turn on camera" }).click();
  await publisher.getByRole("button", { name: "Start broadcast" }).click();
  await publisher.getByRole("button", { name: "End broadcast" }).waitFor();
  await page.goto(`${origin}/live/${uid}`);
  await waitUntilPlaying(page, "Preview of Studio");
  await take(page, "dashboard-live");
  await browser.close();
}
