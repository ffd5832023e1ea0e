export interface Env {
  STREAM: Videos;
}

/** The local stream binding: besides URLs, `upload()` accepts the bytes themselves. */
export interface Videos extends Omit<StreamBinding, "upload"> {
  upload(source: string | ArrayBuffer | ReadableStream | Blob, params?: StreamUrlUploadParams): Promise<StreamVideo>;
}
