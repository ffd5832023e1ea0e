// The `stream` binding: runs in the worker's isolate as an internal module. Every operation is one POST to the server:
// its name in the path, its arguments as JSON in the body, or in a header if the body carries bytes.

type Bytes = ReadableStream | ArrayBuffer | ArrayBufferView | Blob;

interface Refusal {
  error?: string;
  name?: string;
  code?: number;
  statusCode?: number;
}

/** The error thrown for a failed call: identified by `name`, as in the types of the hosted binding. */
class StreamError extends Error {
  constructor({
    error = "An internal error occurred",
    name = "InternalError",
    code = 10001,
    statusCode = 500,
  }: Refusal) {
    super(error);
    Object.assign(this, { name, code, statusCode });
  }
}

type Call = (operation: string, args: unknown[], bytes?: Bytes) => Promise<never>;

function createCall(server: Fetcher): Call {
  return async (operation, args, bytes) => {
    const url = `http://stream/${operation}`;
    const response = await server.fetch(
      url,
      bytes === undefined
        ? { method: "POST", body: JSON.stringify(args) }
        : { method: "POST", body: bytes, headers: { "x-reelpost-args": encodeURIComponent(JSON.stringify(args)) } },
    );
    const answer = (await response.json()) as { result?: unknown } & Refusal;
    if (!response.ok) throw new StreamError(answer);
    return answer.result as never;
  };
}

const isBytes = (value: unknown): value is Bytes =>
  value instanceof ReadableStream || value instanceof ArrayBuffer || ArrayBuffer.isView(value) || value instanceof Blob;

function videoOf(call: Call, id: string) {
  return {
    id,
    details: () => call("video/details", [id]),
    update: (params: unknown) => call("video/update", [id, params]),
    delete: () => call("video/delete", [id]),
    generateToken: (options?: unknown) => call("video/generateToken", [id, options]),
    downloads: {
      generate: (type?: string) => call("downloads/generate", [id, type]),
      get: () => call("downloads/get", [id]),
      delete: (type?: string) => call("downloads/delete", [id, type]),
    },
    captions: {
      upload: (language: string, input: Bytes | string) =>
        call("captions/upload", [id, language], typeof input === "string" ? new Blob([input]) : input),
      generate: (language: string) => call("captions/generate", [id, language]),
      list: (language?: string) => call("captions/list", [id, language]),
      delete: (language: string) => call("captions/delete", [id, language]),
    },
  };
}

export default ({ server }: { server: Fetcher }) => {
  const call = createCall(server);
  return {
    // Passing bytes instead of a URL is an extension: the hosted binding accepts only URLs.
    upload: (source: string | URL | Bytes, params?: unknown) =>
      isBytes(source) ? call("uploadBytes", [params], source) : call("upload", [String(source), params]),
    createDirectUpload: (params: unknown) => call("createDirectUpload", [params]),
    video: (id: string) => videoOf(call, id),
    videos: { list: (params?: unknown) => call("videos/list", [params]) },
    watermarks: {
      generate: (source: string | URL | Bytes, params?: unknown) =>
        isBytes(source)
          ? call("watermarks/generateFromBytes", [params], source)
          : call("watermarks/generate", [String(source), params]),
      list: () => call("watermarks/list", []),
      get: (id: string) => call("watermarks/get", [id]),
      delete: (id: string) => call("watermarks/delete", [id]),
    },
  };
};
