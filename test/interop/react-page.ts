import { build } from "esbuild";
import { clientFile } from "../support/browser.ts";

/**
 * Script of a page with the component `Stream` of @cloudflare/stream-react. `firstProps` are its props, `setProps`
 * changes them, `received` lists the names of its events in order, and `streamRef.current` is its player.
 */
const APP = `
import React from "react";
import { createRoot } from "react-dom/client";
import { Stream } from "@cloudflare/stream-react";

window.received = [];
const events = Object.fromEntries(["CanPlay", "DurationChange", "Ended", "Error", "LoadedData", "LoadedMetaData", "LoadStart", "Pause", "Play", "Playing", "Progress", "RateChange", "Seeked", "Seeking", "TimeUpdate", "VolumeChange", "Waiting", "StreamAdStart", "StreamAdEnd", "StreamAdTimeout"].map((name) => ["on" + name, () => received.push(name)]));

function App() {
  const [props, setProps] = React.useState(window.firstProps);
  const ref = React.useRef();
  window.setProps = (more) => setProps((before) => ({ ...before, ...more }));
  window.streamRef = ref;
  return React.createElement("div", { style: { width: 640 } }, React.createElement(Stream, { streamRef: ref, ...events, ...props }));
}
createRoot(document.getElementById("root")).render(React.createElement(React.StrictMode, null, React.createElement(App)));
`;

export async function bundleReactApp(): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: APP, resolveDir: clientFile("."), loader: "js" },
    bundle: true,
    write: false,
    format: "iife",
    define: { "process.env.NODE_ENV": '"development"' },
    logLevel: "silent",
  });
  return outputFiles[0]!.text;
}

/**
 * Returns a third-party page at `/` with the component, for `openSite`. `local` is the URL of the script that points
 * the component at this server.
 */
export const reactPages = (bundle: string, local: string, props: object) => ({
  "/": {
    type: "text/html",
    body: `<!doctype html><link rel="icon" href="data:,"><div id="root"></div><script src="${local}"></script><script>window.firstProps = ${JSON.stringify(props)}</script><script src="/app.js"></script>`,
  },
  "/app.js": { type: "text/javascript; charset=utf-8", body: bundle },
});
