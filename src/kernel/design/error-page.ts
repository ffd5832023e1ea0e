import type { IncomingMessage } from "node:http";
import { escapeText, htmlPage } from "./html-page.ts";

/** True for browsers: other clients do not list text/html in Accept. */
export const acceptsHtml = ({ headers }: Pick<IncomingMessage, "headers">): boolean =>
  headers.accept?.includes("text/html") === true;

interface ErrorPage {
  status: number;
  /** Default: the usual title for the status. */
  title?: string | undefined;
  /** The next step for the user. */
  advice?: string | undefined;
  /** The error's own text, for the operator. */
  message?: string | undefined;
  fix?: string | undefined;
  /** A page to continue with. */
  link?: { label: string; href: string } | undefined;
}

/** Renders an error page. Send it with `PAGE_POLICY`. */
export function errorPage(
  { status, title = titleOf(status), advice, message, fix, link }: ErrorPage,
  look: { brand?: string | null; scheme?: "dark" } = {},
): string {
  const detail = [message, fix].flatMap((text) => (text === undefined ? [] : [escapeText(text)])).join("<br>");
  return htmlPage({
    ...look,
    title,
    layout: "narrow",
    body: [
      `<span class="status${status >= 500 ? " bad" : ""}">Error ${status}</span>`,
      `<h1>${escapeText(title)}</h1>`,
      ...(advice === undefined ? [] : [`<p>${escapeText(advice)}</p>`]),
      ...(detail === "" ? [] : [`<p class="detail">${detail}</p>`]),
      ...(link === undefined
        ? []
        : [`<p><a class="button" href="${escapeText(link.href)}">${escapeText(link.label)}</a></p>`]),
    ].join("\n"),
  });
}

function titleOf(status: number): string {
  const known: Record<number, string> = {
    400: "Bad request",
    401: "Sign in first",
    403: "Access denied",
    404: "Page not found",
    405: "Method not allowed",
    421: "Unknown host name",
    429: "Too many requests",
    503: "Temporarily unavailable",
  };
  return known[status] ?? (status >= 500 ? "Internal error" : "Request rejected");
}
