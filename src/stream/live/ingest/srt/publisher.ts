import { type Log, UserError } from "../../../../kernel/index.ts";
import type { SrtConnection, SrtHandlers } from "../../../../protocol/srt/index.ts";
import type { Publishing } from "../../publish.ts";
import type { SrtCaller } from "./caller.ts";
import { createTsPublisher } from "./ts-publisher.ts";

interface PublisherDeps {
  publishing: Publishing;
  log: Log;
}

/** Rejects with the errors of `publish`. */
export async function admitPublisher(
  { publishing, log }: PublisherDeps,
  { streamId, passphrase, address }: SrtCaller,
): Promise<(connection: SrtConnection) => SrtHandlers> {
  const publication = await publishing.publish({ protocol: "srt", credential: streamId, passphrase, address });
  return (connection) => {
    const stream = createTsPublisher(publication);
    /** Unsupported streams end the connection: SRT cannot carry an error message. */
    const runGuarded = (work: () => void): boolean => {
      try {
        work();
        return true;
      } catch (err) {
        if (err instanceof UserError)
          log.info({ input: publication.input, reason: err.message }, "srt: publisher rejected");
        else log.error({ err, input: publication.input }, "srt: failed to read a stream");
        return false;
      }
    };
    const stop = () => {
      connection.close();
      publication.end(false);
    };
    publication.signal.addEventListener("abort", stop, { once: true });
    if (publication.signal.aborted) stop();
    return {
      data(payload) {
        if (!publication.signal.aborted && !runGuarded(() => stream.write(payload))) stop();
      },
      lost: publication.lost,
      ended(isClean) {
        publication.signal.removeEventListener("abort", stop);
        runGuarded(stream.end);
        publication.end(isClean);
      },
    };
  };
}
