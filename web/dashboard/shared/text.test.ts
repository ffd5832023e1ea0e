import assert from "node:assert/strict";
import { test } from "node:test";
import { countOf, inSentence } from "./text.ts";

test("in a sentence, a label starts with a lowercase letter unless its first word is an acronym", () => {
  assert.deepEqual(["Stream key", "Player", "SMTP server", "URL", "IPv4 address", "WebRTC (WHEP)"].map(inSentence), [
    "stream key",
    "player",
    "SMTP server",
    "URL",
    "IPv4 address",
    "WebRTC (WHEP)",
  ]);
  assert.deepEqual(["Message-ID", "stream key", ""].map(inSentence), ["Message-ID", "stream key", ""]);
});

test("a count of one uses the singular", () => {
  assert.deepEqual(
    [countOf(1, "video"), countOf(0, "video"), countOf(2000, "video"), countOf(2, "reply", "replies")],
    ["1 video", "0 videos", "2,000 videos", "2 replies"],
  );
});
