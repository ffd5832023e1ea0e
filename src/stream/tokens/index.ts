export { createPlaybackTokens, type PlaybackTokens } from "./tokens.ts";
