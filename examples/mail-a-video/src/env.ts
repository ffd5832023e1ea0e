export interface Env {
  STREAM: Videos;
}

/** The stream binding as it is here: beside addresses, `upload()` takes the bytes themselves. */
export interface Videos extends Omit<StreamBinding, "upload"> {
  upload(source: string | ArrayBuffer | ReadableStream | Blob, params?: StreamUrlUploadParams): Promise<StreamVideo>;
}
