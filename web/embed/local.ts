// /embed/local.js: included before other scripts, it redirects frames of the hosted player to ours, so that libraries
// with fixed URLs, such as @cloudflare/stream-react, work unchanged.
import { localAddress } from "./addresses.ts";
import { createStream } from "./stream.ts";

const script = document.currentScript as HTMLScriptElement | null;
if (script === null)
  throw new Error("embed/local.js must be loaded as a classic script (<script src=…>), not as a module");
const root = new URL("../", script.src).href;

// Libraries load the hosted SDK only if no SDK is present; a page that loads it anyway keeps this one.
Object.defineProperty(window, "Stream", { configurable: true, enumerable: true, get: () => createStream, set() {} });

const { prototype } = HTMLIFrameElement;
const srcDescriptor = Object.getOwnPropertyDescriptor(prototype, "src");
if (srcDescriptor?.get !== undefined && srcDescriptor.set !== undefined) {
  const { get, set } = srcDescriptor;
  Object.defineProperty(prototype, "src", {
    ...srcDescriptor,
    get,
    set(this: HTMLIFrameElement, value: unknown) {
      set.call(this, localAddress(String(value), root) ?? value);
    },
  });
}

prototype.setAttribute = function setAttribute(this: HTMLIFrameElement, name: string, value: string): void {
  Element.prototype.setAttribute.call(
    this,
    name,
    name.toLowerCase() === "src" ? (localAddress(String(value), root) ?? value) : value,
  );
};

/** Handles frames inserted as HTML, in the page itself or through innerHTML. */
function redirect(frame: HTMLIFrameElement): void {
  const localSrc = localAddress(frame.src, root);
  if (localSrc !== undefined) frame.src = localSrc;
}

new MutationObserver((records) => {
  for (const { addedNodes } of records) {
    for (const node of addedNodes) {
      if (node instanceof HTMLIFrameElement) redirect(node);
      else if (node instanceof Element) node.querySelectorAll("iframe").forEach(redirect);
    }
  }
}).observe(document, { childList: true, subtree: true });
document.querySelectorAll("iframe").forEach(redirect);
