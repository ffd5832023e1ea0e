import type { Counters } from "./counters.ts";
import { html, type Html } from "./html.ts";
import type { StoredMessage } from "./messages-table.ts";

export const mailboxPage = (name: string, messages: StoredMessage[], counters: Counters) =>
  document(
    name,
    html`<header>
        <h1>${name}</h1>
        <p class="quiet">
          ${counted(counters.messages, "message")} · ${counted(counters.attachments, "attachment")} ·
          ${octets(counters.octets)}
        </p>
      </header>
      ${
        messages.length === 0
          ? html`<p class="empty">No mail yet. Send a message to any address and reload this page.</p>`
          : html`<ul class="list">
              ${messages.map(row)}
            </ul>`
      }`,
  );

const row = (message: StoredMessage) =>
  html`<li>
    <a href="/messages/${message.id}">
      <span class="from">${message.senderName || message.sender}</span>
      <span class="subject">${message.subject}<span class="quiet"> ${message.text.slice(0, 120)}</span></span>
      <span class="quiet"
        >${message.attachments.length > 0 ? `${counted(message.attachments.length, "file")} · ` : ""}${minute(message.receivedAt)}</span
      >
    </a>
  </li>`;

export const messagePage = (message: StoredMessage) =>
  document(
    message.subject,
    html`<p><a href="/">All messages</a></p>
      <header>
        <h1>${message.subject}</h1>
        <dl>
          <dt>From</dt>
          <dd>${message.senderName} &lt;${message.sender}&gt;</dd>
          <dt>To</dt>
          <dd>${message.recipient}</dd>
          <dt>Received</dt>
          <dd>${minute(message.receivedAt)} UTC, ${octets(message.size)}</dd>
        </dl>
      </header>
      ${message.attachments.map(
        (attachment) =>
          html`<a class="file" href="/attachments/${message.id}/${attachment.number}"
            >${attachment.name} <span class="quiet">${attachment.type}, ${octets(attachment.size)}</span></a
          >`,
      )}
      ${message.html === null ? html`<pre>${message.text}</pre>` : html`<iframe sandbox title="The message" src="/messages/${message.id}/body.html"></iframe>`}`,
  );

export const notFoundPage = () =>
  document(
    "Not found",
    html`<header><h1>Not found</h1></header>
      <p>There is nothing here. <a href="/">All messages</a></p>`,
  );

function document(title: string, body: Html): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        <style>
          ${style}
        </style>
      </head>
      <body>
        ${body}
      </body>
    </html>`.html;
}

const style: Html = {
  html: `
  :root { color-scheme: light dark; --line: light-dark(#e3e5e8, #33373d); --quiet: light-dark(#69707a, #9aa2ad); --hover: light-dark(#f5f7fa, #23272d); --accent: light-dark(#0b5fd0, #7db3ff); }
  * { box-sizing: border-box; }
  body { margin: 0 auto; padding: 2rem 1.25rem; max-width: 60rem; font: 16px/1.5 system-ui, sans-serif; background: light-dark(#fff, #1a1d21); color: light-dark(#1c2026, #e6e9ed); }
  h1 { margin: 0; font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere; }
  a { color: var(--accent); text-underline-offset: .15em; }
  .quiet { color: var(--quiet); }
  header { margin-bottom: 1.5rem; }
  header p { margin: .25rem 0 0; }
  .list { list-style: none; margin: 0; padding: 0; border-top: 1px solid var(--line); }
  .list li { border-bottom: 1px solid var(--line); }
  .list a { display: grid; grid-template-columns: 12rem 1fr auto; gap: 1rem; padding: .7rem .5rem; color: inherit; text-decoration: none; }
  .list a:hover, .list a:focus-visible { background: var(--hover); }
  .from, .subject { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  .from { font-weight: 600; }
  dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .75rem 0 0; }
  dt { color: var(--quiet); } dd { margin: 0; overflow-wrap: anywhere; }
  .file { display: inline-block; margin: 0 .5rem 1rem 0; padding: .4rem .75rem; border: 1px solid var(--line); border-radius: .5rem; text-decoration: none; }
  pre { font: inherit; white-space: pre-wrap; overflow-wrap: anywhere; border-top: 1px solid var(--line); padding-top: 1.5rem; }
  iframe { width: 100%; height: 70vh; border: 1px solid var(--line); border-radius: .5rem; background: #fff; }
  .empty { padding: 3rem 0; text-align: center; color: var(--quiet); }
  @media (max-width: 40rem) { .list a { grid-template-columns: 1fr auto; } .subject { grid-column: 1 / -1; grid-row: 2; } }`,
};

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? "" : "s"}`;

const minute = (iso: string) => iso.slice(0, 16).replace("T", " ");

function octets(count: number): string {
  if (count < 1024) return `${count} bytes`;
  return count < 1024 ** 2 ? `${(count / 1024).toFixed(1)} KB` : `${(count / 1024 ** 2).toFixed(1)} MB`;
}
