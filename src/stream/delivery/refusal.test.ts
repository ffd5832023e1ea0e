import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { listen } from "../../kernel/index.ts";
import { sendErrorResponse } from "./refusal.ts";

for (const [status, title, next] of [
  [403, "You cannot watch this video", "Open it from the page that it belongs to, or ask for a new link."],
  [404, "This video does not exist", "Check the link, or ask for a new one."],
  [424, "This video could not be processed", "Ask its owner to upload it again."],
  [503, "The video is not available right now", "Reload the page in a minute."],
] as const)
  test(`an error page for status ${status} shows the status, one sentence and the next step`, async (t) => {
    const server = createServer((_, response) =>
      sendErrorResponse(response, {
        status,
        message: "id <b> is unknown",
        fix: "use 'list'",
        page: true,
        head: false,
      }),
    );
    const { url } = await listen(server, { host: "127.0.0.1", port: 0 });
    t.after(() => server.close());
    const page = await (await fetch(url)).text();
    assert.match(page, new RegExp(`<span class="status[^"]*">Error ${status}</span>`));
    assert.deepEqual([/<h1>(.*)<\/h1>/.exec(page)?.[1], /<p>(.*)<\/p>/.exec(page)?.[1]], [title, next]);
    assert.match(page, /<p class="detail">id &#60;b&#62; is unknown<br>use &#39;list&#39;<\/p>/);
  });
