import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { aggregateXml, reportMessage, tlsJson } from "../../src/mail/dmarc-reports/report-file.testing.ts";
import { plainMessage, SENDER_DOMAIN, sendRaw, until } from "../support/mail-world.ts";
import { withoutChromium } from "../support/browser.ts";
import { suiteScope } from "../support/suite-scope.ts";
import { checkPage, startDashboard, TOKEN, type DashboardServer } from "./support.ts";

const WORKER = `export default {
  async email(message) {
    console.log("took " + message.headers.get("subject"));
    if (message.to.startsWith("closed")) message.setReject("Closed");
  },
};`;

const HTML_MESSAGE = [
  "From: <ada@sender.example>",
  "To: <ticket-9@mail.test>",
  "Subject: With attachment",
  "Message-ID: <html@sender.example>",
  "MIME-Version: 1.0",
  'Content-Type: multipart/mixed; boundary="b"',
  "",
  "--b",
  "Content-Type: text/html",
  "",
  '<h1>Invoice</h1><img src="https://tracker.example/p.png" alt="logo"><script>document.title = "x"</script>',
  "--b",
  "Content-Type: text/csv",
  'Content-Disposition: attachment; filename="rows.csv"',
  "",
  "a,b",
  "--b--",
  "",
].join("\r\n");

describe("the Mail pages", { skip: withoutChromium() }, () => {
  const scope = suiteScope();
  let dashboard: DashboardServer;
  let zone: string;
  before(async () => {
    dashboard = await startDashboard(scope, {
      env: {
        REELPOST_EMAIL_STORE_DAYS: "1",
        REELPOST_EMAIL_EXTENDED_RULES: "true",
        // Nothing listens there: sent mail stays in the queue.
        REELPOST_OUTBOUND_DELIVER: "smart_host",
        REELPOST_OUTBOUND_SMART_HOSTS: "smtp://127.0.0.1:9",
        REELPOST_OUTBOUND_RETRY_MINUTES: "0.01",
      },
    });
    ({ id: zone } = await dashboard.call<{ id: string }>("POST", "/zones", {
      name: "mail.test",
      account: { id: dashboard.account },
    }));
    await dashboard.call("POST", "/zones", { name: "other.test", account: { id: dashboard.account } });
    const form = new FormData();
    form.set("metadata", JSON.stringify({ main_module: "index.js", compatibility_date: "2026-01-01" }));
    form.set("index.js", new Blob([WORKER], { type: "application/javascript+module" }), "index.js");
    const response = await fetch(`${dashboard.api}/accounts/${dashboard.account}/workers/scripts/tickets`, {
      method: "PUT",
      headers: { authorization: `Bearer ${TOKEN}` },
      body: form,
    });
    assert.equal(response.status, 200, await response.text());
  });
  const send = (to: string, raw: string) => sendRaw(dashboard.server.ready.smtp!.port, { to, raw });

  test("set up a domain and bind an address and a pattern to a worker with the mouse", async () => {
    const { page, problems } = await dashboard.open("/mail");
    await page.getByText("No messages yet").waitFor();
    await checkPage(page, "mail-log-empty");
    const requests: string[] = [];
    page.on("request", (request) => requests.push(new URL(request.url()).pathname));
    await page.goto(`${dashboard.origin}/mail/domains`);
    await page.getByRole("table", { name: "Mail domains" }).getByText("Not set up").first().waitFor();
    // A live event may cause the same request again.
    assert.deepEqual(
      [...new Set(requests.filter((path) => path.includes("/email/routing")))],
      [`/client/v4/accounts/${dashboard.account}/email/routing/zones`],
      "sends one request for all domains",
    );
    await page.getByLabel("Search domains").fill("mail.t");
    await page.getByRole("link", { name: "other.test" }).waitFor({ state: "hidden" });
    await checkPage(page, "mail-domains");
    await page.getByRole("link", { name: "mail.test" }).click();
    await page.getByText("Missing").first().waitFor();
    await checkPage(page, "mail-setup-missing");
    await page.getByRole("button", { name: "Enable Email Routing" }).click();
    await page.getByText("Receives mail", { exact: true }).waitFor();
    await page.getByText("Missing").first().waitFor({ state: "hidden" });
    const file = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download zone file" }).click();
    assert.equal((await file).suggestedFilename(), "mail.test-mail.txt");
    await checkPage(page, "mail-setup");

    await page.getByRole("tab", { name: "Routing rules" }).click();
    await page.getByText("No rules yet").waitFor();
    const create = async (fill: () => Promise<void>) => {
      await page.getByRole("button", { name: "Create rule" }).first().click();
      await fill();
      await page.getByRole("combobox", { name: "Worker", exact: true }).click();
      await page.getByRole("option", { name: "tickets" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Create rule" }).click();
      await page.getByRole("dialog").waitFor({ state: "hidden" });
    };
    await create(() => page.getByRole("textbox", { name: "Address", exact: true }).fill("help"));
    await create(async () => {
      await page.getByRole("combobox", { name: "Match" }).click();
      await page.getByRole("option", { name: "Pattern with * and ?" }).click();
      await page.getByRole("textbox", { name: "Pattern" }).fill("ticket-*");
      await checkPage(page, "mail-rule-form");
    });
    const rules = page.getByRole("list", { name: "Routing rules" });
    await rules.getByText("ticket-*@mail.test").waitFor();

    // By keyboard: pick up the second rule, move it up and drop it.
    const first = () => rules.getByRole("listitem").first().innerText();
    assert.match(await first(), /help@/);
    await page.getByRole("button", { name: "Move ticket-*@mail.test" }).focus();
    await page.keyboard.press("Space");
    await page.getByText("ticket-*@mail.test is at position 2 of 2.").waitFor({ state: "attached" });
    await page.keyboard.press("ArrowUp");
    await page.getByText("ticket-*@mail.test is at position 1 of 2.").waitFor({ state: "attached" });
    await page.keyboard.press("Space");
    await page.getByText("Order saved").waitFor();
    const stored = await dashboard.call<{ matchers: { value?: string }[] }[]>(
      "GET",
      `/zones/${zone}/email/routing/rules?order=priority&direction=asc`,
    );
    assert.match(stored[0]!.matchers[0]!.value!, /^ticket/);
    assert.match(await first(), /ticket-\*/);

    await page.getByLabel("Address to test").fill("ticket-7");
    await page.getByRole("button", { name: "Test", exact: true }).click();
    await page.getByText("ticket-7@mail.test: Worker").waitFor();
    await checkPage(page, "mail-rules");

    const dialog = page.getByRole("dialog");
    const act = async (action: string) => {
      await page.getByRole("button", { name: /^Actions for (help|info)@mail\.test$/ }).click();
      await page.getByRole("menuitem", { name: action }).click();
    };
    await act("Edit");
    await dialog.getByRole("textbox", { name: "Address", exact: true }).fill("info");
    await dialog.getByRole("combobox", { name: "Action" }).click();
    await page.getByRole("option", { name: "Drop" }).click();
    await dialog.getByRole("button", { name: "Save rule" }).click();
    await page.getByText("Rule saved").waitFor();
    await rules.getByText("info@mail.test").waitFor();
    const readRules = () =>
      dashboard.call<{ matchers: { value?: string }[]; actions: { type: string }[] }[]>(
        "GET",
        `/zones/${zone}/email/routing/rules`,
      );
    const edited = (await readRules()).find(({ matchers: [matcher] }) => matcher?.value === "info@mail.test");
    assert.equal(edited?.actions[0]?.type, "drop");
    await act("Delete");
    await dialog.getByRole("button", { name: "Delete rule" }).click();
    await rules.getByText("info@mail.test").waitFor({ state: "detached" });
    assert.ok((await readRules()).every(({ matchers: [matcher] }) => matcher?.value !== "info@mail.test"));
    assert.deepEqual(problems, []);
  });

  test("a message appears in the open log without a reload and shows its path and content", async () => {
    const { page, problems } = await dashboard.open("/mail/log");
    await page.getByText("No messages yet").waitFor();
    await page.locator("#content").getByText("Live", { exact: true }).waitFor();
    assert.match(
      await send("ticket-8@mail.test", plainMessage("Broken printer", { to: "ticket-8@mail.test" })),
      /^250/,
    );
    const table = page.getByRole("table", { name: "Mail log" });
    await table.getByRole("link", { name: "Broken printer" }).waitFor();
    await table.getByText("Worker tickets").waitFor();
    await send("ticket-9@mail.test", HTML_MESSAGE);
    await table.getByRole("link", { name: "With attachment" }).waitFor();
    await checkPage(page, "mail-log");
    await page.getByLabel("Search the log").fill("attachment");
    await table.getByRole("link", { name: "Broken printer" }).waitFor({ state: "hidden" });
    await table.getByRole("link", { name: "With attachment" }).click();

    await page.getByRole("heading", { level: 1, name: "With attachment" }).waitFor();
    await page.getByRole("region", { name: "Worker log lines" }).getByText("took With attachment").waitFor();
    await page.getByRole("list", { name: "Authentication results" }).getByText("SPF", { exact: true }).waitFor();
    await page.getByRole("link", { name: "ticket-*@mail.test" }).waitFor();
    await checkPage(page, "mail-message");
    await page.getByRole("tab", { name: "SMTP transcript" }).click();
    await page.getByText("RCPT TO:<ticket-9@mail.test>").waitFor();
    await checkPage(page, "mail-transcript");
    await page.getByRole("tab", { name: "Content" }).click();
    await page.frameLocator("iframe").getByRole("heading", { name: "Invoice" }).waitFor();
    await checkPage(page, "mail-content");
    const file = page.waitForEvent("download");
    await page.getByRole("button", { name: /rows\.csv/ }).click();
    assert.equal((await file).suggestedFilename(), "rows.csv");
    await page.getByText("Source", { exact: true }).click();
    await page.getByText("Message-ID: <html@sender.example>").waitFor();
    await page.getByRole("button", { name: "Replay message" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Replay message" }).click();
    await page.getByText("Message replayed: 0 forwards, 0 replies").waitFor();
    await until(async () => {
      const path = `/accounts/${dashboard.account}/email/activity?search=attachment`;
      return (await dashboard.call<unknown[]>("GET", path)).length === 2;
    }, "the entry of the replay");
    // The frame blocks the tracker and the script of the message.
    assert.deepEqual(
      problems.filter(
        (problem) => !problem.includes("tracker.example") && !/Blocked script|inline script/.test(problem),
      ),
      [],
    );
  });

  test("request, receive and show DMARC and TLS reports", async () => {
    const { id: senders } = await dashboard.call<{ id: string }>("POST", "/zones", {
      name: SENDER_DOMAIN,
      account: { id: dashboard.account },
    });
    for (const [name, content] of [
      [SENDER_DOMAIN, '"v=spf1 ip4:127.0.0.1 -all"'],
      [`_dmarc.${SENDER_DOMAIN}`, '"v=DMARC1; p=none"'],
    ])
      await dashboard.call("POST", `/zones/${senders}/dns_records`, { type: "TXT", name, content, ttl: 300 });
    const { page, problems } = await dashboard.open(`/mail/domains/${zone}`);
    await page.getByRole("tab", { name: "Reports" }).click();
    await page.getByText("No DMARC reports in this period").waitFor();
    await page.getByText("No TLS reports in this period").waitFor();
    await checkPage(page, "mail-reports-empty");
    await page.getByRole("button", { name: "Enable DMARC reports" }).click();
    await page.getByRole("button", { name: "Disable DMARC reports" }).waitFor();

    const { rua_prefix: prefix } = await dashboard.call<{ rua_prefix: string }>(
      "GET",
      `/zones/${zone}/email/auth/dmarc-reports`,
    );
    const begin = new Date().setUTCHours(0, 0, 0, 0);
    const records = [{ count: 98 }, { ip: "198.51.100.7", count: 2, dkim: "fail", spf: "fail", disposition: "reject" }];
    for (const [report, type] of [
      [aggregateXml({ domain: "mail.test", begin, records }), "application/gzip"],
      [
        tlsJson({ domain: "mail.test", begin, successful: 40, failures: { "certificate-expired": 3 } }),
        "application/tlsrpt+gzip",
      ],
    ] as const) {
      const to = `${prefix}@forward.reelpost.internal`;
      const from = `reports@${SENDER_DOMAIN}`;
      const raw = reportMessage(gzipSync(report), type, from);
      assert.match(await sendRaw(dashboard.server.ready.smtp!.port, { from, to, raw }), /^250/);
    }
    await page.reload();
    await page.getByText("98.0 %").first().waitFor();
    const sources = page.getByRole("table", { name: "Sending servers" });
    await sources.getByRole("row", { name: /198\.51\.100\.7/ }).waitFor();
    await page.getByRole("table", { name: "Failures" }).getByText("certificate-expired").waitFor();
    await checkPage(page, "mail-reports");
    await page.getByRole("button", { name: "Disable DMARC reports" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Disable DMARC reports" }).click();
    await page.getByRole("button", { name: "Enable DMARC reports" }).waitFor();
    assert.deepEqual(problems, []);
  });

  test("manage destination addresses and suppressions", async () => {
    const { page, problems } = await dashboard.open("/mail/addresses");
    await page.getByRole("button", { name: "Add address" }).first().click();
    await page.getByRole("textbox", { name: "Address" }).fill("me@elsewhere.test");
    await page.keyboard.press("Enter");
    const addresses = page.getByRole("table", { name: "Destination addresses" });
    await addresses.getByText("Not verified").waitFor();
    await addresses.getByRole("button", { name: "Resend verification" }).click();
    await page.getByText("A verification email was sent to this address less than 60 seconds ago").waitFor();
    await checkPage(page, "mail-addresses");

    await page.goto(`${dashboard.origin}/mail/suppressions`);
    await page.getByRole("button", { name: "Suppress address" }).first().click();
    await page.getByRole("textbox", { name: "Address" }).fill("gone@elsewhere.test");
    await page.keyboard.press("Enter");
    await page.getByRole("table", { name: "Suppressions" }).getByText("gone@elsewhere.test").waitFor();
    await checkPage(page, "mail-suppressions");
    // The server limits verification emails to one per minute.
    assert.deepEqual(
      problems.filter((problem) => !/status of 429/.test(problem)),
      [],
    );
  });

  test("add a sending domain, rotate its key, send a message and cancel its delivery", async () => {
    const { page, problems } = await dashboard.open(`/mail/domains/${zone}/sending`);
    await page.getByRole("button", { name: "Add sending domain" }).first().click();
    await page.getByRole("dialog").getByRole("button", { name: "Add sending domain" }).click();
    await page.getByRole("article", { name: "mail.test" }).getByText("Ready").waitFor();
    const keys = page.getByRole("table", { name: "DKIM keys" });
    await keys.getByText("Active").first().waitFor();
    await checkPage(page, "mail-sending");
    await page.getByRole("button", { name: "Rotate key" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Rotate key" }).click();
    await keys.getByText("Pending", { exact: true }).first().waitFor();

    await page.goto(`${dashboard.origin}/mail/log`);
    await page.getByRole("button", { name: "Send test message" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "From" }).fill("me@mail.test");
    await dialog.getByRole("textbox", { name: "To", exact: true }).fill("you@elsewhere.test");
    await checkPage(page, "mail-compose");
    await dialog.getByRole("button", { name: "Send test message" }).click();
    await page.getByRole("table", { name: "Mail log" }).getByRole("link", { name: "Test message" }).waitFor();

    await page.goto(`${dashboard.origin}/mail/queue`);
    const queue = page.getByRole("table", { name: "Mail queue" });
    await queue.getByText("Deferred").waitFor();
    await checkPage(page, "mail-queue");
    // Nothing listens at the address of the smart host, so failures pause deliveries to it.
    await until(
      async () =>
        (await dashboard.call<unknown[]>("GET", `/accounts/${dashboard.account}/email/queue/pauses`)).length > 0,
      "the pause of the smart host",
    );
    await page.reload();
    await page
      .getByText(/^Delivery to the smart host is paused until /)
      .first()
      .waitFor();
    await checkPage(page, "mail-queue-paused");
    await page.getByRole("button", { name: "Resume delivery to the smart host" }).click();
    await page.getByText("Delivery to the smart host resumed").waitFor();
    const act = async (action: string) => {
      await page.getByRole("button", { name: "Actions for message to you@elsewhere.test" }).click();
      await page.getByRole("menuitem", { name: action }).click();
    };
    await act("Retry now");
    await page.getByText("Delivery retry started").waitFor();
    await act("Stop delivery");
    await page.getByRole("dialog").getByRole("button", { name: "Stop delivery" }).click();
    await queue.getByText("Deferred").waitFor({ state: "hidden" });
    assert.deepEqual(problems, []);
  });
});
