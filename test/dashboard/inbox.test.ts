import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { mailer, makeProject, serve, type TestServer } from "../e2e/dev-bench.ts";
import { openBrowser, withoutChromium } from "../support/browser.ts";
import { startNextHop } from "../support/next-hop.ts";
import { suiteScope } from "../support/suite-scope.ts";
import { checkPage, openSignedIn } from "./support.ts";

const WORKER = `
import { EmailMessage } from "cloudflare:email";

export default {
  async email(message, env) {
    const subject = message.headers.get("subject") ?? "";
    if (subject === "Spam") return message.setReject("No spam, please");
    if (subject === "Broken") throw new TypeError("thrown on purpose");
    if (subject === "Question") {
      const raw = [
        "From: " + message.to, "To: " + message.from, "Subject: Re: Question",
        "In-Reply-To: " + message.headers.get("message-id"), "Message-ID: <reply@example.org>", "", "An answer", "",
      ].join("\\r\\n");
      await message.reply(new EmailMessage(message.to, message.from, raw));
      await message.forward("team@example.net");
    }
  },
  async fetch(request, env) {
    if (request.url.endsWith("/write")) await env.CACHE.put("from-fetch", "value");
    return new Response("done");
  },
};
`;
const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

describe("the inbox pages", { skip: withoutChromium() }, () => {
  const scope = suiteScope();
  let server: TestServer;
  let open: (path: string) => Promise<{ page: Page; problems: string[] }>;

  before(async () => {
    const folder = await makeProject(
      scope,
      { "src/index.ts": WORKER },
      {
        name: "receiver",
        kv_namespaces: [{ binding: "CACHE", id: "cache-id" }],
        r2_buckets: [{ binding: "FILES", bucket_name: "files" }],
        d1_databases: [{ binding: "DB", database_name: "notes", database_id: "5a1d3c1e-0000-4000-8000-000000000001" }],
      },
    );
    server = await serve(scope, folder);
    const browser = await openBrowser(scope);
    open = (path) => openSignedIn(browser, server.dashboard!, path, { token: null });
  });

  const send = (fields: Record<string, unknown>) =>
    mailer(scope, server).sendMail({
      from: "Ada <ada@example.com>",
      to: "inbox@example.org",
      text: "Hello",
      ...fields,
    });
  const list = (page: Page) => page.getByRole("table", { name: "Messages" });
  const isLive = (page: Page) => page.getByRole("main").getByText("Live", { exact: true }).waitFor();

  test("messages appear without a reload, with what they caused", async () => {
    const { page, problems } = await open("/inbox");
    await page.getByText("No messages yet").waitFor();
    await isLive(page);
    await checkPage(page, "inbox-empty");
    await send({ subject: "Question", text: "How does it work?" });
    await list(page).getByRole("link", { name: "Question", exact: true }).first().waitFor();
    await list(page).getByRole("link", { name: "Re: Question" }).waitFor();
    await assert.rejects(send({ subject: "Spam" }), /No spam/);
    await assert.rejects(send({ subject: "Broken" }));
    await list(page).getByText("Rejected").waitFor();
    await list(page).getByText("Failed").waitFor();
    await checkPage(page, "inbox-list");
    const unread = page.getByRole("navigation").getByRole("link", { name: /^Inbox/ });
    await unread.getByText("5 unread").waitFor();

    await list(page)
      .getByRole("row", { name: /Question.*inbox@example\.org.*Received/ })
      .getByRole("link")
      .click();
    await page.getByRole("heading", { name: "Question", level: 1 }).waitFor();
    const caused = page.getByRole("region", { name: "Resulting messages" });
    await caused.getByText("to team@example.net").waitFor();
    await checkPage(page, "inbox-message-text");
    await unread.getByText("4 unread").waitFor();
    await caused.getByRole("link", { name: "Re: Question" }).click();
    await page.getByRole("heading", { name: "Re: Question", level: 1 }).waitFor();
    await page.getByRole("region", { name: "Text" }).getByText("An answer").waitFor();
    await page.getByRole("region", { name: "Caused by" }).getByRole("link", { name: "Question" }).waitFor();
    assert.deepEqual(problems, []);
  });

  test("filter by search text and type, and can be used with the keyboard", async () => {
    await send({ subject: "With a file", attachments: [{ filename: "notes.txt", content: "notes" }] });
    const { page, problems } = await open("/inbox");
    await page.getByLabel("Search messages").fill("has:attachment");
    await list(page).getByRole("link", { name: "With a file" }).waitFor();
    await list(page).getByRole("link", { name: "Question" }).first().waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "Search syntax" }).click();
    await page.getByRole("dialog", { name: "Search syntax" }).waitFor();
    await checkPage(page, "inbox-search");
    await page.getByRole("button", { name: "subject:invoice" }).click();
    await page.getByText("No messages match").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Show all messages" }).click();
    await page.getByRole("combobox", { name: "Type" }).click();
    await page.getByRole("option", { name: "Reply" }).click();
    await list(page).getByRole("link", { name: "With a file" }).waitFor({ state: "hidden" });
    assert.match(page.url(), /kind=replied/);
    await page.goto(`${server.dashboard}/inbox?search=kind%3Areceived`);
    await list(page).getByRole("link", { name: "With a file" }).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "With a file", level: 1 }).waitFor();
    await page.keyboard.press("j");
    await page.getByRole("heading", { name: "Broken", level: 1 }).waitFor();
    await page.getByText("TypeError: thrown on purpose").waitFor();
    await page.keyboard.press("k");
    await page.getByRole("heading", { name: "With a file", level: 1 }).waitFor();
    await page.keyboard.press("u");
    await list(page).getByRole("link", { name: "With a file" }).waitFor();
    assert.match(page.url(), /search=kind/);
    await page.keyboard.press("j");
    await page.keyboard.press("Delete");
    await list(page).getByRole("link", { name: "With a file" }).waitFor({ state: "hidden" });
    await page.getByText("Message deleted").waitFor();
    assert.deepEqual(problems, []);
  });

  test("show the parts of a message: HTML at two widths, headers, source, attachments and links", async () => {
    await send({
      subject: "Newsletter",
      html: `<h1 style="color:#a33">News</h1><p>Read <a href="${server.url}/ok">more</a></p><img src="cid:logo" width="60" height="30"><script>document.body.innerHTML = "script"</script>`,
      attachments: [
        { filename: "logo.png", content: PIXEL, cid: "logo", contentType: "image/png" },
        { filename: "report.csv", content: "a,b\r\n", contentType: "text/csv" },
      ],
    });
    const { page, problems } = await open("/inbox");
    await list(page).getByRole("link", { name: "Newsletter" }).click();
    const body = page.frameLocator('iframe[title="HTML body"]');
    await body.getByRole("heading", { name: "News" }).waitFor();
    await checkPage(page, "inbox-message-html");
    await page.getByText("Mobile", { exact: true }).click();
    await page.locator('iframe[style*="width: 375px"]').waitFor();
    await body.getByRole("heading", { name: "News" }).waitFor();
    await page.getByRole("tab", { name: "Headers" }).click();
    await page.getByRole("tab", { name: "Headers", selected: true }).waitFor();
    await checkPage(page, "inbox-message-headers");
    await page.getByRole("tab", { name: "Source" }).click();
    await page.getByRole("region", { name: "Source" }).getByText("Content-Type: text/csv").waitFor();
    await page.getByRole("tab", { name: /Attachments/ }).click();
    await page.getByRole("img", { name: "logo.png" }).waitFor();
    await checkPage(page, "inbox-message-attachments");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download report.csv" }).click(),
    ]);
    assert.equal(await readFile(await download.path(), "utf8"), "a,b\r\n");
    await page.getByRole("tab", { name: "Links" }).click();
    await page.getByRole("switch", { name: "Also check links to private networks" }).check();
    await page.getByRole("button", { name: "Check links" }).click();
    await page.getByRole("list", { name: "Links" }).getByText("200").waitFor();
    await checkPage(page, "inbox-message-links");
    assert.match(page.url(), /tab=links/);
    // The policy of the frame reports the blocked script.
    assert.deepEqual(
      problems.filter((problem) => !/message-frame/.test(problem)),
      [],
    );
  });

  test("replay, release and compose messages, and delete all messages", async () => {
    const hop = await startNextHop(scope);
    const { page, problems } = await open("/inbox");
    await page.getByRole("button", { name: "Compose message" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("To").fill("Support <support@example.org>");
    await dialog.getByLabel("Subject").fill("Composed");
    await dialog.getByLabel("Text").fill("By hand");
    await dialog.locator('input[type="file"]').setInputFiles({
      name: "a.txt",
      mimeType: "text/plain",
      buffer: Buffer.from("attached"),
    });
    await checkPage(page, "inbox-compose");
    await dialog.getByRole("button", { name: "Send message" }).click();
    await page.getByRole("heading", { name: "Composed", level: 1 }).waitFor();
    const first = page.url();
    await page.getByRole("tab", { name: /Attachments/ }).waitFor();

    await page.getByRole("button", { name: "Release" }).click();
    await dialog.getByRole("textbox", { name: "SMTP server" }).fill("localhost");
    await dialog.getByRole("button", { name: "Release message" }).click();
    await dialog.getByText(/Invalid SMTP server/).waitFor();
    await dialog.getByRole("textbox", { name: "SMTP server" }).fill(`smtp://127.0.0.1:${hop.port}?tls=none`);
    await dialog.getByLabel("Envelope recipients").fill("me@example.com");
    await checkPage(page, "inbox-release");
    await dialog.getByRole("button", { name: "Release message" }).click();
    await page.getByText("Delivered to me@example.com").waitFor();
    assert.deepEqual(
      hop.taken.map(({ to }) => to),
      [["me@example.com"]],
    );
    assert.match(hop.taken[0]!.raw, /Subject: Composed/);

    await page.getByRole("button", { name: "Replay" }).click();
    await dialog.getByLabel("Envelope sender").fill("other@example.com");
    await checkPage(page, "inbox-resend");
    await dialog.getByRole("button", { name: "Replay message" }).click();
    await page.waitForURL((url) => url.href !== first);
    await page.getByRole("region", { name: "Envelope" }).getByText("other@example.com").waitFor();

    await page.keyboard.press("u");
    await page.getByRole("button", { name: "Delete all messages" }).click();
    await dialog.getByRole("button", { name: "Delete all messages" }).click();
    await page.getByText("No messages yet").waitFor();
    // The API rejected the wrong server, and the browser reports the failed request.
    assert.deepEqual(
      problems.filter((problem) => !/status of 400/.test(problem)),
      [],
    );
  });

  test("storage shows the resources of the project, without actions that would change them", async () => {
    const { page, problems } = await open("/storage/kv");
    await page.getByRole("link", { name: "CACHE" }).waitFor();
    assert.equal(await page.getByRole("button", { name: /Create|Actions|Delete/ }).count(), 0);
    await checkPage(page, "inbox-storage-kv");
    await page.getByRole("link", { name: "CACHE" }).click();
    await page.getByText("No keys yet").waitFor();
    const events = page.waitForResponse((response) => response.url().endsWith("/events"));
    await page.reload();
    await events;
    await fetch(`${server.url}/write`);
    await page.getByRole("table", { name: "Keys" }).getByText("from-fetch").waitFor();
    await page.goto(`${server.dashboard}/storage/r2`);
    await page.getByRole("link", { name: "files" }).click();
    await page
      .locator('input[type="file"]')
      .first()
      .setInputFiles({
        name: "hello.txt",
        mimeType: "text/plain",
        buffer: Buffer.from("Hello"),
      });
    // During the upload, there is a button "Cancel the upload of hello.txt".
    await page.getByRole("button", { name: "hello.txt", exact: true }).waitFor();
    await page.goto(`${server.dashboard}/storage/d1`);
    await page.getByRole("link", { name: "DB" }).click();
    await page.getByRole("tab", { name: "SQL console" }).click();
    await page.getByLabel("SQL", { exact: true }).fill("SELECT 17 AS answer");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("table", { name: "Rows of result 1" }).getByText("17").waitFor();
    assert.deepEqual(problems, []);
  });
});
