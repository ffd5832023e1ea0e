import type { Options } from "../command.ts";

/** What may be said of a video when it is made. */
export const aboutOptions = {
  name: { type: "string", placeholder: "text", summary: "what it is called" },
  creator: { type: "string", placeholder: "text", summary: "whose it is: any text of yours, up to 64 characters" },
  signed: { type: "boolean", summary: "played with a token only" },
  "allowed-origin": { type: "string", placeholder: "host", multiple: true, summary: "a host whose pages may show it" },
  watermark: { type: "string", placeholder: "uid", summary: "the watermark profile that is burned into it" },
} as const satisfies Options;

export interface About {
  name: string | undefined;
  creator: string | undefined;
  signed: boolean | undefined;
  "allowed-origin": string[];
  watermark: string | undefined;
}

/** As `Upload-Metadata` has it; the creator has a header of its own. */
export const metadataOf = (
  { name, signed, "allowed-origin": origins, watermark }: About,
  filename: string,
): Record<string, string | true> => ({
  name: name ?? filename,
  filename,
  ...(signed === true && { requiresignedurls: true as const }),
  ...(origins.length > 0 && { allowedorigins: origins.join(",") }),
  ...(watermark !== undefined && { watermark }),
});

/** The same as fields of a JSON body. */
export const fieldsOf = ({ name, creator, signed, "allowed-origin": origins, watermark }: About) => ({
  ...(name !== undefined && { meta: { name } }),
  ...(creator !== undefined && { creator }),
  ...(signed === true && { requireSignedURLs: true }),
  ...(origins.length > 0 && { allowedOrigins: origins }),
  ...(watermark !== undefined && { watermark: { uid: watermark } }),
});
