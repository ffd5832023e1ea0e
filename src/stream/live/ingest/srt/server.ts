import { type Log, messageOf, UserError } from "../../../../kernel/index.ts";
import { plainAddress } from "../../../../kernel/networks.ts";
import type { SrtRejection, SrtStream } from "../../../../protocol/srt/index.ts";
import { streamErrors } from "../../../errors.ts";
import type { Publishing, RejectedPublishers } from "../../publish.ts";
import { listenSrt } from "./listener.ts";
import { admitSrtPlayer, type PlayerDeps } from "./player.ts";
import { admitPublisher } from "./publisher.ts";

export interface SrtServerDeps extends PlayerDeps {
  host: string;
  /** UDP port. 0: the system chooses a free port. */
  port: number;
  /** Maximum number of concurrent publishers and players. */
  connections: number;
  publishing: Publishing & RejectedPublishers;
  log: Log;
}

interface SrtServer {
  readonly port: number;
  /** Number of publishers and players. */
  load(): number;
  /** Ends all connections. */
  close(): Promise<void>;
}

/** Rejection codes sent to callers. */
const REJECTIONS: Record<string, SrtRejection> = {
  liveKeyUnknown: "unauthorized",
  liveInputDisabled: "forbidden",
  liveInputBusy: "conflict",
  liveTooMany: "overload",
  liveNotPublished: "notFound",
  liveCodecUnsupported: "unsupportedMedia",
  liveShuttingDown: "down",
};

/**
 * Listens for SRT publishers and players, distinguished by their stream ids. Rejects with UserError liveListenFailed if
 * the port is unavailable.
 */
export async function startSrtServer(parts: SrtServerDeps): Promise<SrtServer> {
  const { host, port, connections, inputs, log } = parts;

  function refused(err: unknown, address: string): SrtRejection {
    if (!(err instanceof UserError)) throw err;
    log.info({ address, reason: err.kind }, "srt: caller not authorized");
    return REJECTIONS[err.kind] ?? "serverError";
  }

  async function lookUp({
    streamId,
    address: given,
  }: {
    streamId: string;
    address: string;
  }): Promise<SrtRejection | SrtStream> {
    const address = plainAddress(given);
    const found = await inputs.bySrtStreamId(streamId);
    if (found === undefined) return refused(streamErrors.liveKeyUnknown(), address);
    const publishes = found.direction === "publish";
    const admit = publishes ? admitPublisher : admitSrtPlayer;
    function wrong() {
      const reason = streamErrors.livePassphraseWrong();
      log.info(
        { address, input: found!.input.uid, direction: found!.direction, reason: reason.kind },
        "srt: caller rejected",
      );
      if (publishes) parts.publishing.recordRejection(found!.input, "srt", reason);
    }
    return {
      passphrase: found.passphrase,
      refused: wrong,
      accept: () => admit(parts, { ...found, streamId, address }).catch((err: unknown) => refused(err, address)),
    };
  }

  try {
    const listener = await listenSrt({
      host,
      port,
      most: connections,
      lookUp,
      onError: (err) => log.error({ err }, "srt: connection failed"),
    });
    return { port: listener.port, load: listener.connections, close: listener.close };
  } catch (err) {
    throw streamErrors.liveListenFailed({ port, host, reason: messageOf(err) }, { cause: err });
  }
}
