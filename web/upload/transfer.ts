import { DetailedError, Upload } from "tus-js-client";

export interface Transfer {
  pause(): void;
  resume(): void;
}

export interface TransferEvents {
  progress(sent: number): void;
  done(): void;
  failed(text: string): void;
}

/** Octets of one request: what breaks off is gone on with from where it was, whole units or not. */
const CHUNK = 50 * 1024 * 1024;
const RETRY_MS = [0, 1000, 3000, 5000, 10_000, 20_000, 30_000];

/** Sends `file` to `address`, a one-time upload address; what of the same file has arrived before is not sent again. */
export async function startTransfer(address: string, file: File, events: TransferEvents): Promise<Transfer> {
  const known = await hasBegun(address, file);
  const upload = new Upload(file, {
    ...(known ? { uploadUrl: address } : { endpoint: address }),
    chunkSize: CHUNK,
    retryDelays: RETRY_MS,
    metadata: { name: file.name, filetype: file.type },
    // The address itself is what is remembered.
    storeFingerprintForResuming: false,
    onProgress: (sent) => events.progress(sent),
    onSuccess: () => events.done(),
    onError: (err) => events.failed(wordsOf(err)),
  });
  upload.start();
  return {
    pause: () => void upload.abort().catch(() => {}),
    resume: () => upload.start(),
  };
}

/** Whether a file of this size has been announced at the address. */
async function hasBegun(address: string, file: File): Promise<boolean> {
  const response = await fetch(address, { method: "HEAD", headers: { "Tus-Resumable": "1.0.0" }, cache: "no-store" }).catch(() => undefined);
  return response?.ok === true && Number(response.headers.get("Upload-Length") ?? NaN) === file.size;
}

function wordsOf(err: Error): string {
  if (!(err instanceof DetailedError) || err.originalResponse === null || err.originalResponse === undefined) return "The connection was lost.";
  const body = err.originalResponse.getBody().trim();
  try {
    const { errors } = JSON.parse(body) as { errors?: { message?: string }[] };
    if (errors?.[0]?.message !== undefined) return errors[0].message;
  } catch {
    // Plain words then.
  }
  return body !== "" && body.length < 300 && !body.startsWith("<") ? body : `The server answered ${err.originalResponse.getStatus()}.`;
}
