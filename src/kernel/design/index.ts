export { acceptsHtml, errorPage } from "./error-page.ts";
export { escapeText, FRAMED_PAGE_POLICY, htmlPage, MARK_SVG, PAGE_POLICY } from "./html-page.ts";
export { sendError } from "./send-error.ts";
export { tokensPlugin } from "./tokens-plugin.ts";
