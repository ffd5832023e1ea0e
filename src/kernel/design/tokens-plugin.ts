import type { Plugin } from "esbuild";
import { DARK_TOKENS_CSS, TOKENS_CSS } from "./tokens.ts";

/** Resolves `@import "reelpost:tokens"` and `@import "reelpost:dark-tokens"` in style sheets. */
export const tokensPlugin: Plugin = {
  name: "tokens",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^reelpost:(dark-)?tokens$/ }, ({ path }) => ({ path, namespace: "tokens" }));
    onLoad({ filter: /.*/, namespace: "tokens" }, ({ path }) => ({
      contents: path === "reelpost:tokens" ? TOKENS_CSS : DARK_TOKENS_CSS,
      loader: "css",
    }));
  },
};
