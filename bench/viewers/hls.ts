import { createClient, type LoadClient } from "../harness/load.ts";
import { createDrain } from "../segment-serve/drain.ts";

export interface Viewer {
  close(): void;
}

interface HlsViewers {
  /** Viewers of the first rendition: each has a blocking playlist request, and fetches every part. */
  open(count: number): Viewer[];
  /** Octets of parts received so far. Throws if a viewer has failed since the previous call. */
  received(): number;
  close(): void;
}

/** Players of low-latency HLS that do not decode: blocking playlist reloads and parts (RFC 8216bis, 6.2.5.2). */
export async function createHlsViewers(multivariant: string): Promise<HlsViewers> {
  const text = await (await fetch(multivariant)).text();
  const first = text.split("\n").find((line) => line !== "" && !line.startsWith("#"));
  if (first === undefined) throw new Error(`the multivariant playlist has no rendition:\n${text}`);
  const media = new URL(first, multivariant);
  const client = createClient(media.origin);
  const drain = createDrain(media.origin);
  let octets = 0;
  let failure: Error | undefined;

  async function watch(media: URL, isClosed: () => boolean, client: LoadClient): Promise<void> {
    let seen: string | undefined;
    let playlist = (await client.get(media.pathname + media.search)).body;
    while (!isClosed()) {
      const uris = [...playlist.matchAll(/^#EXT-X-PART:.*URI="([^"]+)"/gm)].map(([, uri]) => uri!);
      // A new viewer starts at the live edge.
      const from = seen === undefined ? uris.length - 1 : uris.indexOf(seen) + 1;
      for (const uri of uris.slice(from)) {
        const { pathname, search } = new URL(uri, media);
        // `octets += await …` would read the sum before the request, and lose what other viewers add meanwhile.
        const size = await drain.get(pathname + search);
        octets += size;
      }
      seen = uris.at(-1) ?? seen;
      const next = new URL(media);
      const { segment, part } = nextPart(playlist);
      next.searchParams.set("_HLS_msn", String(segment));
      next.searchParams.set("_HLS_part", String(part));
      const { status, body } = await client.get(next.pathname + next.search);
      if (status !== 200) throw new Error(`${next.href} returned ${status}`);
      playlist = body;
    }
  }

  return {
    open: (count) =>
      Array.from({ length: count }, () => {
        let closed = false;
        watch(media, () => closed, client).catch((err: unknown) => {
          if (!closed) failure ??= new Error("a viewer of LL-HLS failed", { cause: err });
        });
        return { close: () => void (closed = true) };
      }),
    received() {
      const failed = failure;
      failure = undefined;
      if (failed !== undefined) throw failed;
      return octets;
    },
    close() {
      client.close();
      drain.close();
    },
  };
}

function nextPart(playlist: string): { segment: number; part: number } {
  const first = Number(/^#EXT-X-MEDIA-SEQUENCE:(\d+)/m.exec(playlist)?.[1] ?? 0);
  const segments = [...playlist.matchAll(/^#EXTINF:/gm)];
  const rest = playlist.slice(segments.at(-1)?.index ?? 0);
  return { segment: first + segments.length, part: [...rest.matchAll(/^#EXT-X-PART:/gm)].length };
}
