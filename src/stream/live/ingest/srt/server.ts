import { type Log, messageOf, UserError } from "../../../../kernel/index.ts";
import { unmappedAddress } from "../../../../kernel/networks.ts";
import type { SrtRejection, SrtStream } from "../../../../protocol/srt/index.ts";
import { streamErrors } from "../../../errors.ts";
import type { Publishing, RejectedPublishers } from "../../publish.ts";
import { listenSrt } from "./listener.ts";
import { admitSrtPlayer, type PlayerDeps } from "./player.ts";
import { admitPublisher } from "./publisher.ts";
import { createSharedStreams } from "./shared-stream.ts";

export interface SrtServerDeps extends Omit<PlayerDeps, "streams"> {
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
  /** Returns the number of publishers and players. */
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
export async function startSrtServer(given: SrtServerDeps): Promise<SrtServer> {
  const deps = { ...given, streams: createSharedStreams({ now: () => performance.now() }) };
  const { host, port, connections, inputs, log } = deps;

  function rejectionOf(err: unknown, address: string): SrtRejection {
    if (!(err instanceof UserError)) throw err;
    log.info({ address, reason: err.kind }, "srt: caller not authorized");
    return REJECTIONS[err.kind] ?? "serverError";
  }

  async function lookUp({
    streamId,
    address: callerAddress,
  }: {
    streamId: string;
    address: string;
  }): Promise<SrtRejection | SrtStream> {
    const address = unmappedAddress(callerAddress);
    const foundInput = await inputs.bySrtStreamId(streamId);
    if (foundInput === undefined) return rejectionOf(streamErrors.liveKeyUnknown(), address);
    const isPublisher = foundInput.direction === "publish";
    const admit = isPublisher ? admitPublisher : admitSrtPlayer;
    function wrongPassphrase() {
      const reason = streamErrors.livePassphraseWrong();
      log.info(
        { address, input: foundInput!.input.uid, direction: foundInput!.direction, reason: reason.kind },
        "srt: caller rejected",
      );
      if (isPublisher) deps.publishing.recordRejection(foundInput!.input, "srt", reason);
    }
    return {
      passphrase: foundInput.passphrase,
      refused: wrongPassphrase,
      accept: () =>
        admit(deps, { ...foundInput, streamId, address }).catch((err: unknown) => rejectionOf(err, address)),
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
