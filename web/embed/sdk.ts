// /embed/sdk.latest.js: `Stream(iframe)` for pages that show a video in a frame.
import { createStream } from "./stream.ts";

Object.assign(window, { Stream: createStream });
