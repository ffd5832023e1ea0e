import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { describe, it } from "node:test";
import { createTerminalOutput } from "./output.ts";

/** Returns a reader that accepts nothing until it is released. */
function slowReader() {
  let text = "";
  let release: (() => void) | undefined;
  let held = true;
  const stream = new Writable({
    highWaterMark: 16,
    decodeStrings: false,
    write(chunk: string, _, done) {
      text += chunk;
      if (held) release = done;
      else done();
    },
  });
  return {
    stream,
    text: () => text,
    release: () => {
      held = false;
      release?.();
    },
  };
}

describe("output", () => {
  it("keeps the order and reports how many lines a slow reader missed", async () => {
    const reader = slowReader();
    const output = createTerminalOutput(reader.stream, { maxPending: 100, env: {} });
    output.write("first, longer than the stream likes to hold");
    void output.flushed();
    for (let i = 0; i < 1000; i++) output.write(`line ${i}`);
    reader.release();
    await output.flushed();
    output.write("after");
    await output.flushed();
    const lines = reader.text().trimEnd().split("\n");
    assert.equal(lines[1], "line 0");
    const kept = lines.filter((line) => line.startsWith("line ")).length;
    assert.ok(kept < 20, `${kept} lines were kept`);
    assert.equal(lines.at(-2), `... ${1000 - kept} lines not shown: the reader of this output is too slow`);
    assert.equal(lines.at(-1), "after");
  });

  it("survives a reader that disconnects", async () => {
    const stream = new Writable({
      write: (_chunk, _encoding, done) => done(Object.assign(new Error("write EPIPE"), { code: "EPIPE" })),
    });
    const output = createTerminalOutput(stream, { env: {} });
    output.write("a");
    await output.flushed();
    output.write("b");
    await output.flushed();
  });

  it("uses colours only on a terminal, and not with NO_COLOR", () => {
    const terminal = () => Object.assign(new Writable(), { isTTY: true });
    assert.equal(createTerminalOutput(terminal(), { env: {} }).colour, true);
    assert.equal(createTerminalOutput(terminal(), { env: { NO_COLOR: "1" } }).colour, false);
    assert.equal(createTerminalOutput(terminal(), { env: { NO_COLOR: "" } }).colour, true);
    assert.equal(createTerminalOutput(terminal(), { env: { TERM: "dumb" } }).colour, false);
    assert.equal(createTerminalOutput(new Writable(), { env: {} }).colour, false);
  });
});
